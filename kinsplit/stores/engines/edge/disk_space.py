"""Checks for free disk space before Qdrant Edge needs it.

Edge maps sparse files into memory. On a full disk, writing into a hole kills the process with SIGBUS and no message;
on tmpfs, so does reading one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from kinsplit.errors import DiskFullError

_MB = 1_000_000
#: Kept free for files that grow by pages, for the log, and for concurrent writes of other programs.
_RESERVE = 16 * _MB
#: Kept free for deletions and for opening, so that a full disk can be cleared.
_LEAST = _MB
#: Bytes of a new shard, and of one that is no longer small, on file systems that fill holes when they are read.
_NEW_SHARD, _FILLED_SHARD = 20 * _MB, 80 * _MB
#: Size up to which vectors and payloads are read page by page, that of some 2,000 chunks. Their files consist of holes
#: then, which would otherwise fill 100 MB of memory at each opening.
_SMALL = 4 * _MB
#: A point is stored in the log and in its segment, which rounds up.
_COPIES = 3


def check_creation(folder: Path) -> None:
    """Check that there is room to create a shard in a folder.

    Raises:
        DiskFullError: There is not enough free space.
    """
    _check(folder, _RESERVE + (_NEW_SHARD if _fills_holes(folder) else 0), "make a collection")


def check_opening(folder: Path, shard: Path) -> None:
    """Check that there is room to open a shard, since opening reads the vectors of one that isn't small.

    Raises:
        DiskFullError: There is not enough free space.
    """
    holes = 0
    if _fills_holes(folder) and not is_small(shard):
        for path in shard.glob("segments/*/*/vectors/*.mmap"):
            holes += max(0, path.stat().st_size - _allocated(path))
    _check(folder, _LEAST + holes, "open the collection")


def check_write(folder: Path, added: int) -> None:
    """Check that there is room for a write.

    Args:
        folder: The collection's folder.
        added: Size of the points to write in bytes; 0 for deletions only.

    Raises:
        DiskFullError: There is not enough free space.
    """
    _check(folder, _RESERVE + _COPIES * added if added else _LEAST, "write into the collection")


def can_optimize(folder: Path, shard: Path) -> bool:
    """Return whether there is room to rewrite the segments next to the old ones."""
    needed = _RESERVE + sum(_allocated(path) for path in _files(shard / "segments"))
    return _free(folder) >= needed + (_FILLED_SHARD if _fills_holes(folder) else 0)


def size_on_disk(folder: Path) -> int:
    """Return the number of bytes that the files of a folder take, without their holes."""
    return sum(_allocated(path) for path in _files(folder))


def _check(folder: Path, needed: int, action: str) -> None:
    free = _free(folder)
    if free < needed:
        raise DiskFullError(str(folder), action, needed, free)


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def is_small(shard: Path) -> bool:
    """Return whether the vectors and payloads of a shard are few."""
    files = (
        file for kind in ("*/vectors/*.mmap", "payload_storage/*.dat") for file in shard.glob(f"segments/*/{kind}")
    )
    return sum(map(_allocated, files)) < _SMALL


def _allocated(path: Path) -> int:
    """Return the number of bytes that a file takes, without its holes."""
    found = path.stat()
    # Windows reports no blocks, and Edge's files have no holes there.
    return getattr(found, "st_blocks", found.st_size // 512) * 512


def _fills_holes(folder: Path) -> bool:
    """Return whether a folder is on tmpfs, which fills holes when they are read."""
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
