"""What filters can ask for: the metadata of a collection's documents, with how many have it."""

from __future__ import annotations

import heapq
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kinsplit.chunk import DOCUMENT
from kinsplit.server import bounds
from kinsplit.server.shown import metadata_of
from kinsplit.stores import ChunkStore
from kinsplit.stores.payload import PLACED

#: Seconds for which they are kept: others may write to a server's collection meanwhile.
_KEPT = 60.0
#: What `key=value` can be written with.
_KEY = re.compile(r'[^$=!<>"\\\s][^=!<>"\\]*')


@dataclass(frozen=True, slots=True)
class Facet:
    """A key of the metadata.

    Attributes:
        key: The key.
        distinct: Number of its values.
        values: The most frequent ones, each with the number of documents that have it.
    """

    key: str
    distinct: int
    values: list[tuple[str | float, int]]


class FilterValues:
    """Counts them when they are asked for, and not again for a minute.

    Args:
        store: The collection. One point is read of each document.
        now: The time in seconds.
    """

    def __init__(self, store: ChunkStore, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._now = store, now
        self._lock = threading.Lock()
        self._facets: list[Facet] = []
        self._until = float("-inf")

    def get(self) -> list[Facet]:
        """Return the facets, those that most documents have first."""
        with self._lock:
            if self._now() >= self._until:
                self._facets = self._count()
                self._until = self._now() + _KEPT
            return self._facets

    def _count(self) -> list[Facet]:
        counts: defaultdict[str, Counter[_Value]] = defaultdict(Counter)
        for document in self._store.find({}, level=DOCUMENT):
            for key, value in _filterable(document.metadata):
                counts[key][value] += 1
        found = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
        return [Facet(key, len(values), _most_frequent(values)) for key, values in found[: bounds.FACETS]]


class _Value(NamedTuple):
    """A value, told apart from an equal one of another kind: True from 1."""

    is_bool: bool
    value: str | float


def _most_frequent(values: Counter[_Value]) -> list[tuple[str | float, int]]:
    most = heapq.nsmallest(bounds.VALUES, values.items(), key=lambda item: (-item[1], str(item[0].value)))
    return [(each.value, number) for each, number in most]


def _filterable(metadata: Mapping[str, Any]) -> Iterator[tuple[str, _Value]]:
    """Yield what a document has that a filter may ask for; each member of a list is a value."""
    for key, stored in metadata_of(metadata).items():
        if key in PLACED or not _KEY.fullmatch(key):
            continue
        members = stored if isinstance(stored, list) else [stored]
        for each in {_Value(isinstance(m, bool), m) for m in members if isinstance(m, str | float | int)}:
            if len(key) + len(str(each.value)) < bounds.CONDITION:
                yield key, each
