"""Pauses of Python's garbage collector while texts are split."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector inside the block.

    Spans and chunks form no reference cycles, so there is nothing to collect. But the collector runs every few hundred
    new objects and visits all earlier ones, which takes longer than making them once a document has some megabytes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def gc_resumed() -> Iterator[None]:
    """Run the garbage collector inside the block even if it is paused around it, for example during long waits."""
    was_enabled = gc.isenabled()
    gc.enable()
    try:
        yield
    finally:
        if not was_enabled:
            gc.disable()
