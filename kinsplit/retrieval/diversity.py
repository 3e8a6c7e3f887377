"""Maximal marginal relevance: candidates that answer a question without repeating each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk
from kinsplit.retrieval.candidate import Candidate
from kinsplit.stores.calls import get_with_vectors


class VectorReader:
    """Reads chunks with their vectors, in one call.

    Attributes:
        vectors: Dense vector of each chunk that was read, by id.
    """

    def __init__(self) -> None:
        self.vectors: dict[str, NDArray[np.float32]] = {}

    async def read(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""
        pairs = await get_with_vectors(ids)
        self.vectors |= {chunk.id: own.dense for chunk, own in pairs if own.dense is not None}
        return [chunk for chunk, _ in pairs]


def diversify(
    candidates: Sequence[Candidate], vectors: Mapping[str, NDArray[np.float32]], diversity: float
) -> list[Candidate]:
    """Order candidates so that each is relevant and unlike those before it.

    The next candidate is always the one with the highest (1 - diversity) · relevance - diversity · similarity, where
    the relevance is the score, scaled to the range from 0 to 1, and the similarity the highest cosine with a candidate
    that comes before, at least 0 (Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering
    Documents and Producing Summaries", SIGIR 1998). The time grows with the square of the number of candidates.

    Args:
        candidates: Candidates, best first.
        vectors: Vector of each candidate, by id of the chunk; one without a vector is like no other.
        diversity: Weight of the similarity, from 0 for the given order to 1.

    Returns:
        All candidates, ranked by this value, the stage `mmr`; equal values in the given order.
    """
    if not candidates:
        return []
    dimension = next((len(vector) for vector in vectors.values()), 1)
    nothing = np.zeros(dimension, dtype=np.float32)
    matrix = np.array([vectors.get(candidate.chunk.id, nothing) for candidate in candidates])
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    worth = (1 - diversity) * _relevance(candidates)
    similarity = np.zeros(len(candidates))
    left = np.ones(len(candidates), dtype=bool)
    ordered: list[Candidate] = []
    while len(ordered) < len(candidates):
        value = np.where(left, worth - diversity * similarity, -np.inf)
        best = int(value.argmax())
        left[best] = False
        similarity = np.maximum(similarity, matrix @ matrix[best])
        ordered.append(candidates[best].with_score("mmr", float(value[best])))
    return ordered


def _relevance(candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Return the scores, scaled to the range from 0 to 1.

    Candidates that a reranker left out come last, with scores on another scale; they count as its lowest.
    """
    scores = np.minimum.accumulate([candidate.score for candidate in candidates])
    extent = float(scores[0] - scores[-1])
    scaled: NDArray[np.float64] = (scores - scores[-1]) / extent if extent > 0 else np.ones(len(scores))
    return scaled
