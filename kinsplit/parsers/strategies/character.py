from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from pydantic import model_validator

from kinsplit.parsers.base import Cut, Levels, Strategy
from kinsplit.parsers.packing.groups import window_count, windows
from kinsplit.parsers.packing.refine import Unit
from kinsplit.parsers.parameters import Overlap, Size, check_below, share
from kinsplit.spans import Span
from kinsplit.text.graphemes import grapheme_end, grapheme_floor


class CharacterStrategy(Strategy):
    """Windows of a fixed number of characters (code points).

    A window ends before a grapheme cluster that it would cut, so it can be slightly shorter than `chunk_size`.

    Attributes:
        chunk_size: Characters per window.
        chunk_overlap: Characters shared with the previous window. Default: a quarter of chunk_size.

    Example:
        >>> from kinsplit import split
        >>> [chunk.text for chunk in split("abcdefg", "character", chunk_size=4, chunk_overlap=1)]
        ['abcd', 'defg']
    """

    name = "character"
    summary = "Character windows of a fixed size"
    origin = "notebook (600/150); SC-Qrels uses 500/50 and 1000/0"
    counted: ClassVar[Unit] = "character"

    chunk_size: Size = 600
    chunk_overlap: Overlap = 150

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "chunk_overlap": share(data, "chunk_overlap", "chunk_size", 600, 4)}

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_below("chunk_overlap", self.chunk_overlap, "chunk_size", self.chunk_size)
        return self

    def expected_chunks(self, text: str) -> int:
        """Estimate the number of windows; graphemes of several characters make fewer."""
        return window_count(len(text), self.chunk_size, self.chunk_size - self.chunk_overlap)

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        found = [(text, self._spans(text)) for text in texts]
        return [
            [[Cut((span,)) for span in spans if not text[span.start : span.end].isspace()]] for text, spans in found
        ]

    def _spans(self, text: str) -> list[Span]:
        total, stride = len(text.rstrip()), self.chunk_size - self.chunk_overlap
        if text.isascii() and "\r" not in text:
            return [Span(*run) for run in windows(total, self.chunk_size, stride)]
        spans: list[Span] = []
        start = reached = 0
        while reached < total:
            end = _end(text, start, min(start + self.chunk_size, total))
            if end <= reached:
                # The next cluster is too wide to share a window with the overlap: start with it.
                start = reached
                continue
            spans.append(Span(start, end))
            start, reached = _next_start(text, start, start + stride, end), end
        return spans


def _end(text: str, start: int, at: int) -> int:
    """Return the last grapheme boundary up to an offset, or the offset itself if one cluster fills the window."""
    floor = grapheme_floor(text, at, start)
    return floor if floor > start else at


def _next_start(text: str, start: int, at: int, end: int) -> int:
    """Return the last grapheme boundary up to an offset, or else the first one after it within the window."""
    floor = grapheme_floor(text, at, start)
    return min(floor if floor > start else grapheme_end(text, start), end)
