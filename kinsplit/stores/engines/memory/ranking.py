"""Exact rankings of points in memory, by cosine similarity and by BM25 from term weights and IDF."""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.filters import (
    Condition,
    Either,
    HasId,
    Not,
    OneOf,
    Path,
    Range,
    TimeRange,
    paths_of,
    to_conditions,
)
from kinsplit.stores.json_values import parse_time
from kinsplit.stores.payload import Payload
from kinsplit.stores.protocol import Query, Vectors
from kinsplit.stores.schema import layer_of

Rows = NDArray[np.intp]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


class Ranking:
    """Immutable matrices of points' vectors, arranged for searching.

    Args:
        points: Payloads and vectors by id.
    """

    def __init__(self, points: Mapping[str, tuple[Payload, Vectors]]) -> None:
        self.ids = tuple(points)
        self.payloads = tuple(payload for payload, _ in points.values())
        self._row_of = {id_: row for row, id_ in enumerate(self.ids)}
        rows: dict[int, list[int]] = defaultdict(list)
        dense: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
        postings: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
        #: Row of each point in the matrix that holds its dense vector.
        self._dense_rows = np.zeros(len(points), dtype=np.intp)
        self._sizes: dict[str, int] = defaultdict(int)
        for row, (payload, vectors) in enumerate(points.values()):
            rows[payload["level"]].append(row)
            layer = layer_of(payload["level"])
            if layer.dense is not None and vectors.dense is not None:
                self._dense_rows[row] = len(dense[layer.dense])
                dense[layer.dense].append(vectors.dense)
            if vectors.sparse is not None and vectors.sparse.indices:
                self._sizes[layer.sparse] += 1
                for term, weight in zip(vectors.sparse.indices, vectors.sparse.values, strict=True):
                    postings[layer.sparse, term].append((row, weight))
        #: Number of each source.
        self._sources = {source: number for number, source in enumerate({p["source_id"] for p in self.payloads})}
        self._source_of = np.array([self._sources[p["source_id"]] for p in self.payloads], dtype=np.intp)
        self._levels = {level: np.array(of_level, dtype=np.intp) for level, of_level in rows.items()}
        self._unit = {name: _unit(np.array(vectors, dtype=np.float32)) for name, vectors in dense.items()}
        self._postings = {
            key: (np.array([row for row, _ in pairs]), np.array([weight for _, weight in pairs], dtype=np.float32))
            for key, pairs in postings.items()
        }

    def best(self, query: Query) -> list[tuple[int, float]]:
        """Return the best rows for a query with their scores, best first."""
        rows = self._matching(query)
        if not len(rows):
            return []
        layer = layer_of(query.level)
        if isinstance(query.vector, SparseVector):
            return self._terms(layer.sparse, query.vector, rows, query.limit)
        return self._cosines(str(layer.dense), query.vector, rows, query.limit)

    def _matching(self, query: Query) -> Rows:
        """Return the rows of a query's level that match its filter, in order."""
        rows = self._levels.get(query.level, np.array([], dtype=np.intp))
        others = []
        for condition in to_conditions(None, query.where):
            if isinstance(condition, HasId):
                named = [self._row_of[id_] for id_ in condition.ids if id_ in self._row_of]
                rows = np.intersect1d(rows, np.array(named, dtype=np.intp))
            elif isinstance(condition, OneOf) and condition.key == "source_id":
                wanted = [self._sources[name] for name in condition.strings if name in self._sources]
                rows = rows[np.isin(self._source_of[rows], wanted)]
            else:
                others.append(condition)
        if others:  # They read payloads, so they come last.
            fulfils = matcher(others)
            rows = rows[np.array([fulfils(self.ids[row], self.payloads[row]) for row in rows], dtype=bool)]
        return rows

    def _cosines(self, name: str, vector: NDArray[np.float32], rows: Rows, limit: int) -> list[tuple[int, float]]:
        """Rank rows by cosine similarity, which is 0 for a vector of length 0."""
        # Computes all scores, since selecting rows of the matrix would copy them.
        return _best(rows, (self._unit[name] @ _unit(vector[None])[0])[self._dense_rows[rows]], limit)

    def _terms(self, name: str, vector: SparseVector, rows: Rows, limit: int) -> list[tuple[int, float]]:
        """Rank the rows that contain a query term by the sum of term weights times IDF.

        As in Qdrant, the IDF counts all points with a sparse vector of that name.
        """
        scores = np.zeros(len(self.ids))
        holds = np.zeros(len(self.ids), dtype=bool)
        for term, asked in zip(vector.indices, vector.values, strict=True):
            if (name, term) in self._postings:
                found, weights = self._postings[name, term]
                idf = math.log((self._sizes[name] - len(found) + 0.5) / (len(found) + 0.5) + 1)
                scores[found] += weights * (asked * idf)
                holds[found] = True
        rows = rows[holds[rows]]
        return _best(rows, scores[rows], limit)


