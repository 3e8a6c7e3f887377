"""Protocol of asynchronous chunk stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from kinsplit.chunk import Chunk, Content
from kinsplit.stores.protocol import DocumentComparison, Entry, Hit, Query, Schema, SyncReport, Vectors, Where


class AsyncChunkStore(Protocol):
    """`ChunkStore` for the tasks of one event loop, which it never blocks.

    A task that is cancelled during a sync leaves old or new chunks, and the next sync completes the work.
    """

    @property
    def schema(self) -> Schema:
        """Schema of the collection."""
        ...

    async def known(self, source_id: str) -> dict[str, Content]:
        """Return the content of every stored chunk of a source; see `ChunkStore.known`."""
        ...

    async def missing(self, source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks to embed before `sync`; see `ChunkStore.missing`."""
        ...

    async def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Find the documents that are stored as they are; see `ChunkStore.stored`."""
        ...

    async def compare(self, documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
        """Compare documents with the stored ones; see `ChunkStore.compare`."""
        ...

    async def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`; see `ChunkStore.sync`."""
        ...

    async def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Add or replace chunks by id; see `ChunkStore.put`."""
        ...

    async def remove(self, ids: Sequence[str]) -> int:
        """Delete chunks by id and return their number; see `ChunkStore.remove`."""
        ...

    async def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """Run all queries in one call to the engine; see `ChunkStore.search`."""
        ...

    async def rank(self, queries: Sequence[Query]) -> list[list[Entry]]:
        """Run all queries without fetching texts; see `ChunkStore.rank`."""
        ...

    async def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that match a filter; see `ChunkStore.find`."""
        ...

    async def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `ChunkStore.get`."""
        ...

    async def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of chunks by id; see `ChunkStore.vectors`."""
        ...

    async def get_with_vectors(self, ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors by id; see `ChunkStore.get_with_vectors`."""
        vectors = await self.vectors(ids)
        return [(chunk, vectors[chunk.id]) for chunk in await self.get(ids) if chunk.id in vectors]

    async def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """Return every chunk of a source with its vectors; see `ChunkStore.export`."""
        ...

    async def delete(self, source_id: str) -> int:
        """Delete all chunks of a source and return the number of its leaves."""
        ...

    async def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        ...

    async def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        ...

    async def close(self) -> None:
        """Write everything to disk and release the collection. A second call does nothing."""
        ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
