"""Store in Qdrant Edge, Qdrant's embedded engine, with one folder per collection, and its catalog."""

from __future__ import annotations

import re
import shutil
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import cast
from uuid import UUID

import qdrant_edge as qe

from kinsplit.chunk import STATE, Chunk
from kinsplit.errors import StoreError
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.engines.edge import folder
from kinsplit.stores.engines.edge.engine import ALL, EdgeEngine, read
from kinsplit.stores.engines.edge.ledger import LedgerMark, count_recorded, digest, encode_payload, sketch
from kinsplit.stores.engines.edge.points import to_filter, to_request
from kinsplit.stores.engines.open_engines import Sharing
from kinsplit.stores.engines.qdrant.payload import INDEXES, count_sources, kept_at, places_of, unwrapped
from kinsplit.stores.filters import Condition, to_conditions
from kinsplit.stores.payload import ENTRY_KEYS, Payload, Payloads, state_of
from kinsplit.stores.plan import Plan, check_source
from kinsplit.stores.schema import check_collection, check_schema
from kinsplit.stores.store import ChunkStore, FoundPoint
from kinsplit.stores.values import Damage, Embedded, Entry, Query, RankedEntries, Schema, Vectors, Where

#: Open shards of this process.
_SHARDS = Sharing(EdgeEngine.close, leave=EdgeEngine.settle)


