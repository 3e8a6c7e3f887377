"""Source code: whether lines are code, and where its statements begin."""

from __future__ import annotations


def is_code(text: str, start: int, end: int) -> bool:
    """Return whether a block of lines is source code rather than prose."""
    del text, start, end
    return False


def statement_starts(text: str, start: int, end: int) -> list[int]:
    """Return the starts of the statements in a range of source code, the first of them the start of the range.

    A statement includes the comments, decorators and attributes directly above it, and all lines up to its last
    closing bracket.
    """
    del text, end
    return [start]
