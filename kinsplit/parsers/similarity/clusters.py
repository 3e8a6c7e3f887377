"""Vectors -> clusters in one pass: each joins the cluster whose mean is most like it, or begins one of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.parsers.units.segment import IntArray
from kinsplit.spans import Span, merge_spans

# So many vectors are compared with all means in one multiplication.
_BLOCK = 128
# Up to so many clusters a vector is compared with all of their means: that is faster than finding out which matter.
_FEW = 1024
# The comparison of a block is a rough one, in float32; what may be similar enough by it is compared again.
_ROUGHNESS = 1e-4
# Digits of a similarity that count: fewer than are sure, so that equal means are equally similar wherever they stand.
_DIGITS = 9


class Capacity(Protocol):
    """Says how much clusters hold, and keeps what is in them."""

    def has_room(self, clusters: IntArray, member: int) -> NDArray[np.bool_]:
        """Return which clusters are likely to take a further member; asked about many at once."""
        ...

    def take(self, cluster: int, member: int) -> bool:
        """Put a member into a cluster, or begin one with the number after the last; return False if it has no room."""
        ...


def cluster(vectors: NDArray[np.floating[Any]], threshold: float, capacity: Capacity) -> None:
    """Put each vector, in order, into the cluster with the most similar mean, if that is similar enough.

    A cluster without room is passed over, and the next best one taken. Of equally similar ones the first is taken. What
    is similar to nothing with room begins a cluster.

    n vectors of d dimensions in m clusters cost what multiplying their matrices costs, n * m * d. Where there are many
    clusters that is done in blocks, and only those means are compared one by one that have changed since their block
    began.

    Args:
        vectors: Shape (n, d), of any length.
        threshold: Least cosine between a vector and the mean of the unit vectors of a cluster so far.
        capacity: Is given every vector's number, in order.
    """
    units = _normalised(np.asarray(vectors, dtype=np.float64))
    sums, means, count = np.zeros_like(units), np.zeros_like(units), 0
    for first in range(0, len(units), _BLOCK):
        block = units[first : first + _BLOCK]
        known = 0 if count <= _FEW else count
        near = block.astype(np.float32) @ means[:known].astype(np.float32).T >= threshold - _ROUGHNESS
        # Clusters that have begun or changed since then; there can be no more of them.
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
    """Return the clusters that are similar enough, the most similar one first."""
    similar = np.round(similar, _DIGITS)
    order: list[int] = clusters[np.argsort(-similar, kind="stable")].tolist()
    return order[: int(np.count_nonzero(similar >= threshold))]


def _normalised(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors of length 1, and those of length 0 as they are."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)


class Gathering:
    """The chunks of one text as they grow, passage by passage; a `kinsplit.parsers.similarity.clusters.Capacity`.

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
