"""Caches of what searches read again and again from a shard, valid until it is written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Generic, TypeVar

from kinsplit.stores.engines.arrays import PointArrays
from kinsplit.stores.payload import Payload, Payloads
from kinsplit.stores.values import Entry, Vectors

K = TypeVar("K")
T = TypeVar("T")


class PointCache(Generic[K, T]):
    """Cache of what is made from points' payloads, each kept until its point is written. Thread-safe.

    Args:
        make: Function that makes a value from an id and a payload.
        most: Largest number of values to keep; the oldest are dropped first.
    """

    def __init__(self, make: Callable[[str, Payload], T], most: int) -> None:
        self._make, self._most = make, most
        self._kept: dict[K, T] = {}
        self._writes = 0
        self._lock = threading.Lock()

    def read(self, wanted: Mapping[K, object], fetch: Callable[[list[str]], Payloads]) -> dict[K, T]:
        """Return values by key, making those that are not cached; some may be missing.

        Args:
            wanted: Ids by key.
            fetch: Function that returns payloads by id.
        """
        with self._lock:
            writes, kept = self._writes, self._kept
            found = {key: kept[key] for key in wanted if key in kept}
        if len(found) < len(wanted):
            missing = {str(id_): key for key, id_ in wanted.items() if key not in found}
            fetched = {missing[id_]: self._make(id_, payload) for id_, payload in fetch(list(missing)).items()}
            found.update(fetched)
            with self._lock:
                # A point written in the meantime may have been read before the write.
                if writes == self._writes:
                    kept.update(fetched)
                    for key in list(islice(kept, max(0, len(kept) - self._most))):
                        del kept[key]
        return found

    def forget(self, keys: Iterable[K]) -> None:
        """Drop points from the cache after they were written."""
        with self._lock:
            self._writes += 1
            for key in keys:
                self._kept.pop(key, None)


#: Largest number of points of which there is a copy, which takes 5 to 10 kB for each.
_MOST_COPIED = 10_000
# Number of points that take as long to copy as one call takes longer without a copy.
_PER_CALL = 50


class ArrayCopy:
    """Copy of a small collection's points as arrays. Thread-safe.

    It is made once enough calls were made since the last write that making it after the first would have paid off, so
    that neither a single search nor searches between many writes wait for it.
    """

    def __init__(self) -> None:
        self._calls, self._writes = 0, 0
        self._points: int | None = None
        #: The arrays; None as long as there are none.
        self.made: PointArrays | None = None
        self._making, self._lock = threading.Lock(), threading.Lock()

    def find(self, size: Callable[[], int], read: Callable[[], Iterator[tuple[Entry, Vectors]]]) -> PointArrays | None:
        """Return the arrays for one call, or None if the engine should answer it.

        Args:
            size: Function that counts the points.
            read: Function that yields all points.
        """
        if self.made is None and self._making.acquire(blocking=False):
            try:
                self._find(size, read)
            finally:
                self._making.release()
        return self.made

    def _find(self, size: Callable[[], int], read: Callable[[], Iterator[tuple[Entry, Vectors]]]) -> None:
        writes = self._writes
        self._calls += 1
        if self._points is None:
            self._points = size()
        if self._points > min(_MOST_COPIED, _PER_CALL * self._calls):
            return
        made = PointArrays(read())
        with self._lock:
            # A point written in the meantime may have been read before the write.
            if writes == self._writes:
                self.made = made

    def forget(self) -> None:
        """Drop the arrays after a write."""
        with self._lock:
            self._writes += 1
            self._calls, self._points, self.made = 0, None, None
