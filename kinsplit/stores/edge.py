"""Chunks in Qdrant Edge: the Qdrant engine inside the process, one folder per collection."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from kinsplit.chunk import Content
from kinsplit.errors import KinsplitError, StoreError
from kinsplit.stores.conditions import Condition, to_conditions
from kinsplit.stores.edge_folder import open_folder
from kinsplit.stores.edge_places import Places
from kinsplit.stores.edge_point import to_point, to_vectors
from kinsplit.stores.edge_query import to_filter, to_request
from kinsplit.stores.engine import EngineStore
from kinsplit.stores.layout import DENSE, SPARSE
from kinsplit.stores.logic import Found, batches
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan, content_of
from kinsplit.stores.protocol import Query, Schema, Vectors, Where

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

#: Points per write or read of vectors.
_BATCH = 500
#: Seconds from one flush to the next, as in Qdrant's server. The log alone survives the end of the process; a flush
#: survives the end of the machine's power, and can wait for the disk ten times as long as the writes take.
_SETTLE_SECONDS = 5.0
#: Where a flush takes long, so many times its own duration pass until the next, so that writing doesn't wait for disks.
_SETTLE_SHARE = 50
#: More than a shard holds: a scroll or a facet is to return everything at once.
_ALL = 2**31


class EdgeStore(EngineStore):
    """A collection in the folder `place/collection`. One process opens it at a time, and its threads share it.

    What was written survives the end of the process at once. The end of the machine's power can cost what was written
    since the last flush, which comes with a write 5 seconds after the one before, later where flushes take long, and
    with `close`; the next sync writes it again.

    Up to a gigabyte of dense vectors, 650,000 of 384 dimensions, is compared exactly. Where there is more, a write or
    `close` also builds an index, which takes the processor about a millisecond per chunk.

    Args:
        place: Folder of the collections.
        collection: Name of the collection.
        schema: What the collection must have been made with; None opens an existing one as it is.

    Raises:
        StoreError: And its kinds, as `kinsplit.stores.open_store` tells.
    """

    def __init__(self, place: str, collection: str, schema: Schema | None = None) -> None:
        self._folder, stored, self._shard = open_folder(place, collection, schema)
        super().__init__(stored)
        self._closed = False
        self._places = Places()
        self._settled = True
        self._settle_at = time.monotonic() + _SETTLE_SECONDS
        self._writing = threading.RLock()
        # Calls inside the engine, which can't be closed under them.
        self._inside = 0
        self._left = threading.Condition()

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or all, that a filter lets through; see `ChunkStore.count`."""
        import qdrant_edge as qe

        with self._engine() as shard:
            return shard.count(qe.CountRequest(filter=to_filter(to_conditions(level, where))))

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of chunks of every source that a filter lets through; see `ChunkStore.sources`."""
        import qdrant_edge as qe

        with self._engine() as shard:
            wanted = to_filter(to_conditions(level, where))
            response = shard.facet(qe.FacetRequest("source_id", limit=_ALL, exact=True, filter=wanted))
        # A source whose points are all deleted stays in the index with a count of 0.
        return dict(sorted((str(hit.value), hit.count) for hit in response.hits if hit.count))

    def close(self) -> None:
        """Write everything to disk and unlock the folder, once other threads' calls are done. A second does nothing."""
        with self._writing:
            with self._left:
                if self._closed:
                    return
                self._closed = True
                self._left.wait_for(lambda: not self._inside)
            with self._errors():
                try:
                    if not self._settled:
                        self._settle(self._shard)
                finally:
                    self._shard.close()

    def _settle(self, shard: EdgeShard) -> None:
        begun = time.monotonic()
        # Nothing to do most of the time; clears away deleted points once they are a fifth of all.
        shard.optimize()
        # Also deletes the segments that were replaced.
        shard.flush()
        self._settled = True
        now = time.monotonic()
        self._settle_at = now + max(_SETTLE_SECONDS, _SETTLE_SHARE * (now - begun))

    @contextmanager
    def _engine(self) -> Iterator[EdgeShard]:
        with self._left:
            if self._closed:
                raise StoreError(f"{self._folder} was closed. Open the store again.")
            self._inside += 1
        try:
            with self._errors():
                yield self._shard
        finally:
            with self._left:
                self._inside -= 1
                self._left.notify_all()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except KinsplitError:
            raise
        except Exception as error:  # The engine raises nothing more special.
            raise StoreError(f"{self._folder}: {error}") from error

    def _exclusively(self) -> AbstractContextManager[object]:
        return self._writing

    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        import qdrant_edge as qe

        request = qe.ScrollRequest(
            limit=_ALL,
            filter=to_filter(conditions),
            with_payload=True if keys is None else list(keys),
            with_vector=False,
        )
        with self._engine() as shard:
            records, _ = shard.scroll(request)
        return {str(record.id): record.payload or {} for record in records}

    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        vectors: dict[str, Vectors] = {}
        for batch in batches(ids, _BATCH):
            with self._engine() as shard:
                records = shard.retrieve(list(batch), False, [*DENSE, *SPARSE])
            vectors.update((str(record.id), to_vectors(record)) for record in records)
        return vectors

    def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        import qdrant_edge as qe

        with self._engine() as shard:
            try:
                for batch in batches(plan.upserts, _BATCH):
                    points = [to_point(id_, payload, vectors[content_of(payload)]) for id_, payload in batch]
                    shard.update(qe.UpdateOperation.upsert_points(points))
                for id_, payload in plan.payloads:
                    shard.update(qe.UpdateOperation.overwrite_payload([id_], payload))
                if plan.deletes:
                    shard.update(qe.UpdateOperation.delete_points(list(plan.deletes)))
            finally:
                self._places.forget(plan.ids)
            self._settled = False
            if time.monotonic() >= self._settle_at:
                self._settle(shard)

    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[Found]]:
        import qdrant_edge as qe

        request = qe.QueryBatchRequest([to_request(query, whole=keys is None) for query in queries])
        with self._engine() as shard:
            rankings = shard.query_batch(request)
            if keys is None:
                return [[Found(str(point.id), point.payload or {}, point.score) for point in r] for r in rankings]
            found = [[(str(point.id), point.score) for point in ranking] for ranking in rankings]
            ids = (id_ for ranking in found for id_, _ in ranking)
            places = self._places.read(ids, lambda ids: _read(shard, list(keys), ids))
        # Without those that were deleted in between.
        return [[Found(id_, places[id_], score) for id_, score in ranking if id_ in places] for ranking in found]

    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        with self._engine() as shard:
            return _read(shard, True, ids)


def _read(shard: EdgeShard, keys: bool | list[str], ids: Sequence[str]) -> dict[str, Payload]:
    return {str(record.id): record.payload or {} for record in shard.retrieve(list(ids), keys, False)}