class EdgeStore(ChunkStore):
    """A collection in the folder `place/collection`, which one process at a time can open.

    All store objects and threads of the process share one engine per folder, which the last store object closes. A
    forked process can't use it.

    Writes survive a crash of the process immediately. A power failure can lose the writes since the last flush; the
    next sync repeats them. `close` flushes, and so does a write 5 seconds after the last flush, later if flushes are
    slow.

    Free space is checked before a write: 16 MB plus three times the size of the write must be available. A collection
    gets payload indexes when it has 1,000 chunks, and from then on also for each key that is filtered by.

    Acknowledged writes are recorded in a ledger, with which `kinsplit.stores.maintenance` compares the collection.

    Dense vectors are compared by copies of four bits per dimension, and the best ones exactly. From 20 MB of them on,
    13,000 of 384 dimensions, a write or `close` also moves points into read-only segments.

    Up to 10,000 points, which are chunks, parents and documents, are ranked by a copy in memory (about 3 kB each). More
    are copied if the leaves' dense vectors and 1 kB for each point take at most 300 MB, and the engine ranks only
    parents by meaning, and more than 10,000 leaves. A copy is made, that of more points in the background, once there
    were enough searches since the last write. A filter by other keys than ids and sources needs the engine.

    Opening a collection between 100 MB and half of the available memory also reads it into the system's cache, in the
    background and on Linux only.

    The arguments and errors are those of `open_store`.
    """

    def __init__(self, place: str, collection: str, schema: Schema | None = None) -> None:
        check_collection(collection)
        path = Path(place).expanduser() / collection
        self._lease = _SHARDS.lease(str(path), path / folder.SCHEMA_FILE, lambda: EdgeEngine(path, schema))
        stored = self._lease.engine.schema
        try:
            check_schema(path, stored, schema)
        except BaseException:
            self._lease.release()
            raise
        super().__init__(stored)

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        copies = self._lease.engine.arrays.made
        if copies and level is not None and not where:
            return copies[level].count(level)
        conditions = to_conditions(level, where)
        self._lease.engine.prepare(conditions)
        with self._engine() as shard:
            return shard.count(qe.CountRequest(filter=to_filter(conditions)))

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        conditions = to_conditions(level, where)
        self._lease.engine.prepare(conditions)
        wanted = to_filter(conditions)
        return count_sources(conditions, self._payloads, lambda path: self._facet(path, wanted))

    def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Find the documents that are stored as they are; see `ChunkStore.stored`."""
        unchanged = self._unchanged(origins)
        rest = {source_id: origin for source_id, origin in origins.items() if source_id not in unchanged}
        return {**unchanged, **super().stored(rest)}

    def _unchanged(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Return the number of leaves of documents that the ledger proves to be stored, without reading their chunks.

        A power failure may have taken writes from the engine that the ledger has, or the other way round, so the engine
        must have the state, which is written last, and the same number of points.
        """
        for source_id in origins:
            check_source(source_id)
        inventories = self._lease.engine.inventories(origins)
        if not inventories:
            return {}
        states = self._lease.engine.payloads([each.holder for each in inventories], places_of([STATE]))
        # Counted one by one, since a facet looks at every source of the collection.
        return {
            each.source_id: each.leaves
            for each in inventories
            if states.get(each.holder, {}).get(STATE) == state_of(origins[each.source_id], each.contents)
            and self.count(None, {"source_id": each.source_id}) == each.points
        }

    def _facet(self, key: str, wanted: qe.Filter | None = None) -> dict[str, int]:
        with self._engine() as shard:
            response = shard.facet(qe.FacetRequest(key, limit=ALL, exact=True, filter=wanted))
        # A source whose points were all deleted stays in the index with a count of 0.
        return {str(hit.value): hit.count for hit in response.hits if hit.count}

    def close(self) -> None:
        """Write to disk and unlock the folder unless other store objects use it. A second call does nothing."""
        self._lease.release()

    def damage(self) -> list[Damage]:
        """Return the differences between stored and acknowledged chunks, and the keys whose filters miss chunks."""
        found: list[Damage] = []
        with self._exclusively():
            sources, is_whole = self._lease.engine.acknowledged()
            with self._engine() as shard:
                indexed = {place: Counter[str]() for place in INDEXES if place in shard.info().payload_schema}
            for source_id in sorted({*sources, *self.sources()}):
                marks = sources.get(source_id, {})
                payloads = self._payloads(to_conditions(None, {"source_id": source_id}))
                found += self._compared(source_id, marks, payloads, is_whole=is_whole)
                for place, counts in indexed.items():
                    counts.update(value for payload in payloads.values() for value in _values(kept_at(place, payload)))
            found += (Damage("", 0, 0, "filter", key) for key, counts in indexed.items() if self._facet(key) != counts)
        return found

    def _compared(
        self, source_id: str, marks: Mapping[str, LedgerMark], payloads: Payloads, *, is_whole: bool
    ) -> Iterator[Damage]:
        vectors = self._vectors([id_ for id_ in marks if id_ in payloads])
        for id_, mark in marks.items():
            place = (source_id, mark.level, mark.number)
            if id_ not in payloads:
                yield Damage(*place, "lost")
            elif digest(encode_payload(payloads[id_])) != mark.payload:
                yield Damage(*place, "payload")
            elif id_ not in vectors or not mark.resembles(sketch(vectors[id_])):
                yield Damage(*place, "vectors")
        for id_, payload in payloads.items() if is_whole else ():
            if id_ not in marks:
                yield Damage(source_id, payload["level"], payload["chunk_index"], "unknown")

    def _engine(self) -> AbstractContextManager[qe.EdgeShard]:
        return self._lease.engine.calling()

    def _exclusively(self) -> AbstractContextManager[object]:
        return self._lease.engine.writing

    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        wanted, shown = to_filter(conditions), True if keys is None else places_of(keys)
        request = qe.ScrollRequest(limit=ALL, filter=wanted, with_payload=shown, with_vector=False)
        self._lease.engine.prepare(conditions)
        with self._engine() as shard:
            records, _ = shard.scroll(request)
        return {str(record.id): unwrapped(record.payload) for record in records}

    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        return self._lease.engine.vectors(ids)

    def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        return self._lease.engine.points(ids)

    def _write(self, plan: Plan, vectors: Embedded) -> None:
        self._lease.engine.write(plan, vectors)

    def _entries(self, queries: Sequence[Query]) -> list[RankedEntries]:
        found, _ = self._ranked(queries, whole=False)
        return found

    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:  # noqa: ARG002
        found, payloads = self._ranked(queries, whole=True)
        return [[FoundPoint(e.id, payloads[e.id], score) for e, score in own if e.id in payloads] for own in found]

    def _ranked(self, queries: Sequence[Query], *, whole: bool) -> tuple[list[RankedEntries], Payloads]:
        """Return what queries find, from the copy or the engine, and the payloads by id if they are wanted."""
        engine = self._lease.engine
        copies = engine.find_arrays()
        found = [copies[query.level].rank(query) if copies else None for query in queries]
        rest = [query for query, own in zip(queries, found, strict=True) if own is None]
        engine.prepare([each for query in rest for each in to_conditions(None, query.where)])
        with engine.calling() as shard:
            asked = iter(_ranked_by(engine, shard, rest, whole=whole) if rest else ())
            rankings = [next(asked) if own is None else own for own in found]
            ids = list({entry.id for own in rankings for entry, _ in own}) if whole else []
            return rankings, read(shard, True, ids) if ids else {}

    def _chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        return self._lease.engine.chunks.read(dict(zip(ids, ids, strict=True)), self._fetch)

    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        return self._lease.engine.payloads(ids)


