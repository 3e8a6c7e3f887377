"""Asynchronous view of a blocking store, which runs its calls in threads."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Mapping, Sequence

from kinsplit.chunk import Chunk, Content
from kinsplit.stores.async_protocol import AsyncChunkStore
from kinsplit.stores.protocol import (
    ChunkStore,
    DocumentComparison,
    Entry,
    Hit,
    Query,
    Schema,
    SyncReport,
    Vectors,
    Where,
)


class ThreadedStore(AsyncChunkStore):
    """An asynchronous store that runs every call in one of the event loop's threads.

    The call of a cancelled task runs to completion.

    Args:
        store: The store, which is closed with this view.
    """

    def __init__(self, store: ChunkStore) -> None:
        self._store = store

    @property
    def schema(self) -> Schema:
        """Schema of the collection."""
        return self._store.schema

    async def known(self, source_id: str) -> dict[str, Content]:
        """Return the content of every stored chunk of a source; see `ChunkStore.known`."""
        return await to_thread(self._store.known, source_id)

    async def missing(self, source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks to embed before `sync`; see `ChunkStore.missing`."""
        return await to_thread(self._store.missing, source_id, chunks)

    async def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Find the documents that are stored as they are; see `ChunkStore.stored`."""
        return await to_thread(self._store.stored, origins)

    async def compare(self, documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
        """Compare documents with the stored ones; see `ChunkStore.compare`."""
        return await to_thread(self._store.compare, documents)

    async def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`; see `ChunkStore.sync`."""
        return await to_thread(self._store.sync, source_id, chunks, vectors)

    async def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Add or replace chunks by id; see `ChunkStore.put`."""
        return await to_thread(self._store.put, chunks, vectors)

    async def remove(self, ids: Sequence[str]) -> int:
        """Delete chunks by id and return their number; see `ChunkStore.remove`."""
        return await to_thread(self._store.remove, ids)

    async def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """Run all queries in one call to the engine; see `ChunkStore.search`."""
        return await to_thread(self._store.search, queries)

    async def rank(self, queries: Sequence[Query]) -> list[list[Entry]]:
        """Run all queries without fetching texts; see `ChunkStore.rank`."""
        return await to_thread(self._store.rank, queries)

    async def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that match a filter; see `ChunkStore.find`."""
        return await to_thread(self._store.find, where, level)

    async def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `ChunkStore.get`."""
        return await to_thread(self._store.get, ids)

    async def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of chunks by id; see `ChunkStore.vectors`."""
        return await to_thread(self._store.vectors, ids)

    async def get_with_vectors(self, ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors by id; see `ChunkStore.get_with_vectors`."""
        return await to_thread(self._store.get_with_vectors, ids)

    async def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """Return every chunk of a source with its vectors; see `ChunkStore.export`."""
        return await to_thread(self._store.export, source_id)

    async def delete(self, source_id: str) -> int:
        """Delete all chunks of a source and return the number of its leaves."""
        return await to_thread(self._store.delete, source_id)

    async def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        return await to_thread(self._store.count, level, where)

    async def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        return await to_thread(self._store.sources, level, where)

    async def close(self) -> None:
        """Close the store. A second call does nothing."""
        await to_thread(self._store.close)
