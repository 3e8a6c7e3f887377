"""Caches of what searches read again and again from a shard, valid until it is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from threading import Lock, Thread
from typing import Generic, TypeAlias, TypeVar

from kinsplit.chunk import DOCUMENT
from kinsplit.errors import StoreError
from kinsplit.stores.engines.arrays import MOST_COMPARED, PointArrays
from kinsplit.stores.payload import Payload, Payloads
from kinsplit.stores.values import LAYERS, Entry, Vectors

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


#: Largest number of points that are copied with all their vectors, and at once.
_MOST_COPIED = MOST_COMPARED
#: Largest size of a copy of more points in bytes, and that of a point without its dense vector.
_MOST_BYTES, _POINT_BYTES = 300_000_000, 1_000
# Numbers of points of a small and of a larger collection that take as long to copy as one call takes longer without.
_PER_CALL, _PER_CALL_OF_MORE = 50, 16
#: All levels.
EVERY = range(DOCUMENT + 1)
#: Yields the points of some levels.
Reading: TypeAlias = Callable[[range], Iterator[tuple[Entry, Vectors]]]


class ArrayCopy:
    """Copy of a collection's points as arrays; of more than a few, without the parents' dense vectors. Thread-safe.

    It is made, that of more points in the background, once enough calls were made since the last write that making it
    after the first would have paid off, so that neither a single search nor searches between many writes pay for it.

    Args:
        dimension: Length of a dense vector.
    """

    def __init__(self, dimension: int) -> None:
        self._vector_bytes = 4 * dimension
        self._calls, self._writes = 0, 0
        # Number of calls after which points are copied, and the levels of each of the arrays.
        self._due: tuple[float, Sequence[range]] | None = None
        #: The arrays by level; empty as long as there are none.
        self.made: Mapping[int, PointArrays] = {}
        self._making, self._lock = Lock(), Lock()

    def find(self, count: Callable[[range], int], read: Reading) -> Mapping[int, PointArrays]:
        """Return the arrays by level for one call; the engine answers queries for other levels.

        Args:
            count: Function that counts the points of some levels.
            read: Function that yields them.
        """
        if not self.made:
            calls, parts = self._due = self._due or self._choose(count)
            self._calls += 1
            if calls <= self._calls and self._making.acquire(blocking=False):
                if len(parts) == 1:
                    self._make(read, parts)
                else:  # A daemon, since nothing is lost if the process ends.
                    Thread(target=self._make, args=(read, parts), name="kinsplit-copy", daemon=True).start()
        return self.made

    def _choose(self, count: Callable[[range], int]) -> tuple[float, Sequence[range]]:
        points = count(EVERY)
        if points <= _MOST_COPIED:
            return points / _PER_CALL, [EVERY]
        leaves, *above = (layer.levels for layer in LAYERS)
        size = points * _POINT_BYTES + count(leaves) * self._vector_bytes
        return points / _PER_CALL_OF_MORE if size <= _MOST_BYTES else math.inf, [leaves, *above]

    def _make(self, read: Reading, parts: Sequence[range]) -> None:
        writes = self._writes
        try:
            made: dict[int, PointArrays] = {}
            for levels in parts:
                # A point written in the meantime may have been read before the write.
                made |= dict.fromkeys(levels, PointArrays(takewhile(lambda _: writes == self._writes, read(levels))))
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
            self._calls, self._due, self.made = 0, None, {}
