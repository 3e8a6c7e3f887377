"""Blocking stores: the shared logic over an engine's own reads and writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any

from kinsplit.chunk import Chunk, Content
from kinsplit.stores.filters import Condition
from kinsplit.stores.logic import FoundPoint, StoreLogic
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan
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
from kinsplit.support.aio import run


class AtOnce:
    """An adapter of a blocking object to an asynchronous interface; its coroutines never suspend.

    Args:
        target: Blocking object with the same methods.
        guard: Context manager that is entered for each call.
    """

    def __init__(self, target: object, guard: AbstractContextManager[object]) -> None:
        self._target, self._guard = target, guard

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._target, name)

        async def call(*arguments: Any, **named: Any) -> Any:
            with self._guard:
                return method(*arguments, **named)

        return call


class Held(AbstractAsyncContextManager[None]):
    """An adapter of a blocking context manager, such as a lock, to an asynchronous one.

    Args:
        manager: The blocking context manager.
    """

    def __init__(self, manager: AbstractContextManager[object]) -> None:
        self._manager = manager

    async def __aenter__(self) -> None:
        self._manager.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._manager.__exit__(kind, error, traceback)


class BlockingStore(ChunkStore):
    """`ChunkStore` on top of logic that never suspends.

    Args:
        logic: Logic of the store.
    """

    def __init__(self, logic: StoreLogic) -> None:
        self._logic = logic

    @property
    def schema(self) -> Schema:
        """Schema of the collection."""
        return self._logic.schema

    def known(self, source_id: str) -> dict[str, Content]:
        """Return the content of every stored chunk of a source; see `ChunkStore.known`."""
        return run(self._logic.known(source_id))

    def missing(self, source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks to embed before `sync`; see `ChunkStore.missing`."""
        return run(self._logic.missing(source_id, chunks))

    def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Find the documents that are stored as they are; see `ChunkStore.stored`."""
        return run(self._logic.stored(origins))

    def compare(self, documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
        """Compare documents with the stored ones; see `ChunkStore.compare`."""
        return run(self._logic.compare(documents))

    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`; see `ChunkStore.sync`."""
        return run(self._logic.sync(source_id, chunks, vectors))

    def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Add or replace chunks by id; see `ChunkStore.put`."""
        return run(self._logic.put(chunks, vectors))

    def remove(self, ids: Sequence[str]) -> int:
        """Delete chunks by id and return their number; see `ChunkStore.remove`."""
        return run(self._logic.remove(ids))

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """Run all queries in one call to the engine; see `ChunkStore.search`."""
        return run(self._logic.search(queries))

    def rank(self, queries: Sequence[Query]) -> list[list[Entry]]:
        """Run all queries without fetching texts; see `ChunkStore.rank`."""
        return run(self._logic.rank(queries))

    def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that match a filter; see `ChunkStore.find`."""
        return run(self._logic.find(where, level))

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `ChunkStore.get`."""
        return run(self._logic.get(ids))

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of chunks by id; see `ChunkStore.vectors`."""
        return run(self._logic.vectors(ids))

    def get_with_vectors(self, ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors by id; see `ChunkStore.get_with_vectors`."""
        return run(self._logic.get_with_vectors(ids))

    def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """Return every chunk of a source with its vectors; see `ChunkStore.export`."""
        return run(self._logic.export(source_id))

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source and return the number of its leaves."""
        return run(self._logic.delete(source_id))


class EngineStore(BlockingStore):
    """`ChunkStore` on top of a few reads and writes that each engine provides.

    Args:
        schema: Schema of the collection.
    """

    def __init__(self, schema: Schema) -> None:
        super().__init__(_Immediate(schema, self))

    @abstractmethod
    def _exclusively(self) -> AbstractContextManager[object]:
        """Return a context manager that excludes other writers."""

    @abstractmethod
    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        """Return payloads, or some of their keys, of the points that meet conditions, by id, in one round trip."""

    @abstractmethod
    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        """Return the payloads of points by id, without those that are not stored, in one round trip."""

    @abstractmethod
    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of points by id, without those that are not stored, in one round trip per 500."""

    @abstractmethod
    def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        """Return the payloads and vectors of points by id, as `_fetch` and `_vectors` do, in one round trip per 500."""

    @abstractmethod
    def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        """Execute a non-empty plan: upserts, payloads, then deletes, with vectors by content."""

    @abstractmethod
    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        """Run validated queries in one round trip, with whole payloads or some of their keys."""


class _Immediate(StoreLogic):
    """Store logic over an engine with blocking calls."""

    def __init__(self, schema: Schema, engine: EngineStore) -> None:
        super().__init__(schema)
        self._engine = engine

    def _exclusively(self) -> AbstractAsyncContextManager[object]:
        return Held(self._engine._exclusively())

    async def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        return self._engine._payloads(conditions, keys)

    async def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        return self._engine._fetch(ids)

    async def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        return self._engine._vectors(ids)

    async def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        return self._engine._points(ids)

    async def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        self._engine._write(plan, vectors)

    async def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        return self._engine._rank(queries, keys)
