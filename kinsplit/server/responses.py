"""Chunks, passages and offsets as responses hold them.

JavaScript counts offsets in UTF-16 units; a character beyond U+FFFF has two.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kinsplit.chunk import FIELDS, GAP, Chunk, select
from kinsplit.indexing.origins import ABSOLUTE_PATH
from kinsplit.retrieval import Candidate, Passage
from kinsplit.server.models import ChunkPlace, ChunkText, FoundChunk, FoundPassage, Related, TextRange, TextView
from kinsplit.spans import Span, stretches

# Fields of a chunk that a `Place` shows.
_FIELDS = [field.shown for field in FIELDS if field.shown is not None and field.shown in ChunkPlace.model_fields]

_BEYOND = re.compile("[\U00010000-\U0010ffff]")


class Utf16Offsets:
    """Converts offsets in one text from code points to UTF-16 units, by one binary search each.

    A lone surrogate is one code point and one unit.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._beyond = [] if text.isascii() else [match.start() for match in _BEYOND.finditer(text)]

    def offset(self, code_points: int) -> int:
        """Return the number of UTF-16 units before a code point.

        Args:
            code_points: Offset of the code point, from 0 to the text's length.
        """
        return code_points + bisect.bisect_left(self._beyond, code_points)


class SpanLocator:
    """Locates spans of a document in a text that was joined from slices of it.

    Args:
        spans: The slices, in document order.
        text: The joined text.
    """

    def __init__(self, spans: Sequence[Span], text: str) -> None:
        self._stretches = stretches(spans, text) or ()
        self._units = Utf16Offsets(text)

    def locate(self, spans: Iterable[Span]) -> list[TextRange]:
        """Return the ranges of spans in the text; parts that the text lacks are left out."""
        return [self._range(start, end) for span in spans for start, end in self._clip(span)]

    def _clip(self, span: Span) -> Iterator[tuple[int, int]]:
        for at, (start, end) in self._stretches:
            first, last = max(start, span.start), min(end, span.end)
            if first < last:
                yield at + first - start, at + last - start

    def _range(self, start: int, end: int) -> TextRange:
        return TextRange(start=start, end=end, utf16_start=self._units.offset(start), utf16_end=self._units.offset(end))


def is_hidden(key: str) -> bool:
    """Return whether a metadata key describes the indexing machine or belongs to a framework."""
    return key in (ABSOLUTE_PATH, GAP) or key.startswith("_")


def visible_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the hidden keys."""
    return {key: value for key, value in metadata.items() if not is_hidden(key)}


def to_place(chunk: Chunk, locator: SpanLocator) -> ChunkPlace:
    """Return the position of a chunk, without its text.

    Args:
        chunk: The chunk.
        locator: Locator for the text of the response.
    """
    return ChunkPlace(**_place(chunk, locator))


def to_chunk_text(chunk: Chunk, locator: SpanLocator) -> ChunkText:
    """Return the position of a chunk, with its text and metadata."""
    return ChunkText(**_place(chunk, locator), text=chunk.text, metadata=visible_metadata(chunk.metadata))


def to_found_passage(rank: int, passage: Passage, view: TextView | None) -> FoundPassage:
    """Return a passage with its rank, counted from 1."""
    locator = SpanLocator(passage.spans, passage.text)
    return FoundPassage(
        rank=rank,
        score=passage.score,
        scores=dict(passage.scores),
        source_id=passage.source_id,
        start=passage.start,
        end=passage.end,
        spans=[tuple(span) for span in passage.spans],
        pages=passage.pages,
        context=passage.context,
        text=passage.text,
        hits=[_hit(hit, locator) for hit in passage.hits],
        chunks=[chunk.id for chunk in passage.chunks],
        related=[Related(source_id=chunk.source_id, text=chunk.text) for chunk in passage.related],
        metadata=visible_metadata(passage.metadata),
        times=passage.times,
        view=view,
    )


def _hit(hit: Candidate, locator: SpanLocator) -> FoundChunk:
    return FoundChunk(**_place(hit.chunk, locator), score=hit.score, scores=dict(hit.scores))


def _place(chunk: Chunk, locator: SpanLocator) -> dict[str, Any]:
    first, last = chunk.metadata.get("page_start"), chunk.metadata.get("page_end")
    return {
        **select(chunk, _FIELDS),
        "ranges": locator.locate(chunk.spans),
        "pages": None if first is None or last is None else (first, last),
    }
