"""Arrays of points: rankings without an engine, exact and in one thread."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.filters import Condition, HasId, OneOf, to_conditions
from kinsplit.stores.values import Entry, Query, Vectors, layer_of

Rows = NDArray[np.intp]

# Share of a matrix's rows up to which a product with these alone, which copies them, takes less time than with all.
_FEW = 1 / 8


class PointArrays:
    """Immutable arrays of points with their vectors, arranged for searching.

    Args:
        points: The points; of equal scores, the earlier one ranks first.
    """

    def __init__(self, points: Iterable[tuple[Entry, Vectors]]) -> None:
        #: The points' entries, without scores.
        self.entries: list[Entry] = []
        rows: dict[int, list[int]] = defaultdict(list)
        dense: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
        sparse: dict[str, list[_Terms]] = defaultdict(list)
        places = []
        for row, (entry, vectors) in enumerate(points):
            self.entries.append(entry)
            rows[entry.level].append(row)
            layer = layer_of(entry.level)
            places.append(len(dense[layer.dense]) if layer.dense is not None else 0)
            if layer.dense is not None and vectors.dense is not None:
                dense[layer.dense].append(vectors.dense)
            if vectors.sparse is not None and vectors.sparse.indices:
                # Numbers as objects would take seven times the memory.
                terms, values = np.array(vectors.sparse.indices), np.array(vectors.sparse.values, dtype=np.float32)
                sparse[layer.sparse].append((np.full(len(terms), row, dtype=np.int32), terms, values))
        self._row_of = {entry.id: row for row, entry in enumerate(self.entries)}
        of_source: dict[tuple[int, str], list[int]] = defaultdict(list)
        for row, entry in enumerate(self.entries):
            of_source[entry.level, entry.source_id].append(row)
        # By level and source.
        self._of_source = {key: np.array(of_key, dtype=np.intp) for key, of_key in of_source.items()}
        self._level_of = np.array([entry.level for entry in self.entries], dtype=np.intp)
        self._levels = {level: np.array(of_level, dtype=np.intp) for level, of_level in rows.items()}
        # Row of each point in the matrix that holds its dense vector.
        self._places = np.array(places, dtype=np.intp)
        self._unit = {name: _unit(np.array(vectors, dtype=np.float32)) for name, vectors in dense.items() if vectors}
        self._postings = {name: _Postings(vectors, len(self.entries)) for name, vectors in sparse.items()}
        # The last vector that was multiplied by each whole matrix, and the product.
        self._products: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}

    def count(self, level: int) -> int:
        """Return the number of points of a level."""
        return len(self._levels.get(level, ()))

    def rank(self, queries: Sequence[Query]) -> list[list[Entry]] | None:
        """Return the entries that queries find, best first; None if a filter reads other keys than ids and sources."""
        rankings = []
        for query in queries:
            conditions = to_conditions(None, query.where)
            known = [condition for condition in conditions if is_place(condition)]
            if len(known) < len(conditions):
                return None
            found = self.best(query, self.matching(query.level, known))
            rankings.append(self.bare(found) if query.bare else self.scored(found))
        return rankings

    def scored(self, found: Iterable[tuple[int, float]]) -> list[Entry]:
        """Return the entries of rows with their scores."""
        entries = self.entries
        return [entries[row].scored(score) for row, score in found]

    def bare(self, found: Iterable[tuple[int, float]]) -> list[Entry]:
        """Return the ids of rows with their scores as entries; copying whole ones takes twice as long."""
        entries = self.entries
        return [Entry.bare(entries[row].id, score) for row, score in found]

    def matching(self, level: int, conditions: Iterable[HasId | OneOf]) -> Rows:
        """Return the rows of a level that meet conditions on ids and sources, in order."""
        rows: Rows | None = None
        for condition in conditions:
            if isinstance(condition, HasId):
                named = sorted(row for id_ in condition.ids if (row := self._row_of.get(id_)) is not None)
                wanted = np.array(named, dtype=np.intp)
                wanted = wanted[self._level_of[wanted] == level]
            else:
                found = [self._of_source.get((level, name), _NO_ROWS) for name in condition.strings]
                wanted = found[0] if len(found) == 1 else np.sort(np.concatenate([_NO_ROWS, *found]))
            rows = wanted if rows is None else np.intersect1d(rows, wanted)
        return self._levels.get(level, _NO_ROWS) if rows is None else rows

    def best(self, query: Query, rows: Rows) -> list[tuple[int, float]]:
        """Return the best of some rows for a query, with their scores, best first."""
        if not len(rows):
            return []
        layer = layer_of(query.level)
        if not isinstance(query.vector, SparseVector):
            # The cosine with a vector of length 0 is 0.
            vector = query.vector / (math.sqrt(np.vdot(query.vector, query.vector)) or 1)
            return _best(rows, self._cosines(str(layer.dense), vector, self._places[rows]), query.limit)
        if layer.sparse not in self._postings:
            return []
        postings = self._postings[layer.sparse]
        if len(query.vector.indices) == 1 and len(layer.levels) == 1 and rows is self._levels[query.level]:
            return _best(*postings.weighted(query.vector.indices[0], query.vector.values[0]), query.limit)
        scores, holds = postings.scores(query.vector)
        rows = rows[holds[rows]]
        return _best(rows, scores[rows], query.limit)

    def _cosines(self, name: str, vector: NDArray[np.float32], places: Rows) -> NDArray[np.float32]:
        """Return the products of a vector and rows of a matrix, each by itself: BLAS's own threads would spin."""
        matrix = self._unit[name]
        known = self._products.get(name)
        if known is not None and np.array_equal(known[0], vector):
            return known[1][places]
        if len(places) < _FEW * len(matrix):
            near: NDArray[np.float32] = np.vecdot(matrix[places], vector)
            return near
        product: NDArray[np.float32] = np.vecdot(matrix, vector)
        self._products[name] = vector, product
        return product[places]


