"""The garbage collector, out of the way while many small values are made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Pause the collector.

    Spans and chunks form no cycles, so there is nothing to collect; but with each few hundred of them the collector
    looks at those made before, which takes more time than making them once a document has some megabytes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def resumed() -> Iterator[None]:
    """Let the collector work for as long as something is waited for, although it is paused."""
    was_enabled = gc.isenabled()
    gc.enable()
    try:
        yield
    finally:
        if not was_enabled:
            gc.disable()
