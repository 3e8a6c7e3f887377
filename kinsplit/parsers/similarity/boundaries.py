"""Gain of a cut before each sentence, from the vectors of the sentences.

There are two methods with a common scale, on which a gain above 0 favours a cut:

- Threshold: how far the similarity across a gap falls below a threshold, or the distance exceeds a threshold derived
  from the document's own distances, as in LangChain's SemanticChunker.
- Adaptive: how much closer the sentences of two chunks are to their two centres than to their common centre, minus the
  cost of a cut, a multiple of the document's variance. This is change-point detection with a linear kernel (Arlot,
  Celisse & Harchaoui, "A Kernel Multiple Change-point Algorithm via Model Selection", JMLR 20, 2019). A random cut
  gains the variance within a chunk on average. So repetitive text, such as tables, is cut at small changes, and a
  narrative, in which every sentence differs from the last, only at large ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

ThresholdKind = Literal["adaptive", "similarity", "percentile", "deviation", "interquartile", "gradient"]
Vectors = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]

# Digits kept, so that rounding errors never cause a cut.
_DIGITS = 6


class Threshold(NamedTuple):
    """Range and default of one kind of threshold.

    Attributes:
        default: Default threshold.
        least: Minimum.
        most: Maximum.
        unit: Unit of the threshold.
        window: Default number of sentences compared on each side of a gap.
    """

    default: float
    least: float
    most: float
    unit: str
    window: int = 4


#: Thresholds by kind. Defaults from `benchmarks/boundaries.py`, except similarity, which is that of earlier systems.
THRESHOLDS: dict[ThresholdKind, Threshold] = {
    "adaptive": Threshold(1.5, 0, 100, "times the document's variance"),
    "similarity": Threshold(0.75, -1, 1, "cosine", window=1),
    "percentile": Threshold(85, 1, 100, "percentile of the distances"),
    "deviation": Threshold(1, -10, 10, "standard deviations above the mean distance"),
    "interquartile": Threshold(0.5, -10, 10, "interquartile ranges above the mean distance"),
    "gradient": Threshold(85, 1, 100, "percentile of the changes in the slope of the distances"),
}


def similarities(vectors: Vectors, window: int = 1) -> FloatArray:
    """Return the similarity across each gap.

    Args:
        vectors: Unit vectors, shape (n, d).
        window: Number of sentences on each side whose means are compared; fewer at the ends of the text.

    Returns:
        Cosine of the means around each gap, shape (n - 1,).
    """
    gaps = np.arange(1, len(vectors))
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])
    before = sums[gaps] - sums[np.maximum(gaps - window, 0)]
    behind = sums[np.minimum(gaps + window, len(vectors))] - sums[gaps]
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(behind, axis=1)
    products: FloatArray = np.einsum("ij,ij->i", before, behind)
    return np.asarray(np.round(products / np.maximum(lengths, np.finfo(np.float64).tiny), _DIGITS))


def gains(similar: FloatArray, kind: ThresholdKind, threshold: float) -> FloatArray:
    """Return the gain of a cut at each gap by a threshold.

    Args:
        similar: Similarity across each gap, at least one.
        kind: Kind of threshold; not "adaptive".
        threshold: Threshold in the unit given in `THRESHOLDS`.

    Returns:
        How far each gap lies beyond the threshold; above 0 for a cut.
    """
    return _BEYOND[kind](1 - similar, threshold)


def coherence(vectors: Vectors, longest: int) -> FloatArray:
    """Return how close consecutive sentences are to their common centre.

    Args:
        vectors: Unit vectors, shape (n, d).
        longest: Maximum number of sentences.

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


def _by_similarity(distances: FloatArray, threshold: float) -> FloatArray:
    return distances - (1 - threshold)


def _by_percentile(distances: FloatArray, threshold: float) -> FloatArray:
    return np.asarray(distances - np.percentile(distances, threshold))


def _by_deviation(distances: FloatArray, threshold: float) -> FloatArray:
    return np.asarray(distances - (distances.mean() + threshold * distances.std()))


def _by_interquartile(distances: FloatArray, threshold: float) -> FloatArray:
    first, third = np.percentile(distances, [25, 75])
    return np.asarray(distances - (distances.mean() + threshold * (third - first)))


def _by_gradient(distances: FloatArray, threshold: float) -> FloatArray:
    # The slope, which LangChain uses, is steepest before the gap; its change is greatest at the gap.
    around = np.pad(distances, 1, mode="edge")
    return _by_percentile(2 * distances - around[:-2] - around[2:], threshold)


_BEYOND: dict[ThresholdKind, Callable[[FloatArray, float], FloatArray]] = {
    "similarity": _by_similarity,
    "percentile": _by_percentile,
    "deviation": _by_deviation,
    "interquartile": _by_interquartile,
    "gradient": _by_gradient,
}
