"""Free space, looked at before Qdrant Edge needs it.

Its files are mapped into memory and have holes: where the disk is full, to write into one ends the process by SIGBUS,
without a word. On tmpfs to read one does so too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from kinsplit.errors import DiskFullError

_MB = 1_000_000
#: Kept free for the files that grow by pages, for the log, and for what others write meanwhile.
_RESERVE = 16 * _MB
#: Kept free for writes that only delete, and for opening, so that a full disk can be cleared.
_LEAST = _MB
#: Bytes of a new shard where holes are filled when they are read.
_FILLED_SHARD = 80 * _MB
#: A point lies in the log and in its segment, which rounds up.
_COPIES = 3


def check_creation(folder: Path) -> None:
    """Make sure that a shard can be made in a folder.

    Raises:
        DiskFullError: There is not enough free space.
    """
    _check(folder, _RESERVE + (_FILLED_SHARD if _fills_holes(folder) else 0), "make a collection")


def check_opening(folder: Path, shard: Path) -> None:
    """Make sure that a shard can be opened, whose vectors are read as it is.

    Raises:
        DiskFullError: There is not enough free space.
    """
    holes = 0
    if _fills_holes(folder):
        for path in shard.glob("segments/*/*/vectors/*.mmap"):
            found = path.stat()
            holes += max(0, found.st_size - _allocated(found))
    _check(folder, _LEAST + holes, "open the collection")


def check_write(folder: Path, added: int) -> None:
    """Make sure that a write can be done.

    Args:
        folder: The collection's folder.
        added: Bytes of the points to write; 0 for a write that only deletes.

    Raises:
        DiskFullError: There is not enough free space.
    """
    _check(folder, _RESERVE + _COPIES * added if added else _LEAST, "write into the collection")


def can_optimize(folder: Path, shard: Path) -> bool:
    """Return whether there is room to write the segments anew beside the old ones."""
    needed = _RESERVE + sum(_allocated(path.stat()) for path in _files(shard / "segments"))
    return _free(folder) >= needed + (_FILLED_SHARD if _fills_holes(folder) else 0)


def _check(folder: Path, needed: int, action: str) -> None:
    free = _free(folder)
    if free < needed:
        raise DiskFullError(str(folder), action, needed, free)


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _allocated(found: os.stat_result) -> int:
    # Windows has no blocks, and no holes here.
    return getattr(found, "st_blocks", found.st_size // 512) * 512


def _fills_holes(folder: Path) -> bool:
    """Return whether a folder lies on tmpfs."""
    device = folder.stat().st_dev
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        fields, _, kind = line.partition(" - ")
        if fields.split()[2] == number:
            return kind.startswith("tmpfs ")
    return False