_NO_ROWS = np.array([], dtype=np.intp)


# The row of a point for each of its terms, the terms, and their weights.
_Terms = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32]]


class _Postings:
    """The points, of so many in all, that have each term, and their weights."""

    def __init__(self, points: Sequence[_Terms], size: int) -> None:
        rows, terms, values = map(np.concatenate, zip(*points, strict=True))
        order = np.argsort(terms, kind="stable")
        found, starts = np.unique(terms[order], return_index=True)
        self._number, self._size = len(points), size
        # The last vector that was asked for, and its scores: a search has several queries with one.
        self._last: tuple[SparseVector, NDArray[np.float64], NDArray[np.bool_]] | None = None
        self._rows, self._values = rows[order], values[order]
        parts = zip(starts.tolist(), [*starts[1:].tolist(), len(terms)], strict=True)
        self._parts = dict(zip(found.tolist(), parts, strict=True))

    def weighted(self, term: int, asked: float) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the points that have a term, in order, and its weights times its IDF and its weight in a question.

        As in Qdrant, the IDF counts all points with a sparse vector of that name.
        """
        start, end = self._parts.get(term, (0, 0))
        having = end - start
        idf = math.log((self._number - having + 0.5) / (having + 0.5) + 1)
        return self._rows[start:end], self._values[start:end] * np.float64(asked * idf)

    def scores(self, vector: SparseVector) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the score of each point, and whether it has a term at all."""
        last = self._last
        if last is not None and last[0] is vector:
            return last[1:]
        scores, holds = np.zeros(self._size), np.zeros(self._size, dtype=bool)
        for term, asked in zip(vector.indices, vector.values, strict=True):
            # Half of a question's terms are other spellings and names, which few collections have.
            if term in self._parts:
                rows, weights = self.weighted(term, asked)
                scores[rows] += weights
                holds[rows] = True
        self._last = vector, scores, holds
        return scores, holds


def is_place(condition: Condition) -> TypeGuard[HasId | OneOf]:
    """Return whether a condition is on ids or on sources, which the arrays know."""
    return isinstance(condition, HasId) or (isinstance(condition, OneOf) and condition.key == "source_id")


def _unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise each row to length 1; a row of length 0 stays."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def _best(rows: NDArray[np.integer], scores: NDArray[np.floating], limit: int) -> list[tuple[int, float]]:
    """Return the rows with the highest scores; of equal scores, the earlier row comes first."""
    if len(scores) > 2 * limit:
        chosen = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
        rows, scores = rows[chosen], scores[chosen]
    order = np.argsort(-scores, kind="stable")[:limit]
    return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))
