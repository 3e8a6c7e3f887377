"""Engines in a separate process, for programs whose other threads must not be blocked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar, cast

from kinsplit.errors import StoreError, WorkerDiedError, WorkerError
from kinsplit.stores.address import STORES, open_store
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Schema
from kinsplit.support import telemetry
from kinsplit.support.workers import WorkerPool

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Bytes, in effect unlimited: results have any size.
_NO_LIMIT = 2**50
#: Methods after which the engine's process must be closed, not just ended.
_WRITES = frozenset({"make", "sync", "put", "remove", "delete"})


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
    engine, _ = STORES.of_spec(address)
    if not engine.holds_lock:
        return open_store(address, collection, schema)
    return cast("ChunkStore", DetachedStore(_Opening(address, collection, schema), time_limit))


class _Opening(NamedTuple):
    """The arguments of `open_store`."""

    address: str
    collection: str
    schema: Schema | None


class DetachedStore:
    """A `ChunkStore` whose engine runs in a separate process, one call at a time; see `open_detached`."""

    def __init__(self, opening: _Opening, time_limit: float) -> None:
        self._opening = opening
        self._pool = WorkerPool(
            1, time_limit=time_limit, memory_limit=None, result_limit=_NO_LIMIT, prepare=partial(_opened, opening)
        )
        self._closing, self._has_written = threading.Lock(), False
        try:
            #: Schema of the collection.
            self.schema: Schema = self._run(_schema, opening)
        except BaseException:
            self._pool.close()
            raise

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._call, name)

    def first_load(self) -> AbstractContextManager[object]:
        """Return a context manager that does nothing; see `ChunkStore.first_load`."""
        return nullcontext()

    def close(self) -> None:
        """Write everything to disk and end the engine's process. A second call does nothing."""
        with self._closing:
            try:
                if self._has_written and not self._pool.is_closed:
                    self._call("close")
            finally:
                self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        writes = method in _WRITES
        self._has_written = self._has_written or writes
        asked = self._opening, telemetry.carried(), method, args, kwargs
        try:
            return self._run(_ask, *asked)
        except StoreError as error:
            if writes or not isinstance(error.__cause__, WorkerDiedError):
                raise
        # A read that was not the reason succeeds in the next process.
        return self._run(_ask, *asked)

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


def _ask(
    opening: _Opening, trace: Mapping[str, str], method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    with telemetry.continued(trace):
        return getattr(_opened(opening), method)(*args, **kwargs)
