"""The library's own warnings as lines of a command."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from kinsplit.cli.terminal import Terminal

W = TypeVar("W", bound=Warning)


@contextmanager
def told_by(
    terminal: Terminal, kind: type[W], combine: Callable[[list[W]], Iterable[W]] = lambda found: found
) -> Iterator[None]:
    """Write warnings as the command's own when the block ends, each once, and let all others through.

    Args:
        terminal: Where to write.
        kind: Which warnings.
        combine: Makes one of several that belong together.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", kind)
        try:
            yield
        finally:
            kept = list(caught)
    for one in kept:
        if not isinstance(one.message, kind):
            warnings.showwarning(one.message, one.category, one.filename, one.lineno, one.file, one.line)
    own = [one.message for one in kept if isinstance(one.message, kind)]
    for message in dict.fromkeys(map(str, combine(own))):
        terminal.warning(message)
