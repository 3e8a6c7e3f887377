"""Chunks in Qdrant Edge: the Qdrant engine inside the process, one folder per collection."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from kinsplit.chunk import Chunk
from kinsplit.errors import KinsplitError, StoreError
from kinsplit.stores.edge_folder import open_folder
from kinsplit.stores.edge_point import to_point, to_vectors
from kinsplit.stores.edge_query import to_filter, to_request
from kinsplit.stores.layout import DENSE, SPARSE
from kinsplit.stores.payload import Payload, from_payload
from kinsplit.stores.plan import Plan, plan_sync
from kinsplit.stores.protocol import ChunkStore, Hit, Query, Schema, SyncReport, Vectors, Where, check_ids

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

T = TypeVar("T")

#: Points per write or read of vectors.
_BATCH = 500
#: More than a shard holds: a scroll or a facet is to return everything at once.
_ALL = 2**31


class EdgeStore(ChunkStore):
    """A collection in the folder `place/collection`. One process opens it at a time, and its threads share it.

    Args:
        place: Folder of the collections.
        collection: Name of the collection.
        schema: What the collection must have been made with; None opens an existing one as it is.

    Raises:
        StoreError: And its kinds, as `kinsplit.stores.open_store` tells.
    """

    def __init__(self, place: str, collection: str, schema: Schema | None = None) -> None:
        self._folder, self._schema, self._shard = open_folder(place, collection, schema)
        self._closed = False
        self._writing = threading.RLock()

    @property
    def schema(self) -> Schema:
        """What the collection was made with."""
        return self._schema

    def known(self, source_id: str) -> dict[str, str]:
        """Return the content hash of every stored chunk of a source by chunk id."""
        payloads = self._payloads(source_id, ["content_hash"])
        return {id_: payload["content_hash"] for id_, payload in payloads.items()}

    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[str, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`; see `ChunkStore.sync`."""
        with self._writing:
            plan = plan_sync(source_id, chunks, self._payloads(source_id, True), vectors, self._schema.dimension)
            # Read before anything is written: the point that lends its vectors may itself get another content.
            moved = self._stored_vectors(plan.donors)
            self._write(plan, {**moved, **vectors})
        return plan.report

    def search(self, queries: Sequence[Query], *, level: int | None = 0, where: Where | None = None) -> list[list[Hit]]:
        """Ask all queries in one call; see `ChunkStore.search`. Exact up to 200 MB of dense vectors."""
        import qdrant_edge as qe

        requests = [to_request(query, self._schema.dimension, level, where) for query in queries]
        with self._engine() as shard:
            rankings = shard.query_batch(qe.QueryBatchRequest(requests))
        return [
            [Hit(from_payload(str(point.id), point.payload or {}), point.score) for point in ranking]
            for ranking in rankings
        ]

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids, without those that are not stored."""
        check_ids(ids)
        with self._engine() as shard:
            records = shard.retrieve(list(ids), True, False)
        found = {id_: from_payload(id_, record.payload or {}) for record in records for id_ in [str(record.id)]}
        return [found[id_] for id_ in ids if id_ in found]

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source and return their number."""
        return self.sync(source_id, [], {}).deleted

    def count(self, level: int | None = None) -> int:
        """Count the chunks of a level, or all."""
        import qdrant_edge as qe

        with self._engine() as shard:
            return shard.count(qe.CountRequest(filter=to_filter(level, None)))

    def sources(self) -> dict[str, int]:
        """Return the number of chunks of every source."""
        import qdrant_edge as qe

        with self._engine() as shard:
            response = shard.facet(qe.FacetRequest("source_id", limit=_ALL, exact=True))
        # A source whose points are all deleted stays in the index with a count of 0.
        return dict(sorted((str(hit.value), hit.count) for hit in response.hits if hit.count))

    def close(self) -> None:
        """Write everything to disk and unlock the folder. A second call does nothing."""
        with self._writing:
            if not self._closed:
                with self._engine() as shard:
                    shard.flush()
                    shard.close()
                self._closed = True

    @contextmanager
    def _engine(self) -> Iterator[EdgeShard]:
        if self._closed:
            raise StoreError(f"{self._folder} was closed. Open the store again.")
        try:
            yield self._shard
        except KinsplitError:
            raise
        except Exception as error:  # The engine raises nothing more special.
            raise StoreError(f"{self._folder}: {error}") from error

    def _payloads(self, source_id: str, keys: list[str] | bool) -> dict[str, Payload]:
        """Return the payloads of a source's points by id: all of each, or some keys."""
        import qdrant_edge as qe

        request = qe.ScrollRequest(
            limit=_ALL, filter=to_filter(None, {"source_id": source_id}), with_payload=keys, with_vector=False
        )
        with self._engine() as shard:
            records, _ = shard.scroll(request)
        return {str(record.id): record.payload or {} for record in records}

    def _stored_vectors(self, donors: Mapping[str, str]) -> dict[str, Vectors]:
        """Return the vectors of stored points by content hash."""
        vectors: dict[str, Vectors] = {}
        hashes = {id_: hash_ for hash_, id_ in donors.items()}
        for batch in _batches(list(hashes)):
            with self._engine() as shard:
                records = shard.retrieve(list(batch), False, [DENSE, *SPARSE])
            vectors.update((hashes[str(record.id)], to_vectors(record)) for record in records)
        return vectors

    def _write(self, plan: Plan, vectors: Mapping[str, Vectors]) -> None:
        import qdrant_edge as qe

        if not (plan.upserts or plan.payloads or plan.deletes):
            return
        with self._engine() as shard:
            for batch in _batches(plan.upserts):
                points = [to_point(id_, payload, vectors[payload["content_hash"]]) for id_, payload in batch]
                shard.update(qe.UpdateOperation.upsert_points(points))
            for id_, payload in plan.payloads:
                shard.update(qe.UpdateOperation.overwrite_payload([id_], payload))
            if plan.deletes:
                shard.update(qe.UpdateOperation.delete_points(list(plan.deletes)))
            # The log alone survives the end of the process; this survives the end of the machine's power.
            shard.flush()
            # Nothing to do most of the time; clears away deleted points once they are a fifth of all.
            shard.optimize()


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
