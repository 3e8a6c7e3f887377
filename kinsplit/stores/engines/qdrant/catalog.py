"""Collections of a Qdrant server, or of the client's local mode."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from kinsplit.errors import ForeignCollectionError, StoreError
from kinsplit.stores.engines.catalog import CollectionInfo, EngineCatalog, Named
from kinsplit.stores.engines.qdrant.collection import alias, aliases_of, names_of, stored_schema
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url, qdrant_errors
from kinsplit.stores.engines.qdrant.store import QdrantStore, open_safely
from kinsplit.stores.schema import LISTED, no_collection, parse_schema


class QdrantCatalog(EngineCatalog[str]):
    """The collections of a Qdrant server, whose names are aliases; see `collection`.

    Args:
        place: Location; see `QdrantStore`.
        options: Options of a server.

    Raises:
        MissingExtraError: qdrant-client is not installed.
        StoreError: The folder can't be opened.
    """

    def __init__(self, place: str, options: QdrantOptions) -> None:
        super().__init__(place)
        self._location = place
        self._client, self._writing = open_safely(place, options)

    def collections(self) -> list[CollectionInfo]:
        """Return the collections that kinsplit made; a server doesn't tell their size."""
        with self._reading():
            names = sorted(self._names().items())
            found = [self._info(name, own_name) for name, own_name in names]
        return [info for info in found if info is not None]

    def identity(self, name: str) -> str:
        """Return the own name of the collection that has a name; see `Catalog.identity`."""
        with self._reading():
            names = self._names()
            if name not in names:
                raise no_collection(self._place, name, names, LISTED)
            return names[name]

    def close(self) -> None:
        """Release the connection. A second call does nothing."""
        self._client.close()

    def _info(self, name: str, own_name: str) -> CollectionInfo | None:
        try:
            schema = parse_schema(name, self._stored(own_name))
        except ForeignCollectionError:
            return None
        except StoreError:
            return CollectionInfo(name, None, None, None, self._size(own_name))
        store = QdrantStore(self._client, f"{self._place}/{name}", own_name, schema, self._writing)
        return CollectionInfo(name, schema, len(store.sources(0)), store.count(0), self._size(own_name))

    def _size(self, own_name: str) -> int | None:
        if is_url(self._location) or self._location == ":memory:":
            return None
        folder = Path(self._location).expanduser() / "collection" / own_name
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    def _reading(self) -> AbstractContextManager[object]:
        return qdrant_errors(self._location)

    def _dropping(self) -> AbstractContextManager[object]:
        return self._reading()

    def _naming(self) -> AbstractContextManager[object]:
        return self._reading()

    def _names(self) -> Mapping[str, str]:
        return names_of(self._client)

    def _stored(self, key: str) -> object:
        return stored_schema(self._client.get_collection(key))

    def _drop(self, found: Named[str]) -> None:
        # With its aliases.
        self._client.delete_collection(found.key)

    def _rename(self, found: Named[str], new: str) -> None:
        from qdrant_client import models

        self._check_aliases(found.name)
        moved = models.RenameAlias(old_alias_name=found.name, new_alias_name=new)
        self._client.update_collection_aliases([models.RenameAliasOperation(rename_alias=moved)])

    def _switch(self, one: Named[str], other: Named[str]) -> None:
        self._check_aliases(one.name, other.name)
        # In one request.
        self._client.update_collection_aliases([alias(one.name, other.key), alias(other.name, one.key)])

    def _check_aliases(self, *names: str) -> None:
        """Check that names are aliases, which alone can be moved."""
        aliases = aliases_of(self._client)
        for name in names:
            if name not in aliases:
                raise StoreError(
                    f"{self._place}/{name} was created under its own name, and Qdrant renames aliases alone. Copy it "
                    "to a new collection with `kinsplit copy --as NAME`, and drop it."
                )
