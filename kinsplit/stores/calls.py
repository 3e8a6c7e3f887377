"""Store calls for coroutines that `kinsplit.support.aio` runs on a blocking or an asynchronous store."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from kinsplit.chunk import Chunk, Content
from kinsplit.stores.async_protocol import AsyncChunkStore
from kinsplit.stores.protocol import ChunkStore, Entry, Hit, Query, SyncReport, Vectors, Where
from kinsplit.support.aio import Call

_Store = ChunkStore | AsyncChunkStore
T = TypeVar("T")


class _Rank(Call[_Store, list[list[Entry]]]):
    """A call of `ChunkStore.rank`, whose queries can be made together with those of others."""

    def __init__(self, queries: Sequence[Query]) -> None:
        super().__init__(lambda store: store.rank(queries))
        self.queries = queries


async def rank(queries: Sequence[Query]) -> list[list[Entry]]:
    """See `ChunkStore.rank`; makes no call if there are no queries."""
    return await _Rank(queries) if queries else []


async def rank_together(steps: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines that await nothing but `rank`, in as many calls as the one that makes most.

    Args:
        steps: The coroutines. An error of a call is raised in each of them that waits for it.

    Returns:
        Their results, in order.
    """
    # Each has its own context variables, such as the current span.
    contexts = [copy_context() for _ in steps]
    resumes: dict[int, Callable[[], _Rank]] = {number: partial(step.send, None) for number, step in enumerate(steps)}
    results: dict[int, T] = {}
    failed: list[BaseException] = []
    try:
        while resumes:
            asked: dict[int, Sequence[Query]] = {}
            for number, resume in resumes.items():
                try:
                    asked[number] = contexts[number].run(resume).queries
                except StopIteration as stop:
                    results[number] = stop.value
                except BaseException as error:
                    failed.append(error)
            if failed:
                raise failed[0]
            try:
                found = iter(await rank([query for queries in asked.values() for query in queries]))
            except BaseException as error:
                resumes = {number: partial(steps[number].throw, error) for number in asked}
            else:
                resumes = {
                    number: partial(steps[number].send, list(islice(found, len(queries))))
                    for number, queries in asked.items()
                }
    finally:
        for step in steps:
            step.close()
    return [results[number] for number in range(len(steps))]


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
