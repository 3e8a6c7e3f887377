"""Collections in memory: the store, its rankings and its catalog."""

from __future__ import annotations

import math
import operator
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import SparseVector
from kinsplit.errors import StoreError
from kinsplit.stores import filters
from kinsplit.stores.engines import Engine
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.filters import Condition, OneOf, Path, Range, TimeRange, paths_of, to_conditions, values_of
from kinsplit.stores.json_values import parse_time
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan, content_of
from kinsplit.stores.schema import check_collection, check_schema, schema_to_create
from kinsplit.stores.store import ChunkStore, FoundPoint
from kinsplit.stores.values import Embedded, Query, Schema, Vectors, Where, layer_of

Rows = NDArray[np.intp]

_COMPARE: dict[str, Any] = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


class PointMatrices:
    """Immutable matrices of points' vectors, arranged for searching."""

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
            if isinstance(condition, filters.HasId):
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
    if isinstance(condition, filters.HasId):
        ids = frozenset(condition.ids)
        return lambda id_, _: id_ in ids
    if isinstance(condition, filters.Not):
        inner = matcher(condition.conditions)
        return lambda id_, payload: not inner(id_, payload)
    if isinstance(condition, filters.Either):
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


@dataclass(slots=True)
class HeldCollection:
    """State that the store objects of one collection share.

    Attributes:
        schema: Schema of the collection.
        points: Points by id.
        sources: Ids of each source's points, and of others where a write was interrupted.
        ranking: Matrices of the points, created by the first search after a sync.
        lock: Lock of the writers, also held by readers, so that they see all changes of a sync or none.
    """

    schema: Schema
    points: dict[str, tuple[Payload, Vectors]] = field(default_factory=dict)
    sources: dict[str, dict[str, None]] = field(default_factory=dict)
    ranking: PointMatrices | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)


#: Collections by name of the store; they live as long as the process.
PLACES: dict[str, dict[str, HeldCollection]] = {}
PLACES_LOCK = threading.Lock()


class MemoryStore(ChunkStore):
    """A collection in memory, for hundreds of thousands of chunks: the first search after a sync arranges all of them.

    Terms are ranked as in Edge, except after deletions: Edge counts a deleted chunk in its IDF until it cleans up its
    segments, this store never does.

    The arguments and errors are those of `open_store`; the place is the name of the store, under which this process
    can reopen it after it was closed, and "" for a private store.
    """

    def __init__(self, place: str, collection: str, schema: Schema | None = None) -> None:
        check_collection(collection)
        self._name = f"memory:{place}/{collection}"
        with PLACES_LOCK:
            found = PLACES.get(place, {}).get(collection) if place else None
            if found is None:
                found = HeldCollection(schema_to_create(f"memory:{place}", collection, schema, PLACES.get(place, ())))
                if place:
                    PLACES.setdefault(place, {})[collection] = found
        check_schema(self._name, found.schema, schema)
        super().__init__(found.schema)
        self._collection: HeldCollection | None = found

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        return len(self._payloads(to_conditions(level, where)))

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        found = Counter(payload["source_id"] for payload in self._payloads(to_conditions(level, where)).values())
        return dict(sorted(found.items()))

    def close(self) -> None:
        """Release the collection. A second call does nothing."""
        self._collection = None

    def _open(self) -> HeldCollection:
        if self._collection is None:
            raise StoreError(f"{self._name} was closed. Open the store again.")
        return self._collection

    def _exclusively(self) -> AbstractContextManager[object]:
        return self._open().lock

    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        collection = self._open()
        fulfils = matcher(conditions)
        with collection.lock:
            points = collection.points
            candidates = ((id_, points[id_][0]) for id_ in _candidates(collection, conditions) if id_ in points)
            found = {id_: payload for id_, payload in candidates if fulfils(id_, payload)}
        return found if keys is None else {id_: {key: p[key] for key in keys if key in p} for id_, p in found.items()}

    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        return {id_: vectors for id_, (_, vectors) in self._points(ids).items()}

    def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        collection = self._open()
        with collection.lock:
            return {id_: collection.points[id_] for id_ in ids if id_ in collection.points}

    def _write(self, plan: Plan, vectors: Embedded) -> None:
        collection = self._open()
        written = {id_: (payload, _own(vectors[content_of(payload)])) for id_, payload in plan.upserts}
        with collection.lock:
            collection.ranking = None
            written |= {id_: (payload, collection.points[id_][1]) for id_, payload in plan.payloads}
            # A source knows its points before they are there and until they are gone, so that none can be left over
            # where Ctrl-C interrupts this.
            for id_, (payload, _) in written.items():
                collection.sources.setdefault(payload["source_id"], {})[id_] = None
            collection.points.update(written)
            for id_ in plan.deletes:
                del collection.points[id_]
            for id_, source_id in plan.departures.items():
                ids = collection.sources[source_id]
                del ids[id_]
                if not ids:
                    del collection.sources[source_id]

    # A whole payload costs no more here than selected keys.
    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:  # noqa: ARG002
        collection = self._open()
        with collection.lock:
            if collection.ranking is None:
                collection.ranking = PointMatrices(collection.points)
            ranking = collection.ranking
        ids, payloads, found = ranking.ids, ranking.payloads, map(ranking.best, queries)
        return [[FoundPoint(ids[row], payloads[row], score) for row, score in best] for best in found]

    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        return {id_: payload for id_, (payload, _) in self._points(ids).items()}


def _candidates(collection: HeldCollection, conditions: Sequence[Condition]) -> Iterable[str]:
    """Return the ids of the points that can meet conditions: those of the named sources, or all."""
    named = values_of(conditions, "source_id")
    if named is None:
        return collection.points
    return [id_ for name in dict.fromkeys(named) for id_ in collection.sources.get(name, ())]


def _own(vectors: Vectors) -> Vectors:
    """Return a copy of vectors, which the caller can't change."""
    return vectors if vectors.dense is None else replace(vectors, dense=vectors.dense.copy())


class MemoryCatalog(Catalog):
    """The collections of a named store in memory, whose size is not known; a private store has none."""

    def __init__(self, place: str) -> None:
        super().__init__(f"memory:{place}")
        self._store = place

    def _reading(self) -> AbstractContextManager[object]:
        return PLACES_LOCK

    def _names(self) -> Mapping[str, HeldCollection]:
        return PLACES.get(self._store, {})

    def _stored(self, key: HeldCollection) -> object:
        return asdict(key.schema)

    def _measure(self, name: str, key: HeldCollection, schema: Schema | None) -> tuple[int, int, None]:  # noqa: ARG002
        with key.lock:
            sources = [payload["source_id"] for payload, _ in key.points.values() if payload["level"] == 0]
        return len(set(sources)), len(sources), None

    def _identity(self, key: HeldCollection) -> str:
        return str(id(key))

    def _drop(self, name: str, key: HeldCollection) -> None:  # noqa: ARG002
        # Open stores keep its content until they are closed.
        del PLACES[self._store][name]

    def _rename(self, name: str, key: HeldCollection, new: str) -> None:  # noqa: ARG002
        PLACES[self._store][new] = PLACES[self._store].pop(name)

    def _switch(self, keys: dict[str, HeldCollection]) -> None:
        PLACES[self._store] |= dict(zip(keys, reversed(keys.values()), strict=True))


#: The engine for the registry.
ENGINE = Engine(MemoryStore, MemoryCatalog, "tests and notebooks: exact, gone with the process")
