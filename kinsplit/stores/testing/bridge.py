"""Adapter of an asynchronous store to the blocking protocol, so that one contract covers both."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

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

T = TypeVar("T")


class Loop:
    """An event loop in a separate thread, which runs coroutines for other threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


@contextmanager
def running_loop() -> Iterator[Loop]:
    """Run an event loop until the block ends."""
    with asyncio.Runner() as runner:
        stopped = asyncio.Event()
        loop = runner.get_loop()
        thread = threading.Thread(target=runner.run, args=(_wait(stopped),))
        thread.start()
        try:
            yield Loop(loop)
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join()


async def _wait(stopped: asyncio.Event) -> None:
    await stopped.wait()


class Bridge(ChunkStore):
    """`ChunkStore` on top of an asynchronous store.

    Args:
        loop: Event loop of the asynchronous store.
        store: The asynchronous store.
    """

    def __init__(self, loop: Loop, store: AsyncChunkStore) -> None:
        self._run, self._store = loop.run, store

    @property
    def schema(self) -> Schema:
        """Schema of the collection."""
        return self._store.schema

    def known(self, source_id: str) -> dict[str, Content]:
        """See `ChunkStore.known`."""
        return self._run(self._store.known(source_id))

    def missing(self, source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """See `ChunkStore.missing`."""
        return self._run(self._store.missing(source_id, chunks))

    def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """See `ChunkStore.stored`."""
        return self._run(self._store.stored(origins))

    def compare(self, documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
        """See `ChunkStore.compare`."""
        return self._run(self._store.compare(documents))

    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """See `ChunkStore.sync`."""
        return self._run(self._store.sync(source_id, chunks, vectors))

    def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """See `ChunkStore.put`."""
        return self._run(self._store.put(chunks, vectors))

    def remove(self, ids: Sequence[str]) -> int:
        """See `ChunkStore.remove`."""
        return self._run(self._store.remove(ids))

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """See `ChunkStore.search`."""
        return self._run(self._store.search(queries))

    def rank(self, queries: Sequence[Query]) -> list[list[Entry]]:
        """See `ChunkStore.rank`."""
        return self._run(self._store.rank(queries))

    def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """See `ChunkStore.find`."""
        return self._run(self._store.find(where, level))

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """See `ChunkStore.get`."""
        return self._run(self._store.get(ids))

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """See `ChunkStore.vectors`."""
        return self._run(self._store.vectors(ids))

    def get_with_vectors(self, ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
        """See `ChunkStore.get_with_vectors`."""
        return self._run(self._store.get_with_vectors(ids))

    def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """See `ChunkStore.export`."""
        return self._run(self._store.export(source_id))

    def delete(self, source_id: str) -> int:
        """See `ChunkStore.delete`."""
        return self._run(self._store.delete(source_id))

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """See `ChunkStore.count`."""
        return self._run(self._store.count(level, where))

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """See `ChunkStore.sources`."""
        return self._run(self._store.sources(level, where))

    def close(self) -> None:
        """See `ChunkStore.close`."""
        self._run(self._store.close())
