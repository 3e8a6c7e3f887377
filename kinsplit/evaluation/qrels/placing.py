"""Which chunks of a document hold a span, without looking at all of them."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from kinsplit.chunk import Chunk, Span
from kinsplit.evaluation.ranges import length, unite


class Holding(NamedTuple):
    """A chunk that holds some of a span.

    Attributes:
        chunk: The chunk.
        of_span: The share of the span that it holds.
        of_chunk: The share of the chunk that the span fills.
    """

    chunk: Chunk
    of_span: float
    of_chunk: float


class Placed:
    """The chunks of one document by where they lie.

    Args:
        chunks: In any order; they may overlap and have several spans.

    Attributes:
        chunks: The chunks.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        spans = [unite(chunk.spans) for chunk in chunks]
        self._lengths = [length(own) for own in spans]
        placed = sorted((span, number) for number, own in enumerate(spans) for span in own)
        self._spans = [span for span, _ in placed]
        self._numbers = [number for _, number in placed]
        self._starts = [span.start for span in self._spans]
        # Up to where the spans so far reach: it never falls, as their ends may.
        self._reach = list(accumulate((span.end for span in self._spans), max))

    def holding(self, span: Span) -> Iterator[Holding]:
        """Yield the chunks that hold at least a character of a span."""
        held: dict[int, int] = {}
        first = bisect.bisect_right(self._reach, span.start)
        for at in range(first, bisect.bisect_left(self._starts, span.end)):
            own = self._spans[at]
            common = min(own.end, span.end) - max(own.start, span.start)
            if common > 0:
                held[self._numbers[at]] = held.get(self._numbers[at], 0) + common
        for number, common in held.items():
            yield Holding(self.chunks[number], common / (span.end - span.start), common / self._lengths[number])
