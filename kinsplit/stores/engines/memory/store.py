"""Store in memory with exact search, for tests, notebooks and small corpora."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from kinsplit.chunk import Content
from kinsplit.errors import StoreError
from kinsplit.stores.engine import EngineStore
from kinsplit.stores.engines.memory.ranking import Ranking, matcher
from kinsplit.stores.filters import Condition, to_conditions, values_of
from kinsplit.stores.logic import Found
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan, content_of
from kinsplit.stores.protocol import Query, Schema, Vectors, Where
from kinsplit.stores.schema import check_collection, check_schema, schema_to_create


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
    ranking: Ranking | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)


#: Collections by name of the store; they live as long as the process.
PLACES: dict[str, dict[str, HeldCollection]] = {}
PLACES_LOCK = threading.Lock()


class MemoryStore(EngineStore):
    """A collection in memory, for hundreds of thousands of chunks: the first search after a sync arranges all of them.

    Terms are ranked as in Edge, except after deletions: Edge counts a deleted chunk in its IDF until it cleans up its
    segments, this store never does.

    Args:
        place: Name of the store, under which this process can reopen it after it was closed; "" for a private store.
        collection: Name of the collection.
        schema: Schema that the collection must have; a new collection gets it. None opens an existing collection.

    Raises:
        StoreError: An error or one of its subclasses; see `kinsplit.stores.open_store`.
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

    def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
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
    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[Found]]:  # noqa: ARG002
        collection = self._open()
        with collection.lock:
            if collection.ranking is None:
                collection.ranking = Ranking(collection.points)
            ranking = collection.ranking
        return [
            [Found(ranking.ids[row], ranking.payloads[row], score) for row, score in ranking.best(query)]
            for query in queries
        ]

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
