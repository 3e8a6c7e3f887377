"""Store in Qdrant through its client: a server, a cluster, a folder or memory; and its catalog."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from qdrant_client import QdrantClient, models

from kinsplit.chunk import Chunk
from kinsplit.errors import StoreError
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.engines.open_engines import Lease, Sharing
from kinsplit.stores.engines.qdrant.calls import EntryCache, choose_calls, shown, to_filter, to_search
from kinsplit.stores.engines.qdrant.collection import (
    alias,
    aliases_of,
    build_graph,
    is_finished,
    names_of,
    open_client,
    open_collection,
    postpone_graph,
    stored_schema,
)
from kinsplit.stores.engines.qdrant.errors import qdrant_errors
from kinsplit.stores.engines.qdrant.indexes import ServerIndexes
from kinsplit.stores.engines.qdrant.limits import PAGE, CollectionLimits, in_turn, once
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url
from kinsplit.stores.engines.qdrant.payload import count_sources, level_of, places_of, to_vectors, unwrapped
from kinsplit.stores.engines.qdrant.points import to_requests
from kinsplit.stores.filters import Condition, HasId, Not, to_conditions
from kinsplit.stores.payload import ENTRY_KEYS, Payload
from kinsplit.stores.plan import Plan, check_source
from kinsplit.stores.schema import LISTED, check_collection, no_collection
from kinsplit.stores.store import ChunkStore, FoundPoint, is_agreed
from kinsplit.stores.values import DENSE, SPARSE, Embedded, Entry, Query, Schema, SyncReport, Vectors, Where

T = TypeVar("T")
R = TypeVar("R")

#: Points per read of vectors.
_BATCH = 500


class _Local:
    """The client's local mode, which loses points when two threads use it, with the lock of its writers."""

    def __init__(self, client: QdrantClient) -> None:
        self._client, self._calling = client, threading.RLock()
        self.writing = threading.RLock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._calling:
                return method(*args, **kwargs)

        return call

    def end(self) -> None:
        self._client.close()


#: Open folders of this process.
_FOLDERS = Sharing(_Local.end)


class _Leased:
    """A folder's client as one store object uses it; `close` ends that use."""

    def __init__(self, lease: Lease[_Local]) -> None:
        self._lease = lease

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lease.engine, name)

    def close(self) -> None:
        self._lease.release()


