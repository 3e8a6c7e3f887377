"""Caches of what searches read again and again from a shard, valid until it is written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from uuid import UUID

from kinsplit.stores.engines.arrays import PointArrays
from kinsplit.stores.payload import Payloads, to_entry
from kinsplit.stores.values import Entry, Vectors

#: Largest number of cached entries, 1 kB each; the oldest are dropped first.
_MOST = 20_000


class EntryCache:
    """Cache of the entries of ranked points, each kept until its point is written. Thread-safe."""

    def __init__(self) -> None:
        # By the number of an id, which takes less time than its text.
        self._kept: dict[int, Entry] = {}
        self._writes = 0
        self._lock = threading.Lock()

    def read(self, ids: Iterable[UUID], fetch: Callable[[list[str]], Payloads]) -> dict[int, Entry]:
        """Return entries by the numbers of their ids, fetching payloads of those not cached; some may be missing."""
        wanted = {id_.int: id_ for id_ in ids}
        with self._lock:
            writes, kept = self._writes, self._kept
            found = {number: kept[number] for number in wanted if number in kept}
        if len(found) < len(wanted):
            missing = {str(id_): number for number, id_ in wanted.items() if number not in found}
            fetched = {missing[id_]: to_entry(id_, payload) for id_, payload in fetch(list(missing)).items()}
            found.update(fetched)
            with self._lock:
                # A point written in the meantime may have been read before the write.
                if writes == self._writes:
                    kept.update(fetched)
                    for number in list(islice(kept, max(0, len(kept) - _MOST))):
                        del kept[number]
        return found

    def forget(self, ids: Iterable[str]) -> None:
        """Drop points from the cache after they were written."""
        with self._lock:
            self._writes += 1
            for id_ in ids:
                self._kept.pop(UUID(id_).int, None)


#: Largest number of points of which there is a copy, which takes 5 to 10 kB for each.
_MOST_COPIED = 10_000
# Number of points that take as long to copy as one call takes longer without a copy.
_PER_CALL = 50


class ArrayCopy:
    """Copy of a small collection's points as arrays. Thread-safe.

    It is made once enough calls were made since the last write that making it after the first would have paid off, so
    that neither a single search nor searches between many writes wait for it.

    Args:
        size: Function that counts the points.
        read: Function that yields all points.
    """

    def __init__(self, size: Callable[[], int], read: Callable[[], Iterator[tuple[Entry, Vectors]]]) -> None:
        self._size, self._read = size, read
        self._calls, self._writes = 0, 0
        self._points: int | None = None
        #: The arrays; None as long as there are none.
        self.made: PointArrays | None = None
        self._making, self._lock = threading.Lock(), threading.Lock()

    def find(self) -> PointArrays | None:
        """Return the arrays for one call, or None if the engine should answer it."""
        if self.made is None and self._making.acquire(blocking=False):
            try:
                self._find()
            finally:
                self._making.release()
        return self.made

    def _find(self) -> None:
        writes = self._writes
        self._calls += 1
        if self._points is None:
            self._points = self._size()
        if self._points > min(_MOST_COPIED, _PER_CALL * self._calls):
            return
        made = PointArrays(self._read())
        with self._lock:
            # A point written in the meantime may have been read before the write.
            if writes == self._writes:
                self.made = made

    def forget(self) -> None:
        """Drop the arrays after a write."""
        with self._lock:
            self._writes += 1
            self._calls, self._points, self.made = 0, None, None
