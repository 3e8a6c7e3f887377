"""Stores by address: `engine:place`."""

from __future__ import annotations

from collections.abc import Callable

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.protocol import ChunkStore, Schema


def open_store(address: str, collection: str, schema: Schema | None = None) -> ChunkStore:
    """Open a collection, or create it where it does not exist yet.

    Args:
        address: "edge:PATH" for Qdrant Edge in a folder.
        collection: Name of the collection at that address: letters, digits, and inside it also "-", "_" and ".".
        schema: What the collection must have been made with. None opens an existing collection as it is.

    Raises:
        InvalidParameterError: No engine has that name, or the collection's name is not allowed.
        SchemaMismatchError: The collection was made with another model or strategy.
        StoreLockedError: Another process, or another store object in this one, holds the collection.
        StoreError: There is no such collection and no schema to make it with, or what is there is no collection.
    """
    engine, _, place = address.partition(":")
    opener = _ENGINES.get(engine)
    if opener is None or not place:
        known = ", ".join(f"'{name}:...'" for name in _ENGINES)
        raise InvalidParameterError("store", f"must be one of {known}", address, "Write for example 'edge:./data'.")
    return opener(place, collection, schema)


def _edge(place: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.edge import EdgeStore

    return EdgeStore(place, collection, schema)


_ENGINES: dict[str, Callable[[str, str, Schema | None], ChunkStore]] = {"edge": _edge}
