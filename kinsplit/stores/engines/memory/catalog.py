"""Collections of this process's memory."""

from __future__ import annotations

from kinsplit.stores.engines.catalog import Catalog, CollectionInfo
from kinsplit.stores.engines.memory.store import PLACES, PLACES_LOCK, MemoryStore
from kinsplit.stores.schema import LISTED, check_change, no_collection


class MemoryCatalog(Catalog):
    """The collections of a named store in memory; a private one has none.

    Args:
        place: Name of the store.
    """

    def __init__(self, place: str) -> None:
        self._place = place

    def collections(self) -> list[CollectionInfo]:
        """Return the collections; their size is not known."""
        with PLACES_LOCK:
            names = sorted(PLACES.get(self._place, ()))
        found = []
        for name in names:
            with MemoryStore(self._place, name) as store:
                found.append(CollectionInfo(name, store.schema, len(store.sources(0)), store.count(0), None))
        return found

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection of a name; see `Catalog.identity`."""
        with PLACES_LOCK:
            self._check(name)
            return str(id(PLACES[self._place][name]))

    def drop(self, name: str) -> None:
        """Delete a collection; open stores keep its content until they are closed."""
        with PLACES_LOCK:
            self._check(name)
            del PLACES[self._place][name]

    def rename(self, old: str, new: str) -> None:
        """Give a collection another name; see `Catalog.rename`."""
        with PLACES_LOCK:
            found = PLACES.get(self._place, {})
            check_change(f"memory:{self._place}", found, old, new, is_switch=False)
            found[new] = found.pop(old)

    def switch(self, one: str, other: str) -> None:
        """Exchange the names of two collections; see `Catalog.switch`."""
        with PLACES_LOCK:
            found = PLACES.get(self._place, {})
            check_change(f"memory:{self._place}", found, one, other, is_switch=True)
            found[one], found[other] = found[other], found[one]

    def close(self) -> None:
        """Do nothing, since there is no connection."""

    def _check(self, name: str) -> None:
        known = PLACES.get(self._place, {})
        if name not in known:
            raise no_collection(f"memory:{self._place}", name, known, LISTED)
