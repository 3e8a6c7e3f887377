"""Vectors of sentences -> how much is gained by a cut before each of them.

Two ways to judge a cut, and one scale for both, on which more than 0 means "cut":

- by a threshold: how far the similarity across the gap lies below it, or the distance above one that the document's
  own distances set, as in LangChain's SemanticChunker;
- adaptive: how much closer the sentences of two chunks are to their two centres than to the one centre of both, less
  what a cut costs, a multiple of the document's variance. It is change-point detection with a linear kernel (Arlot,
  Celisse & Harchaoui, "A Kernel Multiple Change-point Algorithm via Model Selection", JMLR 20, 2019): a cut at random
  gains the variance within a chunk on average, so what repeats itself with small changes, as tables do, is cut at
  small changes, and a narrative, in which every sentence differs from the last, only at large ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

ThresholdKind = Literal["adaptive", "similarity", "percentile", "deviation", "interquartile", "gradient"]
Vectors = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]

# Digits that equal vectors agree in, so that nothing is cut for the noise of a sum.
_DIGITS = 6


class Threshold(NamedTuple):
    """What a threshold of some kind may be.

    Attributes:
        default: Its default.
        least: The smallest one.
        most: The largest one.
        unit: What it is counted in.
        window: How many sentences on each side of a gap are compared, unless that is given.
    """

    default: float
    least: float
    most: float
    unit: str
    window: int = 4


#: By kind. Defaults by `benchmarks/boundaries.py`, but for the similarity, which is that of the replaced systems.
THRESHOLDS: dict[ThresholdKind, Threshold] = {
    "adaptive": Threshold(1.5, 0, 100, "times the document's variance"),
    "similarity": Threshold(0.75, -1, 1, "cosine", window=1),
    "percentile": Threshold(85, 1, 100, "per cent of the distances, which lie below"),
    "deviation": Threshold(1, -10, 10, "standard deviations above the mean distance"),
    "interquartile": Threshold(0.5, -10, 10, "interquartile ranges above the mean distance"),
    "gradient": Threshold(85, 1, 100, "per cent of the changes of the distances' slope, which lie below"),
}


def similarities(vectors: Vectors, window: int = 1) -> FloatArray:
    """Compare what lies before and behind each gap.

    Args:
        vectors: Of length 1, shape (n, d).
        window: Sentences on each side whose mean is compared; fewer at the ends of the text.

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
    """Judge each gap by a threshold.

    Args:
        similar: The similarity across each gap, at least one.
        kind: What the threshold is set for; not "adaptive".
        threshold: In the unit of `THRESHOLDS`.

    Returns:
        How far each gap lies beyond the threshold; above 0 where it asks for a cut.
    """
    return _BEYOND[kind](1 - similar, threshold)


def coherence(vectors: Vectors, longest: int) -> FloatArray:
    """Say how close sentences that follow one another are to their common centre.

    Args:
        vectors: Of length 1, shape (n, d).
        longest: Most sentences together.

    Returns:
        Shape (n, longest): in row j and column `longest - m` the squared length of the sum of the m sentences that end
        with sentence j, divided by m. The more alike they are, the nearer it is to m. 0 where there aren't as many.
    """
    n = len(vectors)
    found = np.zeros((n, longest))
    # Of sentence j with the sentences before it, summed up from the nearest on.
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
    # The slope itself, which LangChain takes, is steepest before the gap: how it changes at the gap marks the place.
    around = np.pad(distances, 1, mode="edge")
    return _by_percentile(2 * distances - around[:-2] - around[2:], threshold)


_BEYOND: dict[ThresholdKind, Callable[[FloatArray, float], FloatArray]] = {
    "similarity": _by_similarity,
    "percentile": _by_percentile,
    "deviation": _by_deviation,
    "interquartile": _by_interquartile,
    "gradient": _by_gradient,
}