def _ranked_by(
    engine: EdgeEngine, shard: qe.EdgeShard, queries: Sequence[Query], *, whole: bool
) -> list[RankedEntries]:
    """Return what the engine finds; entries of bare queries are whole if their payloads are wanted."""
    answers = shard.query_batch(qe.QueryBatchRequest(list(map(to_request, queries))))
    rankings = [cast("list[tuple[UUID, float]]", [(each.id, each.score) for each in own]) for own in answers]
    placed = (own for query, own in zip(queries, rankings, strict=True) if whole or not query.bare)
    wanted = {id_.int: id_ for ranking in placed for id_, _ in ranking}
    entries = engine.entries.read(wanted, lambda ids: read(shard, places_of(ENTRY_KEYS), ids))
    # Points may have been deleted in between.
    return [
        [(Entry.bare(str(id_)), score) for id_, score in own]
        if query.bare and not whole
        else [(entries[id_.int], score) for id_, score in own if id_.int in entries]
        for query, own in zip(queries, rankings, strict=True)
    ]


def _values(value: object) -> set[str]:
    """Return the index entries of a payload's value: one, or one per member of a list."""
    return {str(one) for one in (value if isinstance(value, list) else [value]) if one is not None}


#: A folder that `EdgeCatalog.drop` has moved out of the way.
_DROPPED = re.compile(r"\.\w[\w.-]*\.[0-9a-f]{32}\.dropped")


class EdgeCatalog(Catalog):
    """The collections in a folder, whose subfolders bear their names; also those that are open elsewhere."""

    def __init__(self, place: str) -> None:
        self._folder = Path(place).expanduser()
        super().__init__(self._folder)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            folder.settle_names(self._folder)
            yield
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror}. Choose a folder that you may write.") from error

    @contextmanager
    def _naming(self) -> Iterator[None]:
        with self._reading(), folder.naming(self._folder) if self._folder.is_dir() else nullcontext():
            yield

    def _names(self) -> Mapping[str, Path]:
        return {name: self._folder / name for name in folder.collections_in(self._folder)}

    def _stored(self, key: Path) -> object:
        return folder.stored_schema(key)

    def _measure(self, name: str, key: Path, schema: Schema | None) -> tuple[int | None, int | None, int]:  # noqa: ARG002
        counts = count_recorded(key / folder.LEDGER_FILE)
        if counts is None:  # The ledger does not know all chunks.
            with suppress(StoreError), EdgeStore(str(self._folder), name) as store:
                counts = len(store.sources(0)), store.count(0)
        return *(counts or (None, None)), folder.size_on_disk(key)

    def _identity(self, key: Path) -> str:
        found = (key / folder.SCHEMA_FILE).stat()
        return f"{found.st_ino}-{found.st_mtime_ns}"

    def _drop(self, name: str, key: Path) -> None:
        if strangers := folder.strangers_in(key):
            rest = f" and {len(strangers) - 1:,} more" if strangers[1:] else ""
            rule = f"{key} also holds {strangers[0]!r}{rest}, which kinsplit didn't make"
            raise StoreError(f"{rule}. Move that out of the folder first.")
        with folder.held(key):
            # Gone in one step; the files may take a while.
            key.rename(self._folder / f".{name}.{uuid.uuid4().hex}.dropped")
        # Also those whose deletion was interrupted.
        for path in self._folder.iterdir():
            if _DROPPED.fullmatch(path.name) and path.is_dir() and not folder.strangers_in(path):
                shutil.rmtree(path, ignore_errors=True)

    def _rename(self, name: str, key: Path, new: str) -> None:  # noqa: ARG002
        if (self._folder / new).exists():
            raise StoreError(f"{self._folder / new} holds something else. Choose another name.")
        with folder.held(key):
            key.rename(self._folder / new)

    def _switch(self, keys: dict[str, Path]) -> None:
        one, other = keys.items()
        with folder.held(one[1]), folder.held(other[1]):
            folder.exchange(self._folder, one[0], other[0])
