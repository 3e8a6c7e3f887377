"""Engines in a separate process, for programs whose other threads must not be blocked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from kinsplit.chunk import Content
from kinsplit.errors import StoreError, WorkerError
from kinsplit.stores.address import ENGINES, open_store
from kinsplit.stores.engine import EngineStore
from kinsplit.stores.filters import Condition
from kinsplit.stores.logic import FoundPoint
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan
from kinsplit.stores.protocol import ChunkStore, Damage, Query, Schema, Vectors, Where
from kinsplit.support.workers import WorkerPool

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Bytes, in effect unlimited: an engine holds its collection in memory, and results have any size.
_NO_LIMIT = 2**50


def open_detached(address: str, collection: str, schema: Schema | None = None, *, time_limit: float) -> ChunkStore:
    """Open a collection as `open_store` does, with an engine that holds the GIL in a separate process.

    Qdrant Edge does not release the GIL while it searches, which blocks every other thread of its process, including
    one that runs an event loop.

    Args:
        address: Address of the store.
        collection: Name of the collection.
        schema: Schema that the collection must have; a new collection gets it. None opens an existing collection.
        time_limit: Time limit of a call in seconds. A process that exceeds it is killed, and restarted for the next
            call; no acknowledged write is lost.

    Raises:
        KinsplitError: See `open_store`.
    """
    engine = ENGINES.get(address.partition(":")[0])
    if engine is None or not engine.holds_lock:
        return open_store(address, collection, schema)
    return DetachedStore(_Opening(address, collection, schema), time_limit)


class _Opening(NamedTuple):
    """The arguments of `open_store`."""

    address: str
    collection: str
    schema: Schema | None


class DetachedStore(EngineStore):
    """A collection whose engine runs in a separate process, one call at a time.

    Args:
        opening: Arguments of `open_store`.
        time_limit: Time limit of a call in seconds; see `open_detached`.

    Raises:
        KinsplitError: See `open_store`.
    """

    def __init__(self, opening: _Opening, time_limit: float) -> None:
        self._opening = opening
        self._pool = WorkerPool(
            1,
            time_limit=time_limit,
            memory_limit=_NO_LIMIT,
            result_limit=_NO_LIMIT,
            prepare=partial(_opened, opening),
        )
        self._writing, self._has_written = threading.RLock(), False
        try:
            super().__init__(self._run(_schema, opening))
        except BaseException:
            self._pool.close()
            raise

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        return self._call(EngineStore.count, level, where)

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        return self._call(EngineStore.sources, level, where)

    def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Find the documents that are stored as they are; see `ChunkStore.stored`."""
        return self._call(EngineStore.stored, origins)

    def damage(self) -> list[Damage]:
        """Return the differences between stored and acknowledged chunks; see `ChunkStore.damage`."""
        return self._call(EngineStore.damage)

    def close(self) -> None:
        """Write everything to disk and end the engine's process. A second call does nothing."""
        with self._writing:
            try:
                if self._has_written and not self._pool.is_closed:
                    self._call(EngineStore.close)
            finally:
                self._pool.close()

    def _exclusively(self) -> AbstractContextManager[object]:
        return self._writing

    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        return self._call(EngineStore._payloads, conditions, keys)

    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        return self._call(EngineStore._fetch, ids)

    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        return self._call(EngineStore._vectors, ids)

    def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        return self._call(EngineStore._points, ids)

    def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        self._has_written = True
        self._call(EngineStore._write, plan, vectors)

    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        return self._call(EngineStore._rank, queries, keys)

    def _call(self, method: Callable[Concatenate[EngineStore, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        result: _T = self._run(_ask, self._opening, method.__name__, args, kwargs)
        return result

    def _run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if self._pool.is_closed:
            raise StoreError(f"The collection {self._opening.collection} was closed. Open the store again.")
        try:
            return self._pool.call(function, *args, **kwargs)
        except WorkerError as error:
            raise StoreError(f"The engine of the collection {self._opening.collection} {error}.") from error


# The functions below run in the engine's process.


@cache
def _opened(opening: _Opening) -> ChunkStore:
    return open_store(*opening)


def _schema(opening: _Opening) -> Schema:
    return _opened(opening).schema


def _ask(opening: _Opening, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    return getattr(_opened(opening), method)(*args, **kwargs)