class QdrantStore(ChunkStore):
    """A collection of a Qdrant server, or of the client's local mode, which suits up to some 20,000 chunks.

    Syncs of one store object take turns. A server does not lock out other writers: two processes that sync the same
    source at the same time can leave stale chunks, which the next sync removes. The API key is read from the
    environment variable KINSPLIT_QDRANT_API_KEY.

    Like Edge, a server counts deleted chunks in the IDF until it cleans up its segments; local mode does not.

    Args:
        client: Connected client, which is closed with the store.
        name: Name of the server or folder, for errors.
        collection: Own name of the collection; see `open_collection`.
        schema: Schema of the collection.
        writing: Lock of the writers.
        info: What the server tells of the collection.
        options: Options of a server; None for local mode.
    """

    def __init__(
        self,
        client: QdrantClient,
        name: str,
        collection: str,
        schema: Schema,
        writing: AbstractContextManager[object],
        info: models.CollectionInfo | None = None,
        options: QdrantOptions | None = None,
    ) -> None:
        super().__init__(schema)
        self._limits, self._options = CollectionLimits.of(info), options or QdrantOptions()
        self._indexes = self._cache = None
        if info is not None and options is not None:
            place = name.rpartition("/")[0]
            self._indexes = ServerIndexes(place, name, collection, info)
        self._calls = choose_calls(collection, options)
        self._copies = 1 if info is None else info.config.params.replication_factor or 1
        self._sources_at_once = min(self._sources_at_once, self._limits.values)
        self._client, self._name, self._collection = client, name, collection
        self._writing = writing
        # Each replica counts versions by itself, and where the rate is limited, each point that is read counts.
        if options is not None and self._copies == 1 and self._limits.ids == PAGE:
            self._cache = EntryCache()
        self._closed = False

    @classmethod
    def open(cls, place: str, options: QdrantOptions, collection: str, schema: Schema | None = None) -> Self:
        """Connect and open a collection, creating it if it does not exist.

        Args:
            place: "http://..." or "https://..." for a server or cluster, on port 6333 unless the URL has another;
                ":memory:" for a private database in memory; or a folder, which one process at a time can open and whose
                store objects share one client.
            options: Options of a server.
            collection: Name of the collection.
            schema: Schema that the collection must have; a new collection gets it. None opens an existing collection.

        Raises:
            StoreError: An error or one of its subclasses; see `kinsplit.stores.open_store`.
        """
        check_collection(collection)
        client, writing = open_safely(place, options, make=schema is not None)
        own_name, stored, info = open_collection(client, place, options, collection, schema)
        known = options if is_url(place) else None
        return cls(client, f"{place}/{collection}", own_name, stored, writing, info, known)

    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Embedded) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`, on every replica; see `ChunkStore.sync`."""
        with self._writing:
            report = super().sync(source_id, chunks, vectors)
            ids = tuple(chunk.id for chunk in chunks)
            self._sweep([*to_conditions(None, {"source_id": source_id}), *([Not((HasId(ids),))] if ids else [])])
        return report

    def remove(self, ids: Sequence[str]) -> int:
        """Delete chunks by id, on every replica; see `ChunkStore.remove`."""
        with self._writing:
            removed = super().remove(ids)
            self._sweep([HasId(tuple(ids))] if ids else [])
        return removed

    def _sweep(self, conditions: Sequence[Condition]) -> None:
        """Delete what only some replicas have: a read of what all of them have alike doesn't show it."""
        if self._copies > 1 and (wanted := to_filter(conditions)):
            self._delete(wanted)

    def _delete(self, wanted: models.Filter) -> None:
        selector = models.FilterSelector(filter=wanted)
        self._ask(lambda client: client.delete(self._collection, selector, wait=True), is_write=True)

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source with one filter and return the number of its leaves."""
        check_source(source_id)
        of_source = {"source_id": source_id}
        leaves, everything = (to_filter(to_conditions(level, of_source)) for level in (0, None))
        with self._writing:
            count = self._count(leaves)
            if everything:
                self._delete(everything)
        return count

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        return self._count(to_filter(self._ready(to_conditions(level, where))))

    def _count(self, wanted: models.Filter | None) -> int:
        if not self._limits.exact or self._agrees:
            # An estimate may be anything, and a count is that of one replica.
            return len({record.id for page in self._pages(wanted, False) for record in page})
        return self._ask(lambda client: client.count(self._collection, wanted, exact=True)).count

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        conditions = self._ready(to_conditions(level, where))
        facet = partial(self._facet, to_filter(conditions))
        return count_sources(conditions, lambda found, keys: self._kept(found, places_of(keys)), facet)

    def _facet(self, wanted: models.Filter | None, place: str) -> dict[str, int] | None:
        """Return the number of points by source, or None where the server can't count all of them exactly."""
        limit = self._limits.page
        # Of more sources than the limit, each replica would count others.
        while self._limits.exact and not self._agrees:
            found = self._ask(
                lambda client: client.facet(
                    self._collection,
                    place,
                    wanted,
                    limit=limit,  # noqa: B023 - called at once
                    exact=True,
                    consistency=self._consistency,
                )
            )
            if len(found.hits) < limit:
                # A source whose points were all deleted stays in the index with a count of 0.
                return {str(hit.value): hit.count for hit in found.hits if hit.count}
            if self._limits.page < PAGE:
                break
            limit *= 10
        return None

    @contextmanager
    def first_load(self) -> Iterator[None]:
        """Postpone the server's HNSW graph while an empty collection is filled; see `ChunkStore.first_load`."""
        with self._engine() as client:
            postponed = self._indexes is not None and postpone_graph(client, self._collection)
        try:
            yield
        finally:
            if postponed:
                with self._engine() as client:
                    build_graph(client, self._collection)

    def close(self) -> None:
        """Release the collection. A second call does nothing."""
        with self._writing:
            if not self._closed:
                with self._engine() as client:
                    client.close()
                self._closed = True

    @contextmanager
    def _engine(self) -> Iterator[QdrantClient]:
        if self._closed:
            raise StoreError(f"{self._name} was closed. Open the store again.")
        with qdrant_errors(self._name):
            yield self._client

    def _call(
        self,
        items: Iterable[T],
        size: int,
        send: Callable[[QdrantClient, list[T]], R],
        *,
        is_write: bool = False,
    ) -> list[R]:
        """Send items in batches, as the collection's limits allow; see `in_turn`."""
        with self._engine() as client:
            return [*in_turn(self._name, items, size, partial(send, client), is_write=is_write)]

    def _ask(self, ask: Callable[[QdrantClient], R], *, is_write: bool = False) -> R:
        """Send one request; see `in_turn`."""
        with self._engine() as client:
            return once(self._name, partial(ask, client), is_write=is_write)

    @property
    def _agrees(self) -> bool:
        """Whether reads must show what all replicas have alike."""
        return self._copies > 1 and is_agreed()

    @property
    def _consistency(self) -> models.ReadConsistencyType | None:
        asked = "all" if self._agrees else self._options.read_consistency
        return None if asked is None else models.ReadConsistencyType(asked)

    def _pages(self, wanted: models.Filter | None, payload: Any) -> Iterator[list[models.Record]]:
        """Yield the points that match a filter, page by page, with what is wanted of their payloads."""
        offset = None
        while True:
            request = {"offset": offset, "with_payload": payload, "consistency": self._consistency}
            records, offset = self._ask(
                lambda client: client.scroll(self._collection, wanted, self._limits.page, **request)  # noqa: B023
            )
            yield records
            if self._agrees and records[1:]:
                # The server takes a page without the points that differ for the last one. This one comes once more.
                offset = records[-1].id
            if offset is None:
                return

    def _exclusively(self) -> AbstractContextManager[object]:
        return self._writing

    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        # Points whose payloads differ elsewhere would look alike by some keys.
        return self._kept(conditions, shown(None if self._agrees else keys))

    def _kept(self, conditions: Sequence[Condition], payload: Any) -> dict[str, Payload]:
        """Return what is wanted of the payloads of the points that meet conditions, by id."""
        pages = self._pages(to_filter(self._ready(conditions)), payload)
        return {str(record.id): unwrapped(record.payload) for page in pages for record in page}

    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        return {str(record.id): to_vectors(record.vector) for record in self._records(ids, False)}

    def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        records = self._records(ids, shown(None))
        return {str(record.id): (unwrapped(record.payload), to_vectors(record.vector)) for record in records}

    def _records(self, ids: Sequence[str], payload: Any) -> list[models.Record]:
        """Return the points of some ids, with their vectors."""
        found = self._call(
            ids,
            min(self._limits.ids, _BATCH),
            lambda client, some: client.retrieve(
                self._collection,
                some,
                with_payload=payload,
                with_vectors=[*DENSE, *SPARSE],
                consistency=self._consistency,
            ),
        )
        return [record for records in found for record in records]

    def _ready(self, conditions: Sequence[Condition], level: int | None = None) -> Sequence[Condition]:
        """Return conditions that the server can answer, on the level of the last one unless it is given."""
        if self._indexes is None:
            return conditions
        with self._engine() as client:
            return self._indexes.ready(client, conditions, level_of(conditions) if level is None else level)

    def _write(self, plan: Plan, vectors: Embedded) -> None:
        if self._indexes is not None:
            with self._engine() as client:
                self._indexes.written(client, (payload for _, payload in (*plan.upserts, *plan.payloads)))
        for writes in to_requests(plan, vectors, self._limits.operations, self._options.request_mb):
            self._call(writes, len(writes), self._calls.write, is_write=True)

    def _entries(self, queries: Sequence[Query]) -> list[list[tuple[Entry, float]]]:
        if self._cache is None:
            return super()._entries(queries)
        rankings = self._rank(queries, ())
        named = (own for query, own in zip(queries, rankings, strict=True) if not query.bare)
        versions = {point.id: point.version for own in named for point in own}
        entries = self._cache.read(versions, lambda ids: self._fetch(ids, ENTRY_KEYS))
        return [
            [(Entry.bare(point.id), point.score) for point in own]
            if query.bare
            else [(entries[point.id], point.score) for point in own if point.id in entries]
            for query, own in zip(queries, rankings, strict=True)
        ]

    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        found = self._call(
            [to_search(query, keys, self._ready) for query in queries],
            self._limits.searches,
            lambda client, some: self._calls.rank(client, some, self._consistency),
        )
        return [ranking for rankings in found for ranking in rankings]

    def _fetch(self, ids: Sequence[str], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        found = self._call(
            ids, self._limits.ids, lambda client, some: self._calls.read(client, some, keys, self._consistency)
        )
        return {id_: payload for payloads in found for id_, payload in payloads.items()}


class QdrantCatalog(Catalog):
    """The collections of a Qdrant server, whose names are aliases (see `collection`), or of the client's local mode."""

    def __init__(self, place: str, options: QdrantOptions) -> None:
        super().__init__(place)
        self._location = place
        self._client, self._writing = open_safely(place, options)
        self._options = options if is_url(place) else None

    def identity(self, name: str) -> str:
        """Return the own name of the collection that has a name; see `Catalog.identity`."""
        with self._reading():
            names = self._names()
            if name not in names:
                raise no_collection(self._place, name, names, LISTED)
            return names[name]

    def close(self) -> None:
        """Release the connection. A second call does nothing."""
        self._client.close()

    def _reading(self) -> AbstractContextManager[object]:
        return qdrant_errors(self._location)

    def _names(self) -> Mapping[str, str]:
        return names_of(self._client)

    def _stored(self, key: str) -> object:
        return stored_schema(self._client.get_collection(key))

    def _measure(self, name: str, key: str, schema: Schema | None) -> tuple[int | None, int | None, int | None]:
        size = None
        if not is_url(self._location) and self._location != ":memory:":
            files = (Path(self._location).expanduser() / "collection" / key).rglob("*")
            size = sum(path.stat().st_size for path in files if path.is_file())
        if schema is None:
            return None, None, size
        info = self._client.get_collection(key)
        if is_url(self._location) and not is_finished(info):
            rule = "was not finished when it was made"
            remedy = "Index into it again, which finishes it, or drop it."
            raise StoreError(f"{self._place}/{name} {rule}. {remedy}")
        store = QdrantStore(self._client, f"{self._place}/{name}", key, schema, self._writing, info, self._options)
        return len(store.sources(0)), store.count(0), size

    def _drop(self, name: str, key: str) -> None:  # noqa: ARG002
        # With its aliases.
        self._client.delete_collection(key)

    def _rename(self, name: str, key: str, new: str) -> None:  # noqa: ARG002
        self._check_aliases(name)
        moved = models.RenameAlias(old_alias_name=name, new_alias_name=new)
        self._client.update_collection_aliases([models.RenameAliasOperation(rename_alias=moved)])

    def _switch(self, keys: dict[str, str]) -> None:
        self._check_aliases(*keys)
        # In one request.
        self._client.update_collection_aliases(list(map(alias, keys, reversed(keys.values()))))

    def _check_aliases(self, *names: str) -> None:
        """Check that names are aliases, which alone can be moved."""
        aliases = aliases_of(self._client)
        for name in names:
            if name not in aliases:
                raise StoreError(
                    f"{self._place}/{name} was created under its own name, and Qdrant renames aliases alone. Copy it "
                    "to a new collection with `kinsplit copy --as NAME`, and drop it."
                )


def open_safely(
    place: str, options: QdrantOptions, *, make: bool = False
) -> tuple[QdrantClient, AbstractContextManager[object]]:
    """Return a client of a location that several threads may use, and the lock of its writers.

    A folder that does not exist is made only to write into it; otherwise the client has nothing.
    """
    if is_url(place):
        return open_client(place, options), threading.RLock()
    if place == ":memory:" or not (make or Path(place).expanduser().exists()):
        place = ":memory:"
        local = _Local(open_client(place, options))
        return cast("QdrantClient", local), local.writing
    # The mark is the lock file of the client.
    lease = _FOLDERS.lease(place, Path(place).expanduser() / ".lock", lambda: _Local(open_client(place, options)))
    return cast("QdrantClient", _Leased(lease)), lease.engine.writing
