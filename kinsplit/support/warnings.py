"""Capture of kinsplit's own warnings, for the results that they are about."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import getattr_static
from typing import Any

from kinsplit.errors import KinsplitWarning

# The method of warnings that stay as they are.
_COMBINED = vars(KinsplitWarning)["combined"]


@contextmanager
def capture_warnings(at_once: Callable[[KinsplitWarning], None] | None = None) -> Iterator[list[KinsplitWarning]]:
    """Yield a list that holds kinsplit's warnings once the block ends, combined and each once; others are shown.

    `at_once` is called with each warning of a kind that isn't combined; the list then holds only the others.
    """
    captured: list[KinsplitWarning] = []
    found: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", KinsplitWarning)
            if at_once is not None:
                warnings.showwarning = _shower(at_once, found)
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


def _shower(at_once: Callable[[KinsplitWarning], None], found: list[warnings.WarningMessage]) -> Callable[..., None]:
    def show(message: Warning, *about: Any) -> None:
        if isinstance(message, KinsplitWarning) and getattr_static(type(message), "combined") is _COMBINED:
            at_once(message)
        else:
            found.append(warnings.WarningMessage(message, *about))

    return show


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
