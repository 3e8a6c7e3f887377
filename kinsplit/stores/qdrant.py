"""Chunks in Qdrant through its client: a server, a cluster, a folder, or memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from kinsplit.chunk import Content
from kinsplit.errors import StoreError
from kinsplit.stores.conditions import to_conditions
from kinsplit.stores.engine import EngineStore, Found, batches
from kinsplit.stores.layout import DENSE, SPARSE
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan, check_source
from kinsplit.stores.protocol import Query, Schema, Vectors
from kinsplit.stores.qdrant_collection import open_collection, qdrant_errors
from kinsplit.stores.qdrant_options import QdrantOptions, is_url
from kinsplit.stores.qdrant_points import to_filter, to_operations, to_request, to_vectors

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from kinsplit.stores.conditions import Condition

#: Points per write or read of vectors: a few megabytes of JSON, where a server takes 32.
_BATCH = 500
#: Points per page of a scroll, and sources to ask for at first.
_PAGE = 10_000


class QdrantStore(EngineStore):
    """A collection of a Qdrant server, or of the client's local mode, which suits up to some 20,000 chunks.

    Syncs of one store object take turns. A server keeps no other writer out: two processes that sync the same source at
    the same time can leave stale chunks, which the next sync removes. The API key is read from the environment
    variable KINSPLIT_QDRANT_API_KEY.

    Local mode differs from Edge in filters: there True equals 1, and 1.0 equals 1. A server, like Edge, counts deleted
    chunks in the IDF until it clears its segments; local mode does not.

    Args:
        place: "http://..." or "https://..." for a server or a cluster, at port 6333 unless the URL names another;
            ":memory:", for this object alone; or a folder, which one process opens at a time.
        options: Settings of a server.
        collection: Name of the collection.
        schema: What the collection must have been made with; None opens an existing one as it is.

    Raises:
        MissingExtraError: qdrant-client is not installed.
        StoreError: And its kinds, as `kinsplit.stores.open_store` tells.
    """

    def __init__(self, place: str, options: QdrantOptions, collection: str, schema: Schema | None = None) -> None:
        self._client, stored = open_collection(place, options, collection, schema)
        super().__init__(stored)
        self._collection = collection
        self._name = f"{place}/{collection}"
        self._closed = False
        self._writing = threading.RLock()
        # The client's local mode loses points when two threads use it.
        self._calling: AbstractContextManager[object] = nullcontext() if is_url(place) else threading.RLock()

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source by one filter and return their number."""
        from qdrant_client import models

        check_source(source_id)
        wanted = to_filter(to_conditions(None, {"source_id": source_id}))
        with self._writing, self._engine() as client:
            count = client.count(self._collection, count_filter=wanted, exact=True).count
            if count and wanted:
                client.delete(self._collection, models.FilterSelector(filter=wanted), wait=True)
        return count

    def count(self, level: int | None = None) -> int:
        """Count the chunks of a level, or all."""
        with self._engine() as client:
            wanted = to_filter(to_conditions(level, None))
            return client.count(self._collection, count_filter=wanted, exact=True).count

    def sources(self) -> dict[str, int]:
        """Return the number of chunks of every source."""
        limit = _PAGE
        while True:
            with self._engine() as client:
                hits = client.facet(self._collection, "source_id", limit=limit, exact=True).hits
            if len(hits) < limit:
                break
            limit *= 10
        # A source whose points are all deleted stays in the index with a count of 0.
        return dict(sorted((str(hit.value), hit.count) for hit in hits if hit.count))

    def close(self) -> None:
        """Let go of the collection. A second call does nothing."""
        with self._writing:
            if not self._closed:
                with self._engine() as client:
                    client.close()
                self._closed = True

    @contextmanager
    def _engine(self) -> Iterator[QdrantClient]:
        if self._closed:
            raise StoreError(f"{self._name} was closed. Open the store again.")
        with self._calling, qdrant_errors(self._name):
            yield self._client

    def _exclusively(self) -> AbstractContextManager[object]:
        return self._writing

    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        payloads: dict[str, Payload] = {}
        wanted = to_filter(conditions)
        offset = None
        while True:
            with self._engine() as client:
                records, offset = client.scroll(
                    self._collection,
                    scroll_filter=wanted,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=True if keys is None else list(keys),
                )
            payloads.update((str(record.id), record.payload or {}) for record in records)
            if offset is None:
                return payloads

    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        vectors: dict[str, Vectors] = {}
        for batch in batches(ids, _BATCH):
            with self._engine() as client:
                records = client.retrieve(
                    self._collection, list(batch), with_payload=False, with_vectors=[*DENSE, *SPARSE]
                )
            vectors.update((str(record.id), to_vectors(record)) for record in records)
        return vectors

    def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        for operations in batches(list(to_operations(plan, vectors)), _BATCH):
            with self._engine() as client:
                client.batch_update_points(self._collection, list(operations), wait=True)

    def _rank(self, queries: Sequence[Query]) -> list[list[Found]]:
        requests = [to_request(query) for query in queries]
        with self._engine() as client:
            responses = client.query_batch_points(self._collection, requests)
        return [
            [Found(str(point.id), point.payload or {}, point.score) for point in response.points]
            for response in responses
        ]

    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        with self._engine() as client:
            records = client.retrieve(self._collection, list(ids), with_payload=True, with_vectors=False)
        return {str(record.id): record.payload or {} for record in records}
