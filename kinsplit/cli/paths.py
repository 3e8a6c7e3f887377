"""Where results may be written, found out before hours of work."""

from __future__ import annotations

import os
from pathlib import Path

from kinsplit.errors import InvalidParameterError


def check_place(output: Path) -> None:
    """Make sure that a file can be written; its folders are made later.

    Raises:
        InvalidParameterError: It can't.
    """
    if output.is_dir():
        raise InvalidParameterError("--output", "must be a file, and is a folder", str(output), "Name a file in it.")
    above = next(folder for folder in output.absolute().parents if folder.exists())
    if not above.is_dir():
        raise InvalidParameterError("--output", f"must lie in a folder, and {above} is a file", str(output), "Move it.")
    if not os.access(output if output.exists() else above, os.W_OK):
        raise InvalidParameterError("--output", "must be where you may write", str(output), "Name another place.")
