"""Boundaries and clusters from the similarity of vectors.

The gain of a cut before each sentence comes from the vectors of the sentences. There are two methods with a common
scale, on which a gain above 0 favours a cut:

- Threshold: how far the similarity across a gap falls below a threshold, or the distance exceeds a threshold derived
  from the document's own distances, as in LangChain's SemanticChunker.
- Adaptive: how much closer the sentences of two chunks are to their two centres than to their common centre, minus the
  cost of a cut, a multiple of the document's variance. This is change-point detection with a linear kernel (Arlot,
  Celisse & Harchaoui, "A Kernel Multiple Change-point Algorithm via Model Selection", JMLR 20, 2019). A random cut
  gains the variance within a chunk on average. So repetitive text, such as tables, is cut at small changes, and a
  narrative, in which every sentence differs from the last, only at large ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from kinsplit.parsers.units.sentences import IntArray
from kinsplit.spans import Span, merge_spans

ThresholdKind = Literal["adaptive", "similarity", "percentile", "deviation", "interquartile", "gradient"]
Vectors = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]

# Digits kept, so that rounding errors never cause a cut.
_DIGITS = 6


class Threshold(NamedTuple):
    """Range and default of one kind of threshold."""

    default: float
    least: float
    most: float
    unit: str
    window: int = 4


#: Thresholds by kind. Defaults from `benchmarks/boundaries.py`, except similarity, which is that of earlier systems.
THRESHOLDS: dict[ThresholdKind, Threshold] = {
    "adaptive": Threshold(1.5, 0, 100, "times the document's variance"),
    "similarity": Threshold(0.75, -1, 1, "relative similarity", window=1),
    "percentile": Threshold(85, 1, 100, "percentile of the distances"),
    "deviation": Threshold(1, -10, 10, "standard deviations above the mean distance"),
    "interquartile": Threshold(0.5, -10, 10, "interquartile ranges above the mean distance"),
    "gradient": Threshold(85, 1, 100, "percentile of the changes in the slope of the distances"),
}


def similarities(vectors: Vectors, window: int = 1) -> FloatArray:
    """Return the cosine of the means around each gap between n unit vectors, shape (n - 1,).

    The window is the number of sentences on each side whose means are compared; fewer at the ends of the text.
    """
    gaps = np.arange(1, len(vectors))
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])
    before = sums[gaps] - sums[np.maximum(gaps - window, 0)]
    behind = sums[np.minimum(gaps + window, len(vectors))] - sums[gaps]
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(behind, axis=1)
    products: FloatArray = np.einsum("ij,ij->i", before, behind)
    return np.asarray(np.round(products / np.maximum(lengths, np.finfo(np.float64).tiny), _DIGITS))


def gains(similar: FloatArray, kind: ThresholdKind, threshold: float) -> FloatArray:
    """Return the gain of a cut at each gap by a threshold that is not "adaptive".

    It is how far each gap lies beyond the threshold, in the unit given in `THRESHOLDS`; above 0 for a cut. For
    "similarity", the threshold is the cosine of a relative similarity (see `kinsplit.embedding.calibration`).
    """
    return _BEYOND[kind](1 - similar, threshold)


def coherence(vectors: Vectors, longest: int) -> FloatArray:
    """Return how close up to `longest` consecutive sentences are to their common centre, from n unit vectors.

    Returns:
        Shape (n, longest): in row j and column `longest - m`, the squared length of the sum of the m sentences that end
        with sentence j, divided by m. The more similar the sentences, the closer it is to m. 0 if there are fewer.
    """
    n = len(vectors)
    found = np.zeros((n, longest))
    # Products of sentence j with the sentences before it, summed from the nearest.
    with_last = np.zeros(n)
    squared = found[:, longest - 1] = np.einsum("ij,ij->i", vectors, vectors)
    own = squared.copy()
    for m in range(2, min(longest, n) + 1):
        with_last[m - 1 :] += np.einsum("ij,ij->i", vectors[m - 1 :], vectors[: n - m + 1])
        shorter, squared = squared, np.zeros(n)
        squared[m - 1 :] = shorter[m - 2 : -1] + own[m - 1 :] + 2 * with_last[m - 1 :]
        found[:, longest - m] = squared / m
    return np.asarray(np.round(found, _DIGITS))


def variance(vectors: Vectors) -> float:
    """Return the mean squared distance of vectors of length 1 from their centre, estimated without bias."""
    n = len(vectors)
    if n < 2:
        return 0.0
    centre = vectors.mean(axis=0, dtype=np.float64)
    return round(float(1 - centre @ centre) * n / (n - 1), _DIGITS)


def _by_percentile(distances: FloatArray, threshold: float) -> FloatArray:
    return np.asarray(distances - np.percentile(distances, threshold))


def _by_interquartile(distances: FloatArray, threshold: float) -> FloatArray:
    first, third = np.percentile(distances, [25, 75])
    return np.asarray(distances - (distances.mean() + threshold * (third - first)))


def _by_gradient(distances: FloatArray, threshold: float) -> FloatArray:
    # The slope, which LangChain uses, is steepest before the gap; its change is greatest at the gap.
    around = np.pad(distances, 1, mode="edge")
    return _by_percentile(2 * distances - around[:-2] - around[2:], threshold)


_BEYOND: dict[ThresholdKind, Callable[[FloatArray, float], FloatArray]] = {
    "similarity": lambda distances, threshold: distances - (1 - threshold),
    "percentile": _by_percentile,
    "deviation": lambda distances, threshold: np.asarray(distances - (distances.mean() + threshold * distances.std())),
    "interquartile": _by_interquartile,
    "gradient": _by_gradient,
}


# Number of vectors compared with all means in one multiplication.
_BLOCK = 128
# Up to this number of clusters, comparing a vector with all means is faster than selecting candidates.
_FEW = 1024
# Tolerance of the block comparison in float32; candidates within it are compared again.
_ROUGHNESS = 1e-4
# Digits of a similarity; fewer than are exact, so that equal means are equally similar at any position.
_CLUSTER_DIGITS = 9


def cluster(vectors: npt.NDArray[np.floating[Any]], threshold: float, chunks: ChunkBuilder) -> None:
    """Add each passage, in order, to the chunk with the most similar mean of unit vectors, if it is similar enough.

    A chunk without room is skipped in favour of the next best. Of equally similar chunks, the first is chosen. A
    passage without a similar chunk with room starts a new one.

    For n vectors of d dimensions in m chunks, the cost is that of a matrix multiplication, n * m * d. With many
    chunks, it is done in blocks, and only means that have changed since the start of the block are compared one by
    one.
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
            room = chunks.has_room(numbers, member)
            ranked = _ranked(numbers[room], similar[room], threshold)
            home = next((number for number in ranked if chunks.take(number, member)), count)
            if home == count:
                chunks.take(home, member)
                count += 1
            sums[home] += unit
            means[home] = _normalised(sums[home])
            moved[home] = True


