"""Collections of a Qdrant server, or of the client's local mode."""

from __future__ import annotations

from pathlib import Path

from kinsplit.errors import StoreError
from kinsplit.stores.engine import Held
from kinsplit.stores.engines.catalog import Catalog, CollectionInfo
from kinsplit.stores.engines.qdrant.async_store import AsyncQdrantStore
from kinsplit.stores.engines.qdrant.collection import alias, aliases_of, names_of, own_schema
from kinsplit.stores.engines.qdrant.errors import qdrant_errors
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url
from kinsplit.stores.engines.qdrant.store import open_blocking
from kinsplit.stores.schema import LISTED, check_change, no_collection
from kinsplit.support.aio import run


class QdrantCatalog(Catalog):
    """The collections of a Qdrant server, whose names are aliases; see `collection`.

    Args:
        place: Location; see `QdrantStore`.
        options: Options of a server.

    Raises:
        MissingExtraError: qdrant-client is not installed.
        StoreError: The folder can't be opened.
    """

    def __init__(self, place: str, options: QdrantOptions) -> None:
        self._place = place
        self._client, self._writing = open_blocking(place, options)

    def collections(self) -> list[CollectionInfo]:
        """Return the collections that kinsplit made; a server doesn't tell their size."""
        with qdrant_errors(self._place):
            names = sorted(run(names_of(self._client)).items())
            found = [self._info(name, own_name) for name, own_name in names]
        return [info for info in found if info is not None]

    def identity(self, name: str) -> str:
        """Return the own name of the collection that has a name; see `Catalog.identity`."""
        with qdrant_errors(self._place):
            return self._own_name(name)

    def drop(self, name: str) -> None:
        """Delete a collection with its aliases; see `Catalog.drop`."""
        with qdrant_errors(self._place):
            run(self._client.delete_collection(self._own_name(name)))

    def rename(self, old: str, new: str) -> None:
        """Give a collection another alias instead of its own; see `Catalog.rename`."""
        from qdrant_client import models

        with qdrant_errors(self._place):
            check_change(self._place, run(names_of(self._client)), old, new, is_switch=False)
            moved = models.RenameAlias(old_alias_name=self._alias(old), new_alias_name=new)
            run(self._client.update_collection_aliases([models.RenameAliasOperation(rename_alias=moved)]))

    def switch(self, one: str, other: str) -> None:
        """Exchange the aliases of two collections in one request; see `Catalog.switch`."""
        with qdrant_errors(self._place):
            names = run(names_of(self._client))
            check_change(self._place, names, one, other, is_switch=True)
            first, second = (names[self._alias(name)] for name in (one, other))
            run(self._client.update_collection_aliases([alias(one, second), alias(other, first)]))

    def close(self) -> None:
        """Release the connection. A second call does nothing."""
        run(self._client.close())

    def _info(self, name: str, own_name: str) -> CollectionInfo | None:
        info = run(self._client.get_collection(own_name))
        try:
            schema = own_schema(name, info)
        except StoreError:
            return CollectionInfo(name, None, None, None, self._size(own_name))
        if schema is None:
            return None
        store = AsyncQdrantStore(self._client, f"{self._place}/{name}", own_name, schema, Held(self._writing))
        return CollectionInfo(name, schema, len(run(store.sources(0))), run(store.count(0)), self._size(own_name))

    def _size(self, own_name: str) -> int | None:
        if is_url(self._place) or self._place == ":memory:":
            return None
        folder = Path(self._place).expanduser() / "collection" / own_name
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    def _own_name(self, name: str) -> str:
        names = run(names_of(self._client))
        if name not in names:
            raise no_collection(self._place, name, names, LISTED)
        return names[name]

    def _alias(self, name: str) -> str:
        """Return a name if it is an alias, which alone can be moved."""
        if name not in run(aliases_of(self._client)):
            raise StoreError(
                f"{self._place}/{name} was created under its own name, and Qdrant renames aliases alone. Copy it to "
                "a new collection with `kinsplit copy --as NAME`, and drop it."
            )
        return name
