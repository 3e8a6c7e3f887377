"""Metadata that the documents of a collection can be filtered by, with the number of documents of each value."""

from __future__ import annotations

import heapq
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kinsplit.chunk import DOCUMENT, PLACED
from kinsplit.server import limits
from kinsplit.server.models import FilterKey, FilterValue
from kinsplit.stores import ChunkStore
from kinsplit.wire import visible_metadata

#: Lifetime of the counts in seconds: other processes may write to a server's collection.
_LIFETIME = 60.0
#: Keys that can be written as `key=value`.
_KEY = re.compile(r'[^$=!<>"\\\s][^=!<>"\\]*')


class FacetCounts:
    """Counts of the metadata values of a collection, read from one point per document and cached for a minute."""

    def __init__(self, store: ChunkStore, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._now = store, now
        self._lock = threading.Lock()
        self._keys: list[FilterKey] = []
        self._expires = float("-inf")

    def get(self) -> list[FilterKey]:
        """Return the keys with their values, the most frequent first."""
        with self._lock:
            if self._now() >= self._expires:
                self._keys = self._count()
                self._expires = self._now() + _LIFETIME
            return self._keys

    def expire(self) -> None:
        """Count anew for the next request, since documents have changed."""
        with self._lock:
            self._expires = float("-inf")

    def _count(self) -> list[FilterKey]:
        counts: defaultdict[str, Counter[_Value]] = defaultdict(Counter)
        for document in self._store.find({}, level=DOCUMENT):
            for key, value in _filterable(document.metadata):
                counts[key][value] += 1
        found = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
        rows = found[: limits.FACETS]
        return [FilterKey(key=key, distinct=len(values), values=_most_frequent(values)) for key, values in rows]


class _Value(NamedTuple):
    """A value with its type, since True equals 1."""

    is_bool: bool
    value: str | float


def _most_frequent(values: Counter[_Value]) -> list[FilterValue]:
    most = heapq.nsmallest(limits.VALUES, values.items(), key=lambda item: (-item[1], str(item[0].value)))
    return [FilterValue(value=each.value, documents=number) for each, number in most]


def _filterable(metadata: Mapping[str, Any]) -> Iterator[tuple[str, _Value]]:
    """Yield the metadata of a document that a filter can test; each member of a list is a value."""
    for key, stored in visible_metadata(metadata).items():
        if key in PLACED or not _KEY.fullmatch(key):
            continue
        members = stored if isinstance(stored, list) else [stored]
        for each in {_Value(isinstance(m, bool), m) for m in members if isinstance(m, str | float | int)}:
            if len(key) + len(str(each.value)) < limits.CONDITION:
                yield key, each
