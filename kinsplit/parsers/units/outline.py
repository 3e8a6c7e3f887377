"""Sections and contexts of documents with an outline, such as programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kinsplit.chunk import Document, Part
from kinsplit.parsers.units.blocks import Block, Section
from kinsplit.parsers.units.graphemes import grapheme_floor, trim
from kinsplit.spans import Span

# Maximum number of sibling parts named in a context; more would blur the embedding.
_MOST_NAMES = 6


def outline_context(document: Document, spans: Sequence[Span]) -> str:
    """Return the context of a chunk of a document with an outline.

    The first line is the file name, so all chunks of the file belong to one section. The second line is the path of
    the parts around the chunk, followed by the names of the parts that the chunk touches side by side:
    `class Stack > def push, def pop`.

    Args:
        document: The document.
        spans: Spans of the chunk.
    """
    name = document.id.rpartition("/")[2]
    start, end = spans[0].start, spans[-1].end
    around = [part for part in document.outline if part.start <= start and end <= part.end]
    touched: list[Part] = []
    for part in document.outline:
        outside = part not in around and part.start < end and start < part.end
        if outside and not (touched and part.end <= touched[-1].end):
            touched.append(part)
    names = [part.title for part in touched]
    siblings = ", ".join([*names[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])
    path = " > ".join([*(part.title for part in around), *([siblings] if siblings else [])])
    return f"{name}\n{path}" if path else name


def code_sections(text: str, outline: Sequence[Part]) -> list[Section]:
    """Return a program as one section of blocks, so that short functions are merged and comments are no headings.

    Args:
        text: Text of the program.
        outline: Its classes and functions, as in `Document.outline`.
    """
    cuts = {0, len(text)}
    inside = 0  # End of the last function; whatever it contains stays with it.
    for part in outline:
        if part.start >= inside:
            cuts |= {grapheme_floor(text, _start_with_comments(text, part.start), 0), grapheme_floor(text, part.end, 0)}
            inside = part.end if not part.title.startswith("class ") else inside
    spans = (trim(text, start, end) for start, end in pairwise(sorted(cuts)))
    blocks = [Block(span.start, span.end, "paragraph") for span in spans if span]
    return [Section(blocks, "")] if blocks else []


def _start_with_comments(text: str, start: int) -> int:
    """Return the start of a part including the comments and decorators directly above it."""
    at = start = _line_start(text, start)
    while at:
        at = _line_start(text, at - 1)
        if text[at:start].lstrip()[:1] not in {"#", "@"}:
            break
        start = at
    return start


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
