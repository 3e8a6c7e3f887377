"""What a framework's user names as the place of the chunks, as a reader of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kinsplit.integrations.qdrant_reader import QdrantReader
from kinsplit.integrations.siblings import KinReader
from kinsplit.integrations.store_reader import StoreReader
from kinsplit.parsers import Strategy
from kinsplit.stores import ChunkStore, open_store

if TYPE_CHECKING:
    from qdrant_client import QdrantClient


def open_reader(store: str | ChunkStore | QdrantClient, collection: str, strategy: Strategy | None) -> KinReader:
    """Return a reader of a collection.

    Args:
        store: Address of a store, an open one, or a Qdrant client.
        collection: Name of the collection, unless the store is open.
        strategy: What made the chunks, where the collection doesn't say so.

    Raises:
        StoreError: There is no such collection, or it can't be opened.
    """
    fingerprint = None if strategy is None else strategy.fingerprint
    if isinstance(store, str):
        return StoreReader(open_store(store, collection), fingerprint)
    if hasattr(store, "scroll"):
        return QdrantReader(cast(Any, store), collection, fingerprint)
    return StoreReader(store, fingerprint)
