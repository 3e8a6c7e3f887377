"""A collection that does not exist until something is written into it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Self

from kinsplit.chunk import Chunk, Content
from kinsplit.errors import CollectionNotFoundError, StoreError
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import LAYOUT, Schema, SyncReport, Vectors


@ChunkStore.register
class NewCollection:
    """A `ChunkStore` whose first write makes the collection; until then, reads find nothing. Thread-safe.

    A collection that somebody else makes meanwhile is found by the next call.

    Args:
        name: Name of the collection, for errors.
        opener: Function that opens the collection, and makes it if it is given a schema.
        schema: Schema of the collection.
    """

    def __init__(self, name: str, opener: Callable[[Schema | None], ChunkStore], schema: Schema) -> None:
        #: Schema of the collection.
        self.schema = schema
        self._name, self._open = name, opener
        self._lock = threading.RLock()
        self._store: ChunkStore | None = None
        self._load: ExitStack | None = None
        self._closed = False

    def found(self) -> ChunkStore | None:
        """Return the store of the collection, or None while there is none, with the errors of `open_store`."""
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._name} was closed. Open the store again.")
            if self._store is None:
                try:
                    store = self._open(None)
                except CollectionNotFoundError:
                    return None
                if store.schema != self.schema:
                    # The engine reports the difference.
                    store.close()
                    store = self._open(self.schema)
                self._store = store
            return self._store

    def make(self) -> None:
        """Make the collection if there is none; see `ChunkStore.make`."""
        with self._lock:
            if self.found() is None:
                self._store = self._open(self.schema)
                self._store.make()
                if self._load is not None:
                    self._load.enter_context(self._store.first_load())

    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`; see `ChunkStore.sync`."""
        return self._written(lambda store: store.sync(source_id, chunks, vectors))

    def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Add chunks of any sources, or replace those that have their ids; see `ChunkStore.put`."""
        return self._written(lambda store: store.put(chunks, vectors))

    @contextmanager
    def first_load(self) -> Iterator[None]:
        """Fill the collection fast once it is made; see `ChunkStore.first_load`."""
        with ExitStack() as load:
            if (store := self.found()) is not None:
                load.enter_context(store.first_load())
            self._load = load
            try:
                yield
            finally:
                self._load = None

    def close(self) -> None:
        """Release the collection. A second call does nothing."""
        with self._lock:
            self._closed = True
            if self._store is not None:
                self._store.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._current(), name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _current(self) -> ChunkStore:
        return self.found() or self._nothing()

    def _nothing(self) -> ChunkStore:
        from kinsplit.stores.engines.memory import MemoryStore  # imports this module's importer

        return MemoryStore("", "nothing", replace(self.schema, version=LAYOUT))

    def _written(self, write: Callable[[ChunkStore], SyncReport]) -> SyncReport:
        if self.found() is None:
            # Whatever is refused, or nothing at all, makes no collection.
            report = write(trial := self._nothing())
            if not trial.count():
                return report
            self.make()
        return write(self._current())


def settled(store: ChunkStore) -> ChunkStore:
    """Return a store, or that of a new collection if it exists meanwhile."""
    return (store.found() or store) if isinstance(store, NewCollection) else store
