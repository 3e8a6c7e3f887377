"""Memory that large calls leave in the allocator, and its return to the system."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from pathlib import Path

#: Growth in bytes after which memory is returned; each time takes a millisecond.
_GROWTH = 2 * 2**20


class Residue:
    """The memory of this process beyond what it held before.

    The C library keeps what was freed between objects that remain: after a call that made many, a process may stay
    several times as large as it need be. On systems other than Linux, and without glibc, nothing happens.
    """

    def __init__(self) -> None:
        self._before = _resident()

    def release(self) -> None:
        """Return freed memory to the system if the process has grown."""
        if _resident() - self._before > _GROWTH:
            gc.collect()
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).malloc_trim(0)
            self._before = _resident()


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
