"""Stores by address, such as `edge:PATH`."""

from __future__ import annotations

from functools import partial
from typing import cast

from kinsplit.registry import Registry, instance
from kinsplit.stores.engines import Engine
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.new_collection import NewCollection
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Schema
from kinsplit.support.environment import Setting, check_address, look_up

#: The engines by the prefix of their addresses; those of other packages are entry points of the group
#: `kinsplit.stores`.
STORES: Registry[Engine] = Registry(
    "stores",
    "store",
    {
        "edge": "kinsplit.stores.engines.edge:ENGINE",
        "qdrant": "kinsplit.stores.engines.qdrant:ENGINE",
        "pgvector": "kinsplit.stores.engines.postgres:ENGINE",
        "memory": "kinsplit.stores.engines.memory:ENGINE",
    },
    instance(Engine),
    {
        "edge": ("edge:PATH",),
        "qdrant": ("qdrant:URL", "qdrant:PATH", "qdrant::memory:"),
        "pgvector": ("pgvector:DSN",),
        "memory": ("memory:", "memory:NAME"),
    },
)


# Variables with the secrets that go to the stores' addresses.
_KEYS = {"qdrant": "KINSPLIT_QDRANT_API_KEY", "pgvector": "PGPASSWORD"}


def check_source(address: Setting) -> None:
    """Check that no secret goes to the address of a store that comes from a less trusted source.

    Raises:
        InvalidParameterError: The secret is trusted more than the source of the address.
    """
    if key := _KEYS.get(address.value.partition(":")[0]):
        check_address(address, look_up(key))


def open_store(address: str, collection: str, schema: Schema | None = None) -> ChunkStore:
    """Open a collection; the first write makes one that does not exist yet.

    Args:
        address: Address of the store:

            - "edge:PATH": Qdrant Edge in a folder.
            - "qdrant:URL", "qdrant:PATH" or "qdrant::memory:": `kinsplit.stores.engines.qdrant.store.QdrantStore`.
            - "pgvector:DSN": Postgres, `kinsplit.stores.engines.postgres.store.PostgresStore`.
            - "memory:NAME" or "memory:": this process's memory, `kinsplit.stores.engines.memory.MemoryStore`.

            A URL of Qdrant or Postgres may end with options as query parameters, which `kinsplit stores NAME` lists.
        collection: Name of the collection: letters and digits, and after the first character also "-", "_" and ".".
        schema: Schema that the collection must have; a new collection gets it. None opens an existing collection.

    Raises:
        InvalidParameterError: No engine has that name, or the collection's name is not allowed.
        MissingExtraError: The engine's client is not installed.
        SchemaMismatchError: The collection was made with another model or strategy.
        StoreLockedError: Another process holds the collection.
        DiskFullError: There is too little free space.
        CollectionNotFoundError: There is no such collection, and no schema to create it with.
        StoreError: The address holds something other than a collection.
    """
    engine, location = STORES.of_spec(address)
    if schema is None:
        return engine.open(location, collection, None)
    new = NewCollection(f"{collection!r}", partial(engine.open, location, collection), schema)
    return new.found() or cast("ChunkStore", new)


def open_catalog(address: str) -> Catalog:
    """Open the catalog of an address, to list, drop and rename its collections.

    Args:
        address: Address of the store; see `open_store`.

    Raises:
        InvalidParameterError: No engine has that name.
        MissingExtraError: The engine's client is not installed.
        StoreLockedError: Another process holds the store.
        StoreError: The store can't be reached.
    """
    engine, location = STORES.of_spec(address)
    return engine.catalog(location)


def has_server(address: str) -> bool:
    """Return whether an address is that of a server, whose collections several processes can open at once."""
    engine, location = STORES.of_spec(address)
    return engine.is_server(location)
