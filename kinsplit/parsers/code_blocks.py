"""Code -> blocks: each function or method, and what stands between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kinsplit.chunk import Part
from kinsplit.parsers.blocks import Block, Section
from kinsplit.parsers.graphemes import grapheme_floor
from kinsplit.parsers.white_space import trim


def code_sections(text: str, outline: Sequence[Part]) -> list[Section]:
    """Return a program as one section, so that short functions are merged; comments are no headings in it.

    Args:
        text: The program.
        outline: Its classes and functions, as `Document.outline` has them.
    """
    places = {0, len(text)}
    inside = 0  # End of the function that was seen last: what it holds stays with it.
    for part in outline:
        if part.start >= inside:
            places |= {grapheme_floor(text, _with_comments(text, part.start), 0), grapheme_floor(text, part.end, 0)}
            inside = part.end if not part.title.startswith("class ") else inside
    spans = (trim(text, start, end) for start, end in pairwise(sorted(places)))
    blocks = [Block(span.start, span.end, "paragraph") for span in spans if span]
    return [Section(blocks, "")] if blocks else []


def _with_comments(text: str, start: int) -> int:
    """Return where the comments and decorators begin that stand directly above a part."""
    at = start = _line_start(text, start)
    while at:
        at = _line_start(text, at - 1)
        if text[at:start].lstrip()[:1] not in {"#", "@"}:
            break
        start = at
    return start


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
