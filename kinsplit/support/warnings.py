"""kinsplit's own warnings of a block of work, for the results that it leads to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from kinsplit.errors import KinsplitWarning


@contextmanager
def recorded() -> Iterator[list[KinsplitWarning]]:
    """Yield a list that holds kinsplit's warnings once the block ends, each also given; others are given as usual."""
    told: list[KinsplitWarning] = []
    found: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", KinsplitWarning)
            yield told
    finally:
        own: dict[type[KinsplitWarning], list[KinsplitWarning]] = {}
        for one in found:
            if isinstance(one.message, KinsplitWarning):
                own.setdefault(type(one.message), []).append(one.message)
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        told.extend({str(one): one for kind, messages in own.items() for one in kind.combined(messages)}.values())
        for message in told:
            warnings.warn(message, stacklevel=3)
