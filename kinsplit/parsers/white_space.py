"""White space around text, by Python's own idea of it."""

from __future__ import annotations

import re

from kinsplit.chunk import Span

#: Python's own idea of white space, all of it at or below U+3000.
SPACES = frozenset(filter(str.isspace, map(chr, range(0x3001))))
_LONE_CR = re.compile(r"\r(?!\n)")


def trim(text: str, start: int, end: int) -> Span | None:
    """Return a range without the white space at its edges, or None if nothing else is in it."""
    start, end = trimmed(text, start, end)
    return Span(start, end) if start < end else None


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range without the white space at its edges; its start twice if nothing else is in it."""
    while start < end and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


def skip_space(text: str, at: int) -> int:
    """Return the first position from `at` on that holds no white space, or the text's length."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def with_line_feeds(text: str) -> str:
    """Return a text of the same length in which every line ends with a line feed, also where it ended with CR alone."""
    return _LONE_CR.sub("\n", text) if "\r" in text else text
