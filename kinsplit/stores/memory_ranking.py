"""Exact rankings of points in memory: cosine similarity, and BM25 by term weights and IDF."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.conditions import Condition
from kinsplit.stores.layout import sparse_name
from kinsplit.stores.payload import Payload
from kinsplit.stores.protocol import Vectors

Rows = Sequence[int]


class Ranking:
    """The vectors of some points, arranged for searching; never changed.

    Args:
        points: Payload and vectors by id.
    """

    def __init__(self, points: Mapping[str, tuple[Payload, Vectors]]) -> None:
        self.ids = tuple(points)
        self.payloads = tuple(payload for payload, _ in points.values())
        self._unit = _unit(np.array([vectors.dense for _, vectors in points.values()], dtype=np.float32))
        postings: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
        self._sizes: dict[str, int] = defaultdict(int)
        for row, (payload, vectors) in enumerate(points.values()):
            if vectors.sparse is None or not vectors.sparse.indices:
                continue
            name = sparse_name(payload["level"])
            self._sizes[name] += 1
            for term, weight in zip(vectors.sparse.indices, vectors.sparse.values, strict=True):
                postings[name, term].append((row, weight))
        self._postings = {
            key: (np.array([row for row, _ in pairs]), np.array([weight for _, weight in pairs], dtype=np.float32))
            for key, pairs in postings.items()
        }

    def rows(self, conditions: Sequence[Condition]) -> Rows:
        """Return the rows of the points that meet all conditions."""
        rows: Rows = range(len(self.ids))
        for condition in conditions:
            key = condition.key
            wanted: frozenset[str | int] = frozenset((*condition.strings, *condition.integers))
            rows = [row for row in rows if _fulfils(self.payloads[row].get(key), wanted)]
        return rows

    def cosines(self, vector: NDArray[np.float32], rows: Rows, limit: int) -> list[tuple[int, float]]:
        """Return the best rows of some, with their cosine similarity; 0 for a vector of length 0."""
        if not rows:
            return []
        chosen = np.asarray(rows)
        # All scores, since picking rows of the matrix would copy them.
        return _best(chosen, (self._unit @ _unit(vector[None])[0])[chosen], limit)

    def terms(self, vector: SparseVector, level: int, rows: Rows, limit: int) -> list[tuple[int, float]]:
        """Return the best rows of some that hold a term, with the sum of the terms' weights times IDF.

        The IDF is that of all points whose sparse vector has the level's name, as in Qdrant.
        """
        name = sparse_name(level)
        scores = np.zeros(len(self.ids))
        holds = np.zeros(len(self.ids), dtype=bool)
        for term, asked in zip(vector.indices, vector.values, strict=True):
            if (name, term) in self._postings:
                found, weights = self._postings[name, term]
                idf = math.log((self._sizes[name] - len(found) + 0.5) / (len(found) + 0.5) + 1)
                scores[found] += weights * (asked * idf)
                holds[found] = True
        chosen = np.asarray(rows, dtype=np.intp)
        chosen = chosen[holds[chosen]]
        return _best(chosen, scores[chosen], limit)


def _fulfils(stored: object, wanted: frozenset[str | int]) -> bool:
    """Tell whether a value, or a member of a list, is wanted; neither True nor 1.0 is 1."""
    if type(stored) is list:
        return any(type(item) is not list and _fulfils(item, wanted) for item in stored)
    return (type(stored) is str or type(stored) is int) and stored in wanted


def _unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each row at length 1; a row of length 0 stays."""
    if not len(matrix):
        return matrix
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def _best(rows: NDArray[np.intp], scores: NDArray[np.floating], limit: int) -> list[tuple[int, float]]:
    """Return the rows of the highest scores, the earlier row first where scores are equal."""
    order = np.argsort(-scores, kind="stable")[:limit]
    return [(int(rows[place]), float(scores[place])) for place in order]
