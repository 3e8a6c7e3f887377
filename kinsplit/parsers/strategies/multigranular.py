from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import model_validator

from kinsplit.errors import require
from kinsplit.parsers.base import Cut, Levels, Strategy
from kinsplit.parsers.packing.refine import Unit
from kinsplit.parsers.parameters import Overlap, Sizes, check_below
from kinsplit.parsers.strategies.word import word_windows
from kinsplit.parsers.units.sentences import words
from kinsplit.spans import Span


class MultigranularStrategy(Strategy):
    """Word windows of several sizes at once; windows that are the same at two sizes are kept once, at the smaller size.

    Level 0 contains the smallest windows. The parent of a window is the window of the next size that contains it, if
    any. With sizes that divide each other and no overlap, every window has a parent unless the two are the same. Each
    level covers the text except for windows that a finer level already has.

    Attributes:
        chunk_sizes: Words per window, smallest first; at most 16 sizes.
        chunk_overlap: Words shared with the previous window, at every size.

    Example:
        >>> from kinsplit import split
        >>> [chunk.text for chunk in split("one two three", "multigranular", chunk_sizes=(1, 2))]
        ['one two', 'one', 'two', 'three']
    """

    name = "multigranular"
    summary = "Word windows of several sizes at once, without duplicates"
    origin = "rag_eval (256, 512, 1024 words)"
    counted: ClassVar[Unit] = "word"

    chunk_sizes: Sizes = (256, 512, 1024)
    chunk_overlap: Overlap = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        rule, remedy = "must be strictly ascending", "Sort the sizes and remove duplicates."
        require(list(self.chunk_sizes) == sorted(set(self.chunk_sizes)), "chunk_sizes", rule, self.chunk_sizes, remedy)
        check_below("chunk_overlap", self.chunk_overlap, "the smallest of chunk_sizes", self.chunk_sizes[0])
        return self

    @property
    def depth(self) -> int:
        """Number of levels of chunks: one per size, or leaves and the parents that indexing makes of one size."""
        return max(2, len(self.chunk_sizes))

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        sizes, overlap = self.chunk_sizes, self.chunk_overlap
        return [_nested([word_windows(found, size, overlap) for size in sizes]) for found in map(words, texts)]


def _nested(levels: list[list[Span]]) -> Levels:
    seen: set[Span] = set()
    kept: list[list[Span]] = []
    for spans in levels:
        kept.append([span for span in spans if span not in seen])
        seen.update(spans)
    while len(kept) > 1 and not kept[-1]:
        kept.pop()
    around: list[list[Span]] = [*kept[1:], []]
    return [[Cut((s,), parent=_holder(s, wider)) for s in own] for own, wider in zip(kept, around, strict=True)]


def _holder(span: Span, wider: list[Span]) -> int | None:
    """Return the index of the last wider span that contains a span."""
    number = bisect_right(wider, span.start, key=lambda s: s.start) - 1
    while number >= 0 and wider[number].end >= span.start:
        if wider[number].end >= span.end:
            return number
        number -= 1
    return None
