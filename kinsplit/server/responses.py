"""Chunks, passages and offsets as responses hold them.

JavaScript counts offsets in UTF-16 units; a character beyond U+FFFF has two.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence

from kinsplit.chunk import Chunk
from kinsplit.retrieval import Passage
from kinsplit.server.models import ChunkPlace, ChunkText, FoundPassage, TextRange, TextView
from kinsplit.spans import Span, stretches
from kinsplit.wire import chunk_row, passage_row, place_row

_BEYOND = re.compile("[\U00010000-\U0010ffff]")


class Utf16Offsets:
    """Converts offsets in one text from code points to UTF-16 units, by one binary search each.

    A lone surrogate is one code point and one unit.
    """

    def __init__(self, text: str) -> None:
        self._beyond = [] if text.isascii() else [match.start() for match in _BEYOND.finditer(text)]

    def offset(self, code_points: int) -> int:
        """Return the number of UTF-16 units before a code point."""
        return code_points + bisect.bisect_left(self._beyond, code_points)


class SpanLocator:
    """Locates spans of a document in a text that was joined from ordered slices of it."""

    def __init__(self, spans: Sequence[Span], text: str) -> None:
        self._stretches = stretches(spans, text) or ()
        self._units = Utf16Offsets(text)

    def locate(self, spans: Iterable[Span]) -> list[TextRange]:
        """Return the ranges of spans in the text; parts that the text lacks are left out."""
        units = self._units.offset
        return [
            TextRange(start=start, end=end, utf16_start=units(start), utf16_end=units(end))
            for span in spans
            for start, end in self._clip(span)
        ]

    def _clip(self, span: Span) -> Iterator[tuple[int, int]]:
        for at, (start, end) in self._stretches:
            first, last = max(start, span.start), min(end, span.end)
            if first < last:
                yield at + first - start, at + last - start


def to_place(chunk: Chunk, locator: SpanLocator) -> ChunkPlace:
    """Return the position of a chunk, without its text."""
    return ChunkPlace(**place_row(chunk), ranges=locator.locate(chunk.spans))


def to_chunk_text(chunk: Chunk, locator: SpanLocator) -> ChunkText:
    """Return the position of a chunk, with its text and metadata."""
    row = {**chunk_row(chunk), "ranges": locator.locate(chunk.spans)}
    return ChunkText(**{key: row[key] for key in ChunkText.model_fields})


def to_found_passage(rank: int, passage: Passage, view: TextView | None) -> FoundPassage:
    """Return a passage with its rank, counted from 1."""
    row, locator = passage_row(passage, rank), SpanLocator(passage.spans, passage.text)
    for hit, found in zip(row["hits"], passage.hits, strict=True):
        hit["ranges"] = locator.locate(found.chunk.spans)
    return FoundPassage(**row, view=view)