def _ranked(clusters: IntArray, similar: npt.NDArray[np.float64], threshold: float) -> list[int]:
    """Return the clusters that are similar enough, most similar first."""
    similar = np.round(similar, _CLUSTER_DIGITS)
    order: list[int] = clusters[np.argsort(-similar, kind="stable")].tolist()
    return order[: int(np.count_nonzero(similar >= threshold))]


def _normalised(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return unit vectors; vectors of length 0 are unchanged."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)


@dataclass(slots=True)
class ChunkBuilder:
    """The chunks of one text while passages are added to them.

    Attributes:
        text: The text.
        passages: Its passages, in order; neighbours may overlap and have at most white space between them.
        alone: int64[n], tokens of each passage.
        added: int64[n], tokens that each passage adds to a chunk that ends with the previous passage.
        separator: Separator between the spans of a chunk.
        joint: Tokens of the separator.
        limit: Maximum number of tokens in a chunk.
        length: Function that counts the tokens of a chunk before it grows; None to assume that lengths add up.
        chunks: Spans of each chunk; chunks in the order of their first passages.
    """

    text: str
    passages: Sequence[Span]
    alone: IntArray
    added: IntArray
    separator: str
    joint: int
    limit: int
    length: Callable[[str], int] | None = None
    chunks: list[tuple[Span, ...]] = field(default_factory=list, init=False)
    # Tokens and last passage of each chunk; there are at most as many chunks as passages.
    _tokens: IntArray = field(init=False)
    _last: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self._tokens, self._last = np.zeros_like(self.alone), np.zeros_like(self.alone)

    def texts(self) -> list[str]:
        """Return the texts of the chunks."""
        return [self._joined(spans) for spans in self.chunks]

    def has_room(self, clusters: IntArray, member: int) -> npt.NDArray[np.bool_]:
        """Return which chunks probably have room for a further passage."""
        follows = self._last[clusters] == member - 1
        more = np.where(follows, self.added[member], self.joint + self.alone[member])
        return np.asarray(self._tokens[clusters] + more <= self.limit)

    def take(self, cluster: int, member: int) -> bool:
        """Add a passage to a chunk, or to a new one numbered after the last; return False if there is no room."""
        passage = self.passages[member]
        if cluster == len(self.chunks):
            self.chunks.append((passage,))
            self._tokens[cluster] = self.alone[member]
        else:
            spans = merge_spans([*self.chunks[cluster], passage], self.text)
            if self.length is not None and self.length(self._joined(spans)) > self.limit:
                return False
            self.chunks[cluster] = spans
            follows = self._last[cluster] == member - 1
            self._tokens[cluster] += self.added[member] if follows else self.joint + self.alone[member]
        self._last[cluster] = member
        return True

    def _joined(self, spans: Sequence[Span]) -> str:
        return self.separator.join(self.text[start:end] for start, end in spans)
