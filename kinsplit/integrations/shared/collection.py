"""A collection as both frameworks' vector stores use it: opened when it is needed, asked from a thread or a loop."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import CollectionNotFoundError
from kinsplit.integrations.shared.records import Item, stored_id, to_chunk
from kinsplit.stores import ChunkStore, Schema, Vectors, open_store
from kinsplit.stores.protocol import Where

T = TypeVar("T")

#: What is asked of a store, as a generator: it yields calls, each of which takes the store, a `ChunkStore` or an
#: asynchronous one, and is sent their answers. So what happens between the calls is written once.
Work = Generator[Callable[[Any], Any], Any, T]


class Collection:
    """A chunk store that is opened at first use.

    Args:
        store: Its address, or the store itself.
        name: Name of the collection at that address.
        model: Name of the embedding model, kept in the schema of a new collection.
        language: Language of the terms of a new collection; see `kinsplit.embedding.sparse.Bm25Embedder`.
        async_store: What coroutines ask; without it they ask `store` in threads.
    """

    def __init__(
        self, store: str | ChunkStore, name: str, model: str, language: str | None, async_store: object | None = None
    ) -> None:
        self._address = store if isinstance(store, str) else None
        self._store = None if isinstance(store, str) else store
        self._name, self._model, self._language = name, model, language
        self._async_store = async_store
        self._lock = threading.Lock()

    def open(self) -> ChunkStore | None:
        """Return the store, which is opened unless it is open; None as long as there is no collection."""
        return self._opened(None)

    @property
    def bm25(self) -> Bm25Embedder:
        """The embedder that the collection's terms were weighed by."""
        if self._store is None:
            return Bm25Embedder(self._language)
        return Bm25Embedder.of(self._store.schema.sparse)

    def run(self, work: Work[T], otherwise: T, dimension: int | None = None) -> T:
        """Do some work in this thread.

        Args:
            work: The work.
            otherwise: What to return where there is no collection yet.
            dimension: Of the vectors to make a collection for, instead.
        """
        store = self._opened(dimension)
        if store is None:
            return otherwise
        call, result = _advance(work, None)
        while call is not None:
            call, result = _advance(work, call(store))
        return result  # type: ignore[return-value]  # Set once there is no further call.

    async def run_async(self, work: Work[T], otherwise: T, dimension: int | None = None) -> T:
        """Do some work without keeping the event loop; see `run`."""
        store = await asyncio.to_thread(self._opened, dimension)
        if store is None:
            return otherwise
        call, result = await asyncio.to_thread(_advance, work, None)
        while call is not None:
            if self._async_store is None:
                answer = await asyncio.to_thread(call, store)
            else:
                answer = await call(self._async_store)
            call, result = await asyncio.to_thread(_advance, work, answer)
        return result  # type: ignore[return-value]

    def close(self) -> None:
        """Close the store, if it was opened here."""
        with self._lock:
            if self._address is not None and self._store is not None:
                self._store.close()
                self._store = None

    def _opened(self, dimension: int | None) -> ChunkStore | None:
        with self._lock:
            if self._store is None and self._address is not None:
                try:
                    self._store = open_store(self._address, self._name)
                except CollectionNotFoundError:
                    if dimension is None:
                        return None
                    self._store = open_store(self._address, self._name, self._schema(dimension))
            return self._store

    def _schema(self, dimension: int) -> Schema:
        sparse = Bm25Embedder(self._language).fingerprint
        return Schema(self._model, dimension, sparse, json.dumps({"name": "given", "parameters": {}}), "given")


def put(collection: Collection, items: Sequence[Item], vectors: Sequence[Sequence[float]]) -> Work[None]:
    """Keep items with their vectors; of several with one id, the last one."""
    kept: dict[str, tuple[Chunk, NDArray[np.float32]]] = {}
    for item, vector in zip(items, vectors, strict=True):
        dense = np.asarray(vector, dtype=np.float32)
        chunk = to_chunk(item, dense)
        kept[chunk.id] = chunk, dense
    chunks = [chunk for chunk, _ in kept.values()]
    sparse = collection.bm25.embed([chunk.text for chunk in chunks])
    contents = {
        chunk.content: Vectors(dense, terms) for (chunk, dense), terms in zip(kept.values(), sparse, strict=True)
    }
    yield lambda store: store.put(chunks, contents)


def get(ids: Sequence[str]) -> Work[list[Chunk]]:
    """Fetch chunks by the ids that they were given."""
    chunks: list[Chunk] = yield lambda store: store.get([stored_id(id_) for id_ in dict.fromkeys(ids)])
    return chunks


def find(where: Where, level: int | None = 0, ids: Sequence[str] | None = None) -> Work[list[Chunk]]:
    """Fetch all chunks of a level, or all, that a filter lets through, or those of them that have some ids."""
    chunks: list[Chunk] = yield lambda store: store.find(where, level)
    if ids is None:
        return chunks
    wanted = {stored_id(id_) for id_ in ids}
    return [chunk for chunk in chunks if chunk.id in wanted]


def count(where: Where | None) -> Work[int]:
    """Count the leaves that a filter lets through."""
    number: int = yield lambda store: store.count(0, where)
    return number


def remove(ids: Sequence[str]) -> Work[None]:
    """Delete chunks by the ids that they were given."""
    yield lambda store: store.remove([stored_id(id_) for id_ in dict.fromkeys(ids)])


def clear() -> Work[None]:
    """Delete all chunks."""
    sources = yield lambda store: store.sources()
    for source_id in sources:
        yield lambda store, source_id=source_id: store.delete(source_id)  # type: ignore[misc]


def _advance(work: Work[T], answer: object) -> tuple[Callable[[Any], Any] | None, T | None]:
    """Return the next call, or the result once there is none."""
    try:
        return work.send(answer), None
    except StopIteration as stop:  # Caught here, since it can't leave a thread or a coroutine.
        return None, stop.value