def matcher(conditions: Sequence[Condition]) -> Callable[[str, Payload], bool]:
    """Return a function of a point's id and payload that returns whether it meets all conditions."""
    tests = [_test(condition) for condition in conditions]
    return lambda id_, payload: all(test(id_, payload) for test in tests)


def _test(condition: Condition) -> Callable[[str, Payload], bool]:
    if isinstance(condition, HasId):
        ids = frozenset(condition.ids)
        return lambda id_, _: id_ in ids
    if isinstance(condition, Not):
        inner = matcher(condition.conditions)
        return lambda id_, payload: not inner(id_, payload)
    if isinstance(condition, Either):
        groups = [matcher(group) for group in condition.groups]
        return lambda id_, payload: any(group(id_, payload) for group in groups)
    paths, holds = paths_of(condition.key), _holds(condition)
    if isinstance(condition, OneOf) and condition.empty:
        return lambda _, payload: _is_empty(found := _found(payload, paths)) or _any(holds, found)
    return lambda _, payload: _any(holds, _found(payload, paths))


def _any(holds: Callable[[object], bool], found: Sequence[object]) -> bool:
    return any(holds(member) for value in found for member in _members(value))


def _is_empty(found: Sequence[object]) -> bool:
    return all(value is None or value == [] for value in found)


def _holds(condition: OneOf | Range | TimeRange) -> Callable[[object], bool]:
    if isinstance(condition, OneOf):
        strings, numbers = frozenset(condition.strings), frozenset[float]((*condition.integers, *condition.floats))
        booleans = frozenset(condition.booleans)
        kinds: dict[type, frozenset[Any]] = {str: strings, int: numbers, float: numbers, bool: booleans}
        return lambda value: type(value) in kinds and value in kinds[type(value)]
    bounds = [(_COMPARE[name], bound) for name, bound in condition.bounds.items()]
    if isinstance(condition, Range):
        return lambda value: _is_number(value) and all(compare(value, bound) for compare, bound in bounds)

    def within(value: object) -> bool:
        time = parse_time(value) if isinstance(value, str) else None
        return time is not None and all(compare(time, bound) for compare, bound in bounds)

    return within


def _found(payload: Payload, paths: Sequence[Path]) -> list[object]:
    """Return the values under all paths."""
    return [value for path in paths for value in _under(payload, path)]


def _under(value: object, path: Path) -> Iterator[object]:
    if not path:
        yield value
    elif path[0] is None:
        for member in value if isinstance(value, list) else ():
            yield from _under(member, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _under(value[path[0]], path[1:])


def _members(stored: object) -> Sequence[object]:
    """Return the members of a list, or the value itself in a list; nested lists are not unwrapped."""
    return stored if type(stored) is list else [stored]


def _is_number(value: object) -> bool:
    return type(value) is int or type(value) is float


def _unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise each row to length 1; a row of length 0 stays."""
    if not len(matrix):
        return matrix
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def _best(rows: NDArray[np.intp], scores: NDArray[np.floating], limit: int) -> list[tuple[int, float]]:
    """Return the rows with the highest scores; of equal scores, the earlier row comes first."""
    order = np.argsort(-scores, kind="stable")[:limit]
    return [(int(rows[place]), float(scores[place])) for place in order]
