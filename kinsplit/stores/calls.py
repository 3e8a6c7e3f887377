"""Store calls for coroutines that `kinsplit.support.aio` runs on a blocking or an asynchronous store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kinsplit.chunk import Chunk, Content
from kinsplit.stores.async_protocol import AsyncChunkStore
from kinsplit.stores.protocol import ChunkStore, Entry, Hit, Query, SyncReport, Vectors, Where
from kinsplit.support.aio import Call

_Store = ChunkStore | AsyncChunkStore


async def rank(queries: Sequence[Query]) -> list[list[Entry]]:
    """See `ChunkStore.rank`; makes no call if there are no queries."""
    call: Call[_Store, list[list[Entry]]] = Call(lambda store: store.rank(queries))
    return await call if queries else []


async def get(ids: Sequence[str]) -> list[Chunk]:
    """See `ChunkStore.get`; makes no call if there are no ids."""
    call: Call[_Store, list[Chunk]] = Call(lambda store: store.get(ids))
    return await call if ids else []


def search(queries: Sequence[Query]) -> Call[_Store, list[list[Hit]]]:
    """See `ChunkStore.search`."""
    return Call(lambda store: store.search(queries))


def find(where: Where, level: int | None) -> Call[_Store, list[Chunk]]:
    """See `ChunkStore.find`."""
    return Call(lambda store: store.find(where, level))


def vectors(ids: Sequence[str]) -> Call[_Store, dict[str, Vectors]]:
    """See `ChunkStore.vectors`."""
    return Call(lambda store: store.vectors(ids))


async def get_with_vectors(ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
    """See `ChunkStore.get_with_vectors`; makes no call if there are no ids."""
    call: Call[_Store, list[tuple[Chunk, Vectors]]] = Call(lambda store: store.get_with_vectors(ids))
    return await call if ids else []


def count(level: int | None, where: Where | None) -> Call[_Store, int]:
    """See `ChunkStore.count`."""
    return Call(lambda store: store.count(level, where))


def sources() -> Call[_Store, dict[str, int]]:
    """See `ChunkStore.sources`."""
    return Call(lambda store: store.sources())


def put(chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> Call[_Store, SyncReport]:
    """See `ChunkStore.put`."""
    return Call(lambda store: store.put(chunks, vectors))


def remove(ids: Sequence[str]) -> Call[_Store, int]:
    """See `ChunkStore.remove`."""
    return Call(lambda store: store.remove(ids))


def delete(source_id: str) -> Call[_Store, int]:
    """See `ChunkStore.delete`."""
    return Call(lambda store: store.delete(source_id))
