"""How retrieval asks a store: as a generator, which a store drives, in this thread or from an event loop.

What happens between two calls is written once; only the two drivers at the end know how a call is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from kinsplit.chunk import Chunk
from kinsplit.stores.protocol import ChunkStore, Entry, Query, Where

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rank:
    """A call of `ChunkStore.rank`, answered by one list of entries per query."""

    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Get:
    """A call of `ChunkStore.get`, answered by chunks."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Find:
    """A call of `ChunkStore.find`, answered by chunks."""

    where: Where
    level: int | None


Call = Rank | Get | Find
Steps = Generator[Call, Any, T]


class AsyncReader(Protocol):
    """What a search awaits of a store."""

    async def rank(self, queries: Sequence[Query]) -> list[list[Entry]]:
        """See `ChunkStore.rank`."""
        ...

    async def get(self, ids: Sequence[str]) -> list[Chunk]:
        """See `ChunkStore.get`."""
        ...

    async def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """See `ChunkStore.find`."""
        ...


def rank(queries: Sequence[Query]) -> Steps[list[list[Entry]]]:
    """Ask all queries in one call to the store, and none without queries."""
    return (yield Rank(tuple(queries))) if queries else []


def get(ids: Sequence[str]) -> Steps[list[Chunk]]:
    """Fetch chunks in one call to the store, and in none without ids."""
    return (yield Get(tuple(ids))) if ids else []


def find(where: Where, level: int | None) -> Steps[list[Chunk]]:
    """Fetch all chunks that a filter lets through, of one level or of all, in one call to the store."""
    chunks: list[Chunk] = yield Find(where, level)
    return chunks


def run(steps: Steps[T], store: ChunkStore) -> T:
    """Take the steps in this thread and return what they return."""
    call, result = _advance(steps, None)
    while call is not None:
        call, result = _advance(steps, _answer(call, store))
    return result  # type: ignore[return-value]  # Set once there is no further call.


async def run_async(steps: Steps[T], store: AsyncReader) -> T:
    """Take the steps with calls that are awaited; the work between two calls goes to a thread."""
    call, result = await asyncio.to_thread(_advance, steps, None)
    while call is not None:
        call, result = await asyncio.to_thread(_advance, steps, await _answer(call, store))
    return result  # type: ignore[return-value]


def _answer(call: Call, store: Any) -> Any:
    """Make a call, which an asynchronous store answers by what can be awaited."""
    if isinstance(call, Rank):
        return store.rank(call.queries)
    return store.get(call.ids) if isinstance(call, Get) else store.find(call.where, call.level)


def _advance(steps: Steps[T], answer: object) -> tuple[Call | None, T | None]:
    """Return the next call, or the result once there is none."""
    try:
        return steps.send(answer), None
    except StopIteration as stop:  # Caught here, since it can't leave a thread or a coroutine.
        return None, stop.value
