"""Checks of output paths, made before hours of work."""

from __future__ import annotations

import os
from pathlib import Path

from kinsplit.errors import InvalidParameterError


def check_writable(output: Path, field: str = "--output") -> None:
    """Make sure that a file can be written; missing folders are created later.

    Args:
        output: The file.
        field: Option or argument that names it.

    Raises:
        InvalidParameterError: The file can't be written.
    """
    if output.is_dir():
        raise InvalidParameterError(field, "must be a file, not a folder", str(output), "Name a file in it.")
    above = next(folder for folder in output.absolute().parents if folder.exists())
    if not above.is_dir():
        rule = f"must be in a folder, but {above} is a file"
        raise InvalidParameterError(field, rule, str(output), "Choose another path.")
    if not os.access(output if output.exists() else above, os.W_OK):
        raise InvalidParameterError(field, "must be writable", str(output), "Choose another path.")
