"""Calls of `test_rendering`, in a module that imports nothing else: its memory counts in the process that runs them."""

from __future__ import annotations

import os
from pathlib import Path


def pid() -> bytes:
    return str(os.getpid()).encode()


def append(path: Path) -> bytes:
    """Add a character to a file, and return its content."""
    with path.open("ab") as file:
        file.write(b"1")
    return path.read_bytes()
