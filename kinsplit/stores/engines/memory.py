"""Collections in memory: the store, its rankings and its catalog."""

from __future__ import annotations

import operator
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from kinsplit.errors import StoreError
from kinsplit.stores import filters
from kinsplit.stores.engines import Engine
from kinsplit.stores.engines.arrays import PointArrays, Rows, is_place
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.filters import (
    Condition,
    OneOf,
    Range,
    TimeRange,
    paths_of,
    to_conditions,
    values_of,
    values_under,
)
from kinsplit.stores.json_values import parse_time
from kinsplit.stores.payload import Payload, to_entry
from kinsplit.stores.plan import Plan, content_of
from kinsplit.stores.schema import check_collection, check_schema, schema_to_create
from kinsplit.stores.store import ChunkStore, FoundPoint
from kinsplit.stores.values import Embedded, Query, RankedEntries, Schema, Vectors, Where

_COMPARE: dict[str, Any] = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


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
        return lambda _, payload: _is_empty(found := values_under(payload, paths)) or _any(holds, found)
    return lambda _, payload: _any(holds, values_under(payload, paths))


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


def _members(stored: object) -> Sequence[object]:
    """Return the members of a list, or the value itself in a list; nested lists are not unwrapped."""
    return stored if type(stored) is list else [stored]


def _is_number(value: object) -> bool:
    return type(value) is int or type(value) is float


@dataclass(slots=True)
class HeldCollection:
    """State that the store objects of one collection share.

    Attributes:
        schema: Schema of the collection.
        points: Points by id.
        sources: Ids of each source's points, and of others where a write was interrupted.
        ranking: Arrays of the points and their payloads by row, created by the first search after a sync.
        lock: Lock of the writers, also held by readers, so that they see all changes of a sync or none.
    """

    schema: Schema
    points: dict[str, tuple[Payload, Vectors]] = field(default_factory=dict)
    sources: dict[str, dict[str, None]] = field(default_factory=dict)
    ranking: tuple[PointArrays, list[Payload]] | None = None
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

    def _entries(self, queries: Sequence[Query]) -> list[RankedEntries]:
        arrays, _, rankings = self._found(queries)
        return list(map(arrays.ranked, rankings))

    # A whole payload costs no more here than selected keys.
    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:  # noqa: ARG002
        arrays, payloads, rankings = self._found(queries)
        entries = arrays.entries
        return [[FoundPoint(entries[row].id, payloads[row], score) for row, score in found] for found in rankings]

    def _found(self, queries: Sequence[Query]) -> tuple[PointArrays, list[Payload], list[list[tuple[int, float]]]]:
        """Return the arrays, the payloads by row, and the rows that each query finds with their scores."""
        collection = self._open()
        with collection.lock:
            if collection.ranking is None:
                pairs = ((to_entry(id_, payload), vectors) for id_, (payload, vectors) in collection.points.items())
                collection.ranking = PointArrays(pairs), [payload for payload, _ in collection.points.values()]
            arrays, payloads = collection.ranking

        def rows_of(query: Query) -> Rows:
            conditions = to_conditions(None, query.where)
            rows = arrays.matching(query.level, filter(is_place, conditions))
            others = [condition for condition in conditions if not is_place(condition)]
            if not others:
                return rows
            fulfils = matcher(others)  # It reads payloads, so it comes last.
            kept: Rows = rows[np.array([fulfils(arrays.entries[row].id, payloads[row]) for row in rows], dtype=bool)]
            return kept

        return arrays, payloads, [arrays.best(query, rows_of(query)) for query in queries]

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
