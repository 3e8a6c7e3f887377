"""Arrays of points: rankings without an engine, exact and in one thread."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.filters import Condition, HasId, OneOf, to_conditions
from kinsplit.stores.values import Entry, Query, RankedEntries, Vectors, layer_of

Rows = NDArray[np.intp]

# Share of a matrix's rows up to which a product with these alone, which copies them, takes less time than with all.
_FEW = 1 / 8
#: Largest number of dense vectors that are compared without an engine, which needs less time for more: it compares
#: copies of a few bits per dimension first.
MOST_COMPARED = 10_000


class PointArrays:
    """Immutable arrays of points with their vectors, arranged for searching.

    Args:
        points: The points; of equal scores, the earlier one ranks first.
    """

    def __init__(self, points: Iterable[tuple[Entry, Vectors]]) -> None:
        #: The points' entries.
        self.entries: list[Entry] = []
        rows: dict[int, list[int]] = defaultdict(list)
        # Arrays that grow, since objects for each point would take several times the memory.
        dense: dict[str, array[float]] = defaultdict(lambda: array("f"))
        sparse: dict[str, _Terms] = defaultdict(_Terms)
        places, dimension = [], 1
        for row, (entry, vectors) in enumerate(points):
            self.entries.append(entry)
            rows[entry.level].append(row)
            layer = layer_of(entry.level)
            places.append(len(dense[layer.dense]) if layer.dense is not None else 0)
            if layer.dense is not None and vectors.dense is not None:
                dense[layer.dense].frombytes(vectors.dense.tobytes())
                dimension = len(vectors.dense)
            if vectors.sparse is not None and vectors.sparse.indices:
                sparse[layer.sparse].add(row, vectors.sparse)
        self._row_of = {entry.id: row for row, entry in enumerate(self.entries)}
        of_source: dict[tuple[int, str], list[int]] = defaultdict(list)
        for row, entry in enumerate(self.entries):
            of_source[entry.level, entry.source_id].append(row)
        # By level and source.
        self._of_source = {key: np.array(of_key, dtype=np.intp) for key, of_key in of_source.items()}
        self._level_of = np.array([entry.level for entry in self.entries], dtype=np.intp)
        self._levels = {level: np.array(of_level, dtype=np.intp) for level, of_level in rows.items()}
        # Row of each point in the matrix that holds its dense vector.
        self._places = np.array(places, dtype=np.intp) // dimension
        self._unit = {name: _unit(numbers, dimension) for name, numbers in dense.items() if numbers}
        self._postings = {name: _Postings(sparse.pop(name), len(self.entries)) for name in [*sparse]}
        # The last vector that was multiplied by each whole matrix, and the product.
        self._products: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}

    def count(self, level: int) -> int:
        """Return the number of points of a level."""
        return len(self._levels.get(level, ()))

    def rank(self, query: Query) -> RankedEntries | None:
        """Return the entries that a query finds, best first.

        It is None if an engine should answer it: if its filter reads other keys than ids and sources, or if more than
        `MOST_COMPARED` dense vectors would be compared, or some that are missing.
        """
        conditions = to_conditions(None, query.where)
        known = [condition for condition in conditions if is_place(condition)]
        if len(known) < len(conditions):
            return None
        rows = self.matching(query.level, known)
        compared = len(rows) if query.using == "dense" else 0
        if compared > MOST_COMPARED or (compared and layer_of(query.level).dense not in self._unit):
            return None
        return self.ranked(self.best(query, rows))

    def ranked(self, found: Iterable[tuple[int, float]]) -> RankedEntries:
        """Return the entries of rows with their scores."""
        return [(self.entries[row], score) for row, score in found]

    def matching(self, level: int, conditions: Iterable[HasId | OneOf]) -> Rows:
        """Return the rows of a level that meet conditions on ids and sources, in order."""
        rows: Rows | None = None
        for condition in conditions:
            if isinstance(condition, HasId):
                known = [row for row in map(self._row_of.get, condition.ids) if row is not None]
                wanted = np.sort(np.array(known, dtype=np.intp))
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
        is_all = rows is self._levels.get(query.level) and sum(each in layer.levels for each in self._levels) == 1
        if is_all and len(query.vector.indices) == 1:
            return _best(*postings.weighted(query.vector.indices[0], query.vector.values[0]), query.limit)
        scores = postings.scores(query.vector)
        rows = _candidates(scores, query.limit) if is_all else rows[scores[rows] != 0]
        return _best(rows, scores[rows], query.limit)

    def _cosines(self, name: str, vector: NDArray[np.float32], places: Rows) -> NDArray[np.float32]:
        """Return the products of a vector and rows of a matrix, each by itself: BLAS's own threads would spin."""
        matrix = self._unit[name]
        known = self._products.get(name)
        if known is not None and np.array_equal(known[0], vector):
            return known[1][places]
        if len(places) < _FEW * len(matrix):
            near: NDArray[np.float32] = np.vecdot(matrix.take(places, axis=0), vector)
            return near
        product: NDArray[np.float32] = np.vecdot(matrix, vector)
        self._products[name] = vector, product
        return product[places]


