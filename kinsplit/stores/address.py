"""Stores by address, such as `edge:PATH`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.engines.catalog import Catalog, StoreOptions
from kinsplit.stores.engines.postgres.options import PostgresOptions, parse_dsn
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url, parse_location
from kinsplit.stores.protocol import Schema
from kinsplit.stores.store import ChunkStore


def open_store(address: str, collection: str, schema: Schema | None = None) -> ChunkStore:
    """Open a collection, or create it if it does not exist yet.

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
    engine, location = _split(address)
    return ENGINES[engine].open(location, collection, schema)


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
    engine, location = _split(address)
    return ENGINES[engine].catalog(location)


def has_server(address: str) -> bool:
    """Return whether an address is that of a server, whose collections several processes can open at once."""
    engine, location = _split(address)
    return engine == "pgvector" or (engine == "qdrant" and is_url(location))


def _split(address: str) -> tuple[str, str]:
    engine, colon, location = address.partition(":")
    if engine not in ENGINES or not colon or not (location or engine == "memory"):
        known = ", ".join(f"'{name}:...'" for name in ENGINES)
        # Without the location, which may hold a password.
        raise InvalidParameterError("store", f"must be one of {known}", engine, "Write for example 'edge:./data'.")
    return engine, location


def _edge(location: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.edge.store import EdgeStore

    return EdgeStore(location, collection, schema)


def _edge_catalog(location: str) -> Catalog:
    from kinsplit.stores.engines.edge.catalog import EdgeCatalog

    return EdgeCatalog(location)


def _qdrant(location: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.qdrant.store import QdrantStore

    return QdrantStore.open(*parse_location(location), collection, schema)


def _qdrant_catalog(location: str) -> Catalog:
    from kinsplit.stores.engines.qdrant.catalog import QdrantCatalog

    return QdrantCatalog(*parse_location(location))


def _pgvector(location: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.postgres.store import PostgresStore

    return PostgresStore(*parse_dsn(location), collection, schema)


def _pgvector_catalog(location: str) -> Catalog:
    from kinsplit.stores.engines.postgres.tables import PostgresCatalog

    return PostgresCatalog(parse_dsn(location)[0])


def _memory(location: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.memory import MemoryStore

    return MemoryStore(location, collection, schema)


def _memory_catalog(location: str) -> Catalog:
    from kinsplit.stores.engines.memory import MemoryCatalog

    return MemoryCatalog(location)


@dataclass(frozen=True, slots=True)
class Engine:
    """A kind of store.

    Attributes:
        open: Function that opens a collection, given the address after the colon, its name and its schema.
        catalog: Function that opens the catalog, given the address after the colon.
        addresses: Forms of its addresses.
        purpose: Intended users, for a table of the engines.
        package: Required module, if any.
        extra: Extra of kinsplit that installs the module.
        holds_lock: Whether it holds the GIL during its calls.
        options: Options in the query string of a server's URL, if there are any.
    """

    open: Callable[[str, str, Schema | None], ChunkStore]
    catalog: Callable[[str], Catalog]
    addresses: tuple[str, ...]
    purpose: str
    package: str | None = None
    extra: str | None = None
    holds_lock: bool = False
    options: type[StoreOptions] | None = None

    @property
    def installed(self) -> bool:
        """Whether the required module is installed."""
        return self.package is None or find_spec(self.package) is not None


#: Engines by the prefix of their addresses.
ENGINES: dict[str, Engine] = {
    "edge": Engine(
        _edge,
        _edge_catalog,
        ("edge:PATH",),
        "one process without a server: Qdrant's engine in a folder; the default",
        "qdrant_edge",
        "search",
        holds_lock=True,
    ),
    "qdrant": Engine(
        _qdrant,
        _qdrant_catalog,
        ("qdrant:URL", "qdrant:PATH", "qdrant::memory:"),
        "a Qdrant server, a cluster or Qdrant Cloud; a path or memory for some 20,000 chunks",
        "qdrant_client",
        "qdrant",
        options=QdrantOptions,
    ),
    "pgvector": Engine(
        _pgvector,
        _pgvector_catalog,
        ("pgvector:DSN",),
        "those who run Postgres",
        "psycopg",
        "pgvector",
        options=PostgresOptions,
    ),
    "memory": Engine(
        _memory, _memory_catalog, ("memory:", "memory:NAME"), "tests and notebooks: exact, gone with the process"
    ),
}
