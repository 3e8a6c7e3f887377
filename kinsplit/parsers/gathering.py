"""Passages of one text -> chunks of several spans, none longer than the limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Span, merge_spans
from kinsplit.parsers.segment import IntArray


class Gathering:
    """The chunks of one text as they grow, passage by passage; a `kinsplit.parsers.centroids.Capacity`.

    Args:
        text: The text.
        passages: Its passages, in order; neighbours may overlap, and have at most white space between them.
        alone: int64[n], tokens of each passage.
        added: int64[n], tokens that a passage adds to a chunk that ends with the passage before it.
        separator: Goes between spans.
        joint: Its tokens.
        limit: Most tokens of a chunk.
        length: Counts the tokens of a text; without it lengths are taken to add up.
    """

    def __init__(
        self,
        text: str,
        passages: Sequence[Span],
        alone: IntArray,
        added: IntArray,
        separator: str,
        joint: int,
        limit: int,
        length: Callable[[str], int] | None = None,
    ) -> None:
        self._text, self._passages, self._alone, self._added = text, passages, alone, added
        self._separator, self._joint, self._limit, self._length = separator, joint, limit, length
        #: The spans of each chunk, chunks in the order of their first passages.
        self.chunks: list[tuple[Span, ...]] = []
        # Of each chunk its tokens and its last passage; there are at most as many chunks as passages.
        self._tokens, self._last = np.zeros_like(alone), np.zeros_like(alone)

    def measured(self, length: Callable[[str], int]) -> Gathering:
        """Return the same without chunks, to be filled anew, now measuring each chunk before it grows."""
        return Gathering(
            *(self._text, self._passages, self._alone, self._added),
            *(self._separator, self._joint, self._limit, length),
        )

    def texts(self) -> list[str]:
        """Return the chunks' texts."""
        return [self._joined(spans) for spans in self.chunks]

    def has_room(self, clusters: IntArray, member: int) -> NDArray[np.bool_]:
        """See `Capacity`."""
        follows = self._last[clusters] == member - 1
        more = np.where(follows, self._added[member], self._joint + self._alone[member])
        return np.asarray(self._tokens[clusters] + more <= self._limit)

    def take(self, cluster: int, member: int) -> bool:
        """See `Capacity`."""
        passage = self._passages[member]
        if cluster == len(self.chunks):
            self.chunks.append((passage,))
            self._tokens[cluster] = self._alone[member]
        else:
            spans = merge_spans([*self.chunks[cluster], passage], self._text)
            if self._length is not None and self._length(self._joined(spans)) > self._limit:
                return False
            self.chunks[cluster] = spans
            follows = self._last[cluster] == member - 1
            self._tokens[cluster] += self._added[member] if follows else self._joint + self._alone[member]
        self._last[cluster] = member
        return True

    def _joined(self, spans: Sequence[Span]) -> str:
        return self._separator.join(self._text[start:end] for start, end in spans)
