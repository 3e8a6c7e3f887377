"""Collections of this process's memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict

from kinsplit.stores.engines.catalog import CollectionInfo, EngineCatalog, Named
from kinsplit.stores.engines.memory.store import PLACES, PLACES_LOCK, HeldCollection, MemoryStore


class MemoryCatalog(EngineCatalog[HeldCollection]):
    """The collections of a named store in memory; a private one has none.

    Args:
        place: Name of the store.
    """

    def __init__(self, place: str) -> None:
        super().__init__(f"memory:{place}")
        self._store = place

    def collections(self) -> list[CollectionInfo]:
        """Return the collections; their size is not known."""
        with PLACES_LOCK:
            names = sorted(PLACES.get(self._store, ()))
        found = []
        for name in names:
            with MemoryStore(self._store, name) as store:
                found.append(CollectionInfo(name, store.schema, len(store.sources(0)), store.count(0), None))
        return found

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection of a name; see `Catalog.identity`."""
        with self._reading():
            return str(id(self._own(self._names(), name).key))

    def close(self) -> None:
        """Do nothing, since there is no connection."""

    def _reading(self) -> AbstractContextManager[object]:
        return PLACES_LOCK

    def _dropping(self) -> AbstractContextManager[object]:
        return PLACES_LOCK

    def _naming(self) -> AbstractContextManager[object]:
        return PLACES_LOCK

    def _names(self) -> Mapping[str, HeldCollection]:
        return PLACES.get(self._store, {})

    def _stored(self, key: HeldCollection) -> object:
        return asdict(key.schema)

    def _drop(self, found: Named[HeldCollection]) -> None:
        # Open stores keep its content until they are closed.
        del PLACES[self._store][found.name]

    def _rename(self, found: Named[HeldCollection], new: str) -> None:
        PLACES[self._store][new] = PLACES[self._store].pop(found.name)

    def _switch(self, one: Named[HeldCollection], other: Named[HeldCollection]) -> None:
        PLACES[self._store] |= {one.name: other.key, other.name: one.key}
