"""Store in Qdrant through its asynchronous client, which waits for a server or cluster without blocking."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Self

from kinsplit.chunk import Content
from kinsplit.errors import StoreError
from kinsplit.stores.async_protocol import AsyncChunkStore
from kinsplit.stores.engines.qdrant.collection import build_graph, open_async_client, open_collection, postpone_graph
from kinsplit.stores.engines.qdrant.options import QdrantOptions, qdrant_errors
from kinsplit.stores.engines.qdrant.payload import level_of, places_of, roots_of, unwrapped
from kinsplit.stores.engines.qdrant.points import (
    own_payload,
    search_params,
    to_filter,
    to_operations,
    to_request,
    to_requests,
    to_vectors,
)
from kinsplit.stores.filters import to_conditions, values_of
from kinsplit.stores.logic import FoundPoint, StoreLogic, batches
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan, check_source
from kinsplit.stores.protocol import Query, Schema, Vectors, Where
from kinsplit.stores.schema import DENSE, SPARSE, check_collection

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

    from kinsplit.stores.filters import Condition

#: Points per read of vectors.
_BATCH = 500
#: Points per read of payloads, and sources requested at first.
_PAGE = 10_000


class AsyncQdrantStore(StoreLogic, AsyncChunkStore):
    """A collection of a Qdrant server, for an event loop; see `kinsplit.stores.engines.qdrant.store.QdrantStore`.

    Args:
        client: Connected client, which is closed with the store.
        name: Name of the server or folder, for errors.
        collection: Own name of the collection; see `open_collection`.
        schema: Schema of the collection.
        writing: Lock of the writers.
        params: Parameters of dense searches.
    """

    def __init__(
        self,
        client: AsyncQdrantClient,
        name: str,
        collection: str,
        schema: Schema,
        writing: AbstractAsyncContextManager[object],
        params: models.SearchParams | None = None,
    ) -> None:
        super().__init__(schema)
        self._client, self._name, self._collection = client, name, collection
        self._writing, self._params = writing, params
        self._closed = False

    @classmethod
    async def open(cls, place: str, options: QdrantOptions, collection: str, schema: Schema | None = None) -> Self:
        """Connect and open a collection, creating it if it does not exist.

        Args:
            place: "http://..." or "https://..." for a server or cluster, or ":memory:".
            options: Options of a server.
            collection: Name of the collection.
            schema: Schema that the collection must have; a new collection gets it. None opens an existing collection.

        Raises:
            MissingExtraError: qdrant-client is not installed.
            StoreError: An error or one of its subclasses; see `kinsplit.stores.open_store`.
        """
        check_collection(collection)
        client = open_async_client(place, options)
        own_name, stored = await open_collection(client, place, options, collection, schema)
        return cls(client, f"{place}/{collection}", own_name, stored, asyncio.Lock(), search_params(place, options))

    async def delete(self, source_id: str) -> int:
        """Delete all chunks of a source with one filter and return the number of its leaves."""
        from qdrant_client import models

        check_source(source_id)
        of_source = {"source_id": source_id}
        leaves, everything = (to_filter(to_conditions(level, of_source)) for level in (0, None))
        async with self._writing:
            with self._engine() as client:
                count = (await client.count(self._collection, count_filter=leaves, exact=True)).count
                if everything:
                    await client.delete(self._collection, models.FilterSelector(filter=everything), wait=True)
        return count

    async def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        with self._engine() as client:
            wanted = to_filter(to_conditions(level, where))
            return (await client.count(self._collection, count_filter=wanted, exact=True)).count

    async def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        conditions = to_conditions(level, where)
        if values_of(conditions, "source_id") is not None:
            # A facet would compare every name with every source.
            named = (await self._payloads(conditions, ("source_id",))).values()
            return dict(sorted(Counter(payload["source_id"] for payload in named).items()))
        wanted, found = to_filter(conditions), Counter[str]()
        for place in (".".join([*map(str, root), "source_id"]) for root in roots_of(level_of(conditions))):
            found.update(await self._facet(place, wanted))
        return dict(sorted(found.items()))

    async def _facet(self, place: str, wanted: models.Filter | None) -> dict[str, int]:
        limit = _PAGE
        while True:
            with self._engine() as client:
                found = await client.facet(self._collection, place, wanted, limit=limit, exact=True)
            if len(found.hits) < limit:
                # A source whose points were all deleted stays in the index with a count of 0.
                return {str(hit.value): hit.count for hit in found.hits if hit.count}
            limit *= 10

    async def postpone_graph(self) -> bool:
        """Postpone the HNSW graph of an empty collection; see `kinsplit.stores.engines.qdrant.collection`."""
        with self._engine() as client:
            return await postpone_graph(client, self._collection)

    async def build_graph(self) -> None:
        """Make the server build the HNSW graph that was postponed."""
        with self._engine() as client:
            await build_graph(client, self._collection)

    async def close(self) -> None:
        """Release the collection. A second call does nothing."""
        async with self._writing:
            if not self._closed:
                with self._engine() as client:
                    await client.close()
                self._closed = True

    @contextmanager
    def _engine(self) -> Iterator[AsyncQdrantClient]:
        if self._closed:
            raise StoreError(f"{self._name} was closed. Open the store again.")
        with qdrant_errors(self._name):
            yield self._client

    def _exclusively(self) -> AbstractAsyncContextManager[object]:
        return self._writing

    async def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        payloads: dict[str, Payload] = {}
        wanted = to_filter(conditions)
        offset = None
        while True:
            with self._engine() as client:
                records, offset = await client.scroll(
                    self._collection,
                    scroll_filter=wanted,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=own_payload() if keys is None else places_of(keys),
                )
            payloads.update((str(record.id), unwrapped(record.payload)) for record in records)
            if offset is None:
                return payloads

    async def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        return {str(record.id): to_vectors(record) for record in await self._records(ids, False)}

    async def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        records = await self._records(ids, own_payload())
        return {str(record.id): (unwrapped(record.payload), to_vectors(record)) for record in records}

    async def _records(self, ids: Sequence[str], payload: Any) -> list[models.Record]:
        found: list[models.Record] = []
        for batch in batches(ids, _BATCH):
            with self._engine() as client:
                found += await client.retrieve(
                    self._collection, list(batch), with_payload=payload, with_vectors=[*DENSE, *SPARSE]
                )
        return found

    async def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        for operations in to_requests(to_operations(plan, vectors)):
            with self._engine() as client:
                await client.batch_update_points(self._collection, operations, wait=True)

    async def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        requests = [to_request(query, keys, self._params) for query in queries]
        with self._engine() as client:
            responses = await client.query_batch_points(self._collection, requests)
        return [
            [FoundPoint(str(point.id), unwrapped(point.payload), point.score) for point in response.points]
            for response in responses
        ]

    async def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        found: dict[str, Payload] = {}
        for batch in batches(ids, _PAGE):
            with self._engine() as client:
                records = await client.retrieve(
                    self._collection, list(batch), with_payload=own_payload(), with_vectors=False
                )
            found.update((str(record.id), unwrapped(record.payload)) for record in records)
        return found
