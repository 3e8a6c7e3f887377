"""Capture of kinsplit's own warnings, for the results that they are about."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from kinsplit.errors import KinsplitWarning


@contextmanager
def capture_warnings() -> Iterator[list[KinsplitWarning]]:
    """Yield a list that holds kinsplit's warnings once the block ends, combined and each once; others are shown."""
    captured: list[KinsplitWarning] = []
    found: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", KinsplitWarning)
            yield captured
    finally:
        own: dict[type[KinsplitWarning], list[KinsplitWarning]] = {}
        for one in found:
            if isinstance(one.message, KinsplitWarning):
                own.setdefault(type(one.message), []).append(one.message)
            else:
                warnings.showwarning(one.message, one.category, one.filename, one.lineno, one.file, one.line)
        combined = (warning for kind, several in own.items() for warning in kind.combined(several))
        captured.extend({str(warning): warning for warning in combined}.values())


@contextmanager
def record_warnings() -> Iterator[list[KinsplitWarning]]:
    """Yield a list as `capture_warnings` does, and issue the captured warnings again when the block ends."""
    captured: list[KinsplitWarning] = []
    try:
        with capture_warnings() as captured:
            yield captured
    finally:
        for warning in captured:
            warnings.warn(warning, stacklevel=3)
