"""Copies of sparse files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def copy_sparse(source: str | Path, target: str | Path) -> str | Path:
    """Copy a file with its holes: a collection of Qdrant Edge has 300 MB of them."""
    if not hasattr(os, "SEEK_DATA"):
        return shutil.copyfile(source, target)
    with Path(source).open("rb") as given, Path(target).open("wb") as taken:
        end = given.seek(0, os.SEEK_END)
        at = 0
        while at < end:
            try:
                at = os.lseek(given.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            hole = os.lseek(given.fileno(), at, os.SEEK_HOLE)
            taken.seek(at)
            while at < hole:
                os.lseek(given.fileno(), at, os.SEEK_SET)
                data = os.read(given.fileno(), min(2**20, hole - at))
                taken.write(data)
                at += len(data)
        taken.truncate(end)
    return target
