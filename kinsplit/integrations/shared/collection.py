"""The collection behind both frameworks' vector stores, opened at first use, for threads and event loops."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kinsplit import embedding
from kinsplit.chunk import Chunk
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError
from kinsplit.integrations.shared.records import Item, stored_id, to_chunk
from kinsplit.retrieval import Reranker, create_reranker
from kinsplit.stores import AsyncChunkStore, ChunkStore, Schema, Vectors, calls, open_store
from kinsplit.stores.protocol import Where
from kinsplit.stores.threaded import ThreadedStore
from kinsplit.support.aio import run, run_async

T = TypeVar("T")

#: Starts a coroutine of store calls (see `kinsplit.stores.calls`).
Work = Callable[[], Coroutine[Any, Any, T]]


class Collection:
    """A chunk store that is opened at first use.

    Args:
        store: Address of the store, or an open store.
        name: Name of the collection at that address.
        model: Name of the embedding model, recorded in the schema of a new collection.
        language: Language of the terms of a new collection; see `kinsplit.embedding.sparse.Bm25Embedder`.
        async_store: Store for coroutines; without it they call `store` in threads.
    """

    def __init__(
        self,
        store: str | ChunkStore,
        name: str,
        model: str,
        language: str | None,
        async_store: AsyncChunkStore | None = None,
    ) -> None:
        self._address = store if isinstance(store, str) else None
        self._store = None if isinstance(store, str) else store
        self._name, self._model, self._language = name, model, language
        self.async_store = async_store
        self._lock = threading.Lock()

    def open(self) -> ChunkStore | None:
        """Return the store, opened on first call; None while the collection doesn't exist."""
        return self._open(None)

    @property
    def bm25(self) -> Bm25Embedder:
        """The embedder of the collection's term weights."""
        if self._store is None:
            return Bm25Embedder(self._language)
        return Bm25Embedder.of(self._store.schema.sparse)

    def run(self, work: Work[T], otherwise: T, dimension: int | None = None) -> T:
        """Run store calls in this thread.

        Args:
            work: Starts the coroutine of store calls.
            otherwise: Result while the collection doesn't exist.
            dimension: Dimension of the vectors with which to create a missing collection.
        """
        store = self._open(dimension)
        return otherwise if store is None else run(work(), store)

    async def run_async(self, work: Work[T], otherwise: T, dimension: int | None = None) -> T:
        """Run store calls without blocking the event loop; see `run`."""
        store = await asyncio.to_thread(self._open, dimension)
        if store is None:
            return otherwise
        return await run_async(work(), self.async_store or ThreadedStore(store))

    def close(self) -> None:
        """Close the store, if it was opened here."""
        with self._lock:
            if self._address is not None and self._store is not None:
                self._store.close()
                self._store = None

    def _open(self, dimension: int | None) -> ChunkStore | None:
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


async def put(collection: Collection, items: Sequence[Item], vectors: Sequence[Sequence[float]]) -> None:
    """Store items with their vectors; if several have one id, the last one wins."""
    pairs: dict[str, tuple[Chunk, NDArray[np.float32]]] = {}
    for item, vector in zip(items, vectors, strict=True):
        dense = np.asarray(vector, dtype=np.float32)
        if dense.shape != (len(vectors[0]),) or not np.isfinite(dense).all():
            rule = "must be finite numbers, as many as in the other embeddings"
            raise InvalidParameterError(f"embedding of {item.id!r}", rule, vector, "Embed it again, or leave it out.")
        chunk = to_chunk(item, dense)
        pairs[chunk.id] = chunk, dense
    chunks = [chunk for chunk, _ in pairs.values()]
    sparse = collection.bm25.embed([chunk.text for chunk in chunks])
    contents = {
        chunk.content: Vectors(dense, terms) for (chunk, dense), terms in zip(pairs.values(), sparse, strict=True)
    }
    await calls.put(chunks, contents)


async def get(ids: Sequence[str]) -> list[Chunk]:
    """Fetch chunks by the ids of their items."""
    return await calls.get([stored_id(id_) for id_ in dict.fromkeys(ids)])


async def find(where: Where, level: int | None = 0, ids: Sequence[str] | None = None) -> list[Chunk]:
    """Fetch the chunks of a level, or of all levels, that match a filter; with ids, only those among them."""
    chunks = await calls.find(where, level)
    if ids is None:
        return chunks
    wanted = {stored_id(id_) for id_ in ids}
    return [chunk for chunk in chunks if chunk.id in wanted]


async def count(where: Where | None) -> int:
    """Count the leaves that match a filter."""
    return await calls.count(0, where)


async def remove(ids: Sequence[str]) -> None:
    """Delete chunks by the ids of their items."""
    await calls.remove([stored_id(id_) for id_ in dict.fromkeys(ids)])


async def clear() -> None:
    """Delete all chunks."""
    for source_id in await calls.sources():
        await calls.delete(source_id)


def refuse_unknown(arguments: Mapping[str, Any]) -> None:
    """Reject the remaining keyword arguments that a framework passes through.

    Raises:
        InvalidParameterError: There is one, such as a misspelt name or an argument of another store.
    """
    for name, value in arguments.items():
        raise InvalidParameterError(name, "is not a known argument", value, "Leave it out.")


def to_reranker(reranker: str | Reranker, embedder: str | Embedder) -> Reranker | None:
    """Return the reranker of this name, or the reranker itself.

    Args:
        reranker: A reranker or its name; see `kinsplit.retrieval.create_reranker`.
        embedder: An embedder or its name, for late interaction.

    Raises:
        InvalidParameterError: The name is unknown.
    """
    if not isinstance(reranker, str):
        return reranker
    return create_reranker(reranker, embedding.create(embedder) if isinstance(embedder, str) else embedder)
