"""Stores by address: `engine:place`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.async_protocol import AsyncChunkStore
from kinsplit.stores.engines.qdrant.options import is_url, parse_place
from kinsplit.stores.protocol import ChunkStore, Schema
from kinsplit.stores.threaded import ThreadedStore


def open_store(address: str, collection: str, schema: Schema | None = None) -> ChunkStore:
    """Open a collection, or create it where it does not exist yet.

    Args:
        address: Of the store:

            - "edge:PATH": Qdrant Edge in a folder.
            - "qdrant:URL", "qdrant:PATH" or "qdrant::memory:": `kinsplit.stores.engines.qdrant.store.QdrantStore`.
            - "pgvector:DSN": Postgres, `kinsplit.stores.engines.postgres.store.PostgresStore`.
            - "memory:NAME" or "memory:": this process's memory, `kinsplit.stores.engines.memory.store.MemoryStore`.
        collection: Name of the collection at that address: letters, digits, and inside it also "-", "_" and ".".
        schema: What the collection must have been made with. None opens an existing collection as it is.

    Raises:
        InvalidParameterError: No engine has that name, or the collection's name is not allowed.
        MissingExtraError: The engine's client is not installed.
        SchemaMismatchError: The collection was made with another model or strategy.
        StoreLockedError: Another process holds the collection.
        DiskFullError: There is too little free space.
        StoreError: There is no such collection and no schema to make it with, or what is there is no collection.
    """
    engine, place = _split(address)
    return ENGINES[engine].open(place, collection, schema)


async def open_async_store(address: str, collection: str, schema: Schema | None = None) -> AsyncChunkStore:
    """Open a collection for an event loop, or create it where it does not exist yet.

    A Qdrant server is asked through its asynchronous client, every other engine in the event loop's threads.

    Args:
        address: Of the store; see `open_store`.
        collection: Name of the collection at that address.
        schema: What the collection must have been made with. None opens an existing collection as it is.

    Raises:
        KinsplitError: As `open_store` tells.
    """
    engine, place = _split(address)
    if has_async_client(address) or address == "qdrant::memory:":
        from kinsplit.stores.engines.qdrant.async_store import AsyncQdrantStore

        return await AsyncQdrantStore.open(*parse_place(place), collection, schema)
    return ThreadedStore(await asyncio.to_thread(ENGINES[engine].open, place, collection, schema))


def has_async_client(address: str) -> bool:
    """Return whether an address is a server's that an event loop can ask without threads."""
    engine, place = _split(address)
    return engine == "qdrant" and is_url(place)


def _split(address: str) -> tuple[str, str]:
    engine, colon, place = address.partition(":")
    if engine not in ENGINES or not colon or not (place or engine == "memory"):
        known = ", ".join(f"'{name}:...'" for name in ENGINES)
        # Not the place, which may hold a password.
        raise InvalidParameterError("store", f"must be one of {known}", engine, "Write for example 'edge:./data'.")
    return engine, place


def _edge(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.edge.store import EdgeStore

    return EdgeStore(place, collection, schema)


def _qdrant(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.qdrant.store import QdrantStore

    return QdrantStore(*parse_place(place), collection, schema)


def _pgvector(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.postgres.store import PostgresStore

    return PostgresStore(place, collection, schema)


def _memory(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.memory.store import MemoryStore

    return MemoryStore(place, collection, schema)


@dataclass(frozen=True, slots=True)
class Engine:
    """A kind of store.

    Attributes:
        open: Opens a collection at a place.
        addresses: The forms of its addresses.
        purpose: What it is for.
        package: The module that it needs, None for none.
        extra: The extra of kinsplit that brings it.
        holds_lock: Whether it keeps the interpreter's lock while it works.
    """

    open: Callable[[str, str, Schema | None], ChunkStore]
    addresses: tuple[str, ...]
    purpose: str
    package: str | None = None
    extra: str | None = None
    holds_lock: bool = False

    @property
    def installed(self) -> bool:
        """Whether what it needs is there."""
        return self.package is None or find_spec(self.package) is not None


#: The engines by the name that an address begins with.
ENGINES: dict[str, Engine] = {
    "edge": Engine(
        _edge,
        ("edge:PATH",),
        "one process without a server: Qdrant's engine in a folder; the default",
        holds_lock=True,
    ),
    "qdrant": Engine(
        _qdrant,
        ("qdrant:URL", "qdrant:PATH", "qdrant::memory:"),
        "a Qdrant server, a cluster or Qdrant Cloud; a path or memory for some 20,000 chunks",
        "qdrant_client",
        "qdrant",
    ),
    "pgvector": Engine(_pgvector, ("pgvector:DSN",), "those who run Postgres", "psycopg", "pgvector"),
    "memory": Engine(_memory, ("memory:", "memory:NAME"), "tests and notebooks: exact, gone with the process"),
}
