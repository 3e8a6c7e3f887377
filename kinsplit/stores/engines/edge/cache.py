"""Caches of what searches read again and again from a shard, valid until it is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, takewhile
from threading import Lock, Thread
from typing import Generic, TypeAlias, TypeVar

from kinsplit.errors import StoreError
from kinsplit.stores.engines.arrays import MOST_COMPARED, PointArrays
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
        self._lock = Lock()

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


#: Largest number of points of which there is a whole copy.
_MOST_COPIED = MOST_COMPARED
#: Largest size of a copy of leaves in bytes, and that of a leaf without its vector.
_MOST_BYTES, _LEAF_BYTES = 300_000_000, 900
# Numbers of points, and of leaves alone, that take as long to copy as one call takes longer without a copy.
_PER_CALL, _LEAVES_PER_CALL = 50, 10
#: Yields the points of a level, or of all.
Reading: TypeAlias = Callable[[int | None], Iterator[tuple[Entry, Vectors]]]


class ArrayCopy:
    """Copy of a collection's points as arrays: of all if they are few, otherwise of the leaves. Thread-safe.

    It is made, that of leaves in the background, once enough calls were made since the last write that making it after
    the first would have paid off, so that neither a single search nor searches between many writes pay for it.

    Args:
        dimension: Length of a dense vector.
    """

    def __init__(self, dimension: int) -> None:
        self._leaf_bytes = 4 * dimension + _LEAF_BYTES
        self._calls, self._writes = 0, 0
        # Number of calls after which points are copied, and their level if they aren't all.
        self._due: tuple[float, int | None] | None = None
        #: The arrays; None as long as there are none.
        self.made: PointArrays | None = None
        self._making, self._lock = Lock(), Lock()

    def find(self, count: Callable[[int | None], int], read: Reading) -> PointArrays | None:
        """Return the arrays for one call, or None if the engine should answer it.

        Args:
            count: Function that counts the points of a level, or of all.
            read: Function that yields them.
        """
        if self.made is None:
            calls, level = self._due = self._due or self._choose(count)
            self._calls += 1
            if calls <= self._calls and self._making.acquire(blocking=False):
                if level is None:
                    self._make(read, level)
                else:  # A daemon, since nothing is lost if the process ends.
                    Thread(target=self._make, args=(read, level), name="kinsplit-copy", daemon=True).start()
        return self.made

    def _choose(self, count: Callable[[int | None], int]) -> tuple[float, int | None]:
        points = count(None)
        if points <= _MOST_COPIED:
            return points / _PER_CALL, None
        leaves = count(0)
        return leaves / _LEAVES_PER_CALL if leaves * self._leaf_bytes <= _MOST_BYTES else math.inf, 0

    def _make(self, read: Reading, level: int | None) -> None:
        writes = self._writes
        try:
            # A point written in the meantime may have been read before the write.
            made = PointArrays(takewhile(lambda _: writes == self._writes, read(level)), level)
            with self._lock:
                if writes == self._writes:
                    self.made = made
        except StoreError:  # The engine was closed, or tells the next search what is wrong.
            pass
        finally:
            self._calls = 0
            self._making.release()

    def forget(self) -> None:
        """Drop the arrays after a write."""
        with self._lock:
            self._writes += 1
            self._calls, self._due, self.made = 0, None, None