_NO_ROWS = np.array([], dtype=np.intp)


class _Terms:
    """The terms of points and their weights: a row, a term and a weight for each."""

    def __init__(self) -> None:
        self.number, self.rows, self.terms, self.values = 0, array("i"), array("q"), array("f")

    def add(self, row: int, vector: SparseVector) -> None:
        """Add the terms of a point."""
        self.number += 1
        self.rows.extend([row] * len(vector.indices))
        self.terms.extend(vector.indices)
        self.values.extend(vector.values)


class _Postings:
    """The points, of so many in all, that have each term, and their weights."""

    def __init__(self, found: _Terms, size: int) -> None:
        terms = np.frombuffer(found.terms, np.int64)
        order = np.argsort(terms, kind="stable")
        terms = terms[order]
        self._number, self._size = found.number, size
        # The last vector that was asked for, and its scores: a search has several queries with one.
        self._last: tuple[SparseVector, NDArray[np.float64]] | None = None
        self._rows: NDArray[np.int32] = np.frombuffer(found.rows, np.int32)[order]
        self._values: NDArray[np.float32] = np.frombuffer(found.values, np.float32)[order]
        # Each term with its first place, and the end.
        starts = np.flatnonzero(np.diff(terms, prepend=-1))
        self._terms, self._starts = terms[starts], np.append(starts, len(terms))

    def weighted(self, term: int, asked: float) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the points that have a term, in order, and its weights times its IDF and its weight in a question.

        As in Qdrant, the IDF counts all points with a sparse vector of that name.
        """
        place = int(np.searchsorted(self._terms, term))
        if place == len(self._terms) or self._terms[place] != term:
            return self._rows[:0], np.zeros(0)
        start, end = self._starts[place : place + 2].tolist()
        having = end - start
        idf = math.log((self._number - having + 0.5) / (having + 0.5) + 1)
        return self._rows[start:end], self._values[start:end] * np.float64(asked * idf)

    def scores(self, vector: SparseVector) -> NDArray[np.float64]:
        """Return the score of each point; it is 0 only if the point has none of the terms."""
        last = self._last
        if last is not None and last[0] is vector:
            return last[1]
        pairs = zip(vector.indices, vector.values, strict=True)
        found = [(self._rows[:0], np.zeros(0)), *(self.weighted(term, asked) for term, asked in pairs)]
        rows, weights = zip(*found, strict=True)
        scores = np.bincount(np.concatenate(rows), np.concatenate(weights), self._size).astype(np.float64, copy=False)
        self._last = vector, scores
        return scores


def is_place(condition: Condition) -> TypeGuard[HasId | OneOf]:
    """Return whether a condition is on ids or on sources, which the arrays know."""
    return isinstance(condition, HasId) or (isinstance(condition, OneOf) and condition.key == "source_id")


def _unit(numbers: array[float], dimension: int) -> NDArray[np.float32]:
    """Normalise vectors in place to length 1, each a row of the matrix; one of length 0 stays."""
    matrix = np.frombuffer(numbers, np.float32).reshape(-1, dimension)
    lengths = np.sqrt(np.vecdot(matrix, matrix))
    matrix /= np.where(lengths > 0, lengths, 1)[:, np.newaxis]
    return matrix


def _candidates(scores: NDArray[np.float64], limit: int) -> Rows:
    """Return the rows whose scores aren't 0, without most of those that aren't among the best."""
    size = len(scores) // (8 * limit)
    if size > 1:
        # Of the best scores of blocks, the one at the limit is at most as good as that of all scores.
        blocks = scores[: len(scores) // size * size].reshape(size, -1).max(axis=0)
        least = np.partition(blocks, -limit)[-limit]
        if least > 0:
            return np.flatnonzero(scores >= least)
    return np.flatnonzero(scores != 0)


def _best(rows: NDArray[np.integer], scores: NDArray[np.floating], limit: int) -> list[tuple[int, float]]:
    """Return the rows with the highest scores; of equal scores, the earlier row comes first."""
    if limit == 1 and len(scores):
        first = int(scores.argmax())
        return [(int(rows[first]), float(scores[first]))]
    if len(scores) > 2 * limit:
        chosen = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
        rows, scores = rows[chosen], scores[chosen]
    order = np.argsort(-scores, kind="stable")[:limit]
    return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))
