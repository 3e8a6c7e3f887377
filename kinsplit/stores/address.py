"""Stores by address: `engine:place`."""

from __future__ import annotations

from collections.abc import Callable

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.protocol import ChunkStore, Schema


def open_store(address: str, collection: str, schema: Schema | None = None) -> ChunkStore:
    """Open a collection, or create it where it does not exist yet.

    Args:
        address: Of the store:

            - "edge:PATH": Qdrant Edge in a folder.
            - "qdrant:URL", "qdrant:PATH" or "qdrant::memory:": `kinsplit.stores.qdrant.QdrantStore`.
            - "pgvector:DSN": Postgres, `kinsplit.stores.postgres.PostgresStore`.
            - "memory:NAME" or "memory:": this process's memory, `kinsplit.stores.memory.MemoryStore`.
        collection: Name of the collection at that address: letters, digits, and inside it also "-", "_" and ".".
        schema: What the collection must have been made with. None opens an existing collection as it is.

    Raises:
        InvalidParameterError: No engine has that name, or the collection's name is not allowed.
        MissingExtraError: The engine's client is not installed.
        SchemaMismatchError: The collection was made with another model or strategy.
        StoreLockedError: Another process, or another store object in this one, holds the collection.
        StoreError: There is no such collection and no schema to make it with, or what is there is no collection.
    """
    engine, colon, place = address.partition(":")
    opener = _ENGINES.get(engine)
    if opener is None or not colon or not (place or engine == "memory"):
        known = ", ".join(f"'{name}:...'" for name in _ENGINES)
        # Not the place, which may hold a password.
        raise InvalidParameterError("store", f"must be one of {known}", engine, "Write for example 'edge:./data'.")
    return opener(place, collection, schema)


def _edge(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.edge import EdgeStore

    return EdgeStore(place, collection, schema)


def _qdrant(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.qdrant import QdrantStore
    from kinsplit.stores.qdrant_options import parse_place

    return QdrantStore(*parse_place(place), collection, schema)


def _pgvector(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.postgres import PostgresStore

    return PostgresStore(place, collection, schema)


def _memory(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.memory import MemoryStore

    return MemoryStore(place, collection, schema)


_ENGINES: dict[str, Callable[[str, str, Schema | None], ChunkStore]] = {
    "edge": _edge,
    "qdrant": _qdrant,
    "pgvector": _pgvector,
    "memory": _memory,
}
