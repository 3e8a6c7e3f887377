"""Open embedded engines: store objects of one folder share an engine, and the last of them closes it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakSet, WeakValueDictionary, finalize

from kinsplit.errors import StoreError

T = TypeVar("T")


class _Shared(Generic[T]):
    """An open engine with its leases. The open file keeps its inode number from being reused."""

    def __init__(self, engine: T, key: tuple[int, int, int], file: int) -> None:
        self.engine, self.key = engine, key
        self.leases: WeakSet[Lease[T]] = WeakSet()
        self._file = finalize(self, os.close, file)
        self._file.atexit = False


class Lease(Generic[T]):
    """One store object's use of an engine."""

    def __init__(self, place: str, shared: _Shared[T], sharing: Sharing[T]) -> None:
        self._place, self._sharing = place, sharing
        self._shared: _Shared[T] | None = shared
        shared.leases.add(self)

    @property
    def engine(self) -> T:
        """The engine, or a StoreError if the lease was released, or taken by the process that was forked."""
        shared = self._shared
        if shared is None:
            raise StoreError(f"{self._place} was closed. Open the store again.")
        if shared.key[0] != os.getpid():
            raise StoreError(
                f"{self._place} was opened by the process that this one was forked from, which alone can use it. "
                "Fork before opening, or close it there and open it here."
            )
        return shared.engine

    def release(self) -> None:
        """Release the engine and close it if it has no other lease. A second call does nothing."""
        self._sharing.release(self)


class Sharing(Generic[T]):
    """Open engines of one kind in this process. Thread-safe.

    `close` closes an engine, and `leave` is called with one when another of its leases is released.
    """

    def __init__(self, close: Callable[[T], None], leave: Callable[[T], None] = lambda _: None) -> None:
        self._close, self._leave = close, leave
        self._open: WeakValueDictionary[tuple[int, int, int], _Shared[T]] = WeakValueDictionary()
        self._lock = threading.RLock()
        self._inherited: list[_Shared[T]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._inherit)

    def _inherit(self) -> None:
        """Keep the parent's engines in a forked child: freeing one waits for threads that a fork doesn't copy."""
        self._lock = threading.RLock()
        self._inherited += self._open.values()

    def lease(self, place: str, mark: Path, make: Callable[[], T]) -> Lease[T]:
        """Return a lease of an engine, opening the engine if this process has not opened it yet.

        Args:
            place: Location, for errors.
            mark: File that exists while the engine is open and identifies its location, under any path.
            make: Function that opens the engine.
        """
        with self._lock:
            try:
                shared = self._open.get(_identity(mark))
            except OSError:
                shared = None
            if shared is None:
                engine = make()
                try:
                    file = os.open(mark, os.O_RDONLY)
                except OSError as error:
                    self._close(engine)
                    raise StoreError(f"{place}: {error.strerror}. Choose a folder that you may read.") from error
                shared = _Shared(engine, _identity(mark), file)
                self._open[shared.key] = shared
            return Lease(place, shared, self)

    def release(self, lease: Lease[T]) -> None:
        """End a lease; see `Lease.release`."""
        shared = lease._shared
        if shared is None or shared.key[0] != os.getpid():
            # The parent process still uses it.
            lease._shared = None
            return
        with self._lock:
            if lease._shared is None:
                return
            lease._shared = None
            shared.leases.discard(lease)
            if shared.leases:
                self._leave(shared.engine)
                return
            self._open.pop(shared.key, None)
            self._close(shared.engine)


def _identity(mark: Path) -> tuple[int, int, int]:
    found = mark.stat()
    return os.getpid(), found.st_dev, found.st_ino
