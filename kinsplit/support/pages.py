"""One text of many pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

# The one boundary that every splitter understands.
_PAGE_BREAK = "\n\n"
_MID_SENTENCE = re.compile(r"[\w,;(–—-]\s*\Z")


def continues(before: str, after: str) -> bool:
    """Return whether a sentence seems to continue from one line or page to the next."""
    return after.lstrip()[:1].islower() and _MID_SENTENCE.search(before[-20:]) is not None


def join_pages(pages: Sequence[str]) -> tuple[str, list[int]]:
    """Join the texts of pages by a blank line, or by white space where a sentence continues on the next page.

    Args:
        pages: The texts, at least one; they stay as they are.

    Returns:
        The joined text, and the offset of each page in it.
    """
    parts, starts = [pages[0]], [0]
    offset = len(pages[0])
    for before, after in pairwise(pages):
        between = _PAGE_BREAK if not continues(before, after) else "" if before[-1:].isspace() else "\n"
        starts.append(offset + len(between))
        parts += [between, after]
        offset = starts[-1] + len(after)
    return "".join(parts), starts
