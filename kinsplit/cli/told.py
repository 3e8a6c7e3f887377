"""The library's own warnings as lines of a command."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kinsplit.cli.terminal import Terminal
from kinsplit.errors import KinsplitWarning


@contextmanager
def told_by(terminal: Terminal) -> Iterator[None]:
    """Write kinsplit's warnings as the command's own when the block ends, each once, and let all others through."""
    kept: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as kept:
            warnings.simplefilter("always", KinsplitWarning)
            yield
    finally:
        _tell(terminal, kept)


def _tell(terminal: Terminal, kept: Sequence[warnings.WarningMessage]) -> None:
    own: dict[type[KinsplitWarning], list[KinsplitWarning]] = {}
    for one in kept:
        if isinstance(one.message, KinsplitWarning):
            own.setdefault(type(one.message), []).append(one.message)
        else:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno, one.file, one.line)
    for kind, found in own.items():
        for message in dict.fromkeys(map(str, kind.combined(found))):
            terminal.warning(message)
