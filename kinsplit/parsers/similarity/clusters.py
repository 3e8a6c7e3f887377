"""Greedy centroid clustering of passages, and the chunks that grow from the clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.parsers.units.segment import IntArray
from kinsplit.spans import Span, merge_spans

# Number of vectors compared with all means in one multiplication.
_BLOCK = 128
# Up to this number of clusters, comparing a vector with all means is faster than selecting candidates.
_FEW = 1024
# Tolerance of the block comparison in float32; candidates within it are compared again.
_ROUGHNESS = 1e-4
# Digits of a similarity; fewer than are exact, so that equal means are equally similar at any position.
_DIGITS = 9


class Capacity(Protocol):
    """Contents and capacity of clusters."""

    def has_room(self, clusters: IntArray, member: int) -> NDArray[np.bool_]:
        """Return which clusters probably have room for a further member."""
        ...

    def take(self, cluster: int, member: int) -> bool:
        """Add a member to a cluster, or to a new one numbered after the last; return False if there is no room."""
        ...


def cluster(vectors: NDArray[np.floating[Any]], threshold: float, capacity: Capacity) -> None:
    """Add each vector, in order, to the cluster with the most similar mean, if it is similar enough.

    A cluster without room is skipped in favour of the next best. Of equally similar clusters, the first is chosen. A
    vector without a similar cluster with room starts a new one.

    For n vectors of d dimensions in m clusters, the cost is that of a matrix multiplication, n * m * d. With many
    clusters, it is done in blocks, and only means that have changed since the start of the block are compared one by
    one.

    Args:
        vectors: Vectors of any length, shape (n, d).
        threshold: Minimum cosine between a vector and the mean of the unit vectors in a cluster.
        capacity: Clusters to fill; members are the numbers of the vectors, in order.
    """
    units = _normalised(np.asarray(vectors, dtype=np.float64))
    sums, means, count = np.zeros_like(units), np.zeros_like(units), 0
    for first in range(0, len(units), _BLOCK):
        block = units[first : first + _BLOCK]
        known = 0 if count <= _FEW else count
        near = block.astype(np.float32) @ means[:known].astype(np.float32).T >= threshold - _ROUGHNESS
        # Clusters started or changed since the start of the block; at most one more per vector.
        moved = np.zeros(count + len(block), dtype=np.bool_)
        for member, unit in enumerate(block, start=first):
            if known:
                likely = moved.copy()
                likely[:known] |= near[member - first]
                numbers = np.flatnonzero(likely)
                similar = means[numbers] @ unit
            else:
                similar = means[:count] @ unit
                numbers = np.flatnonzero(similar >= threshold - _ROUGHNESS)
                similar = similar[numbers]
            room = capacity.has_room(numbers, member)
            ranked = _ranked(numbers[room], similar[room], threshold)
            home = next((number for number in ranked if capacity.take(number, member)), count)
            if home == count:
                capacity.take(home, member)
                count += 1
            sums[home] += unit
            means[home] = _normalised(sums[home])
            moved[home] = True


def _ranked(clusters: IntArray, similar: NDArray[np.float64], threshold: float) -> list[int]:
    """Return the clusters that are similar enough, most similar first."""
    similar = np.round(similar, _DIGITS)
    order: list[int] = clusters[np.argsort(-similar, kind="stable")].tolist()
    return order[: int(np.count_nonzero(similar >= threshold))]


def _normalised(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit vectors; vectors of length 0 are unchanged."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)


class ChunkBuilder:
    """The chunks of one text while passages are added to them; implements `Capacity`.

    Args:
        text: The text.
        passages: Its passages, in order; neighbours may overlap and have at most white space between them.
        alone: int64[n], tokens of each passage.
        added: int64[n], tokens that each passage adds to a chunk that ends with the previous passage.
        separator: Separator between spans.
        joint: Tokens of the separator.
        limit: Maximum number of tokens in a chunk.
        length: Function that counts the tokens of a text; None to assume that lengths add up.
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
        #: Spans of each chunk; chunks in the order of their first passages.
        self.chunks: list[tuple[Span, ...]] = []
        # Tokens and last passage of each chunk; there are at most as many chunks as passages.
        self._tokens, self._last = np.zeros_like(alone), np.zeros_like(alone)

    def measured(self, length: Callable[[str], int]) -> ChunkBuilder:
        """Return an empty builder that measures each chunk before it grows."""
        return ChunkBuilder(
            *(self._text, self._passages, self._alone, self._added),
            *(self._separator, self._joint, self._limit, length),
        )

    def texts(self) -> list[str]:
        """Return the texts of the chunks."""
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
