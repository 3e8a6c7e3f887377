"""What a framework's user names as the place of the chunks, as a reader of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kinsplit.integrations.qdrant_reader import QdrantReader
from kinsplit.integrations.siblings import KinReader
from kinsplit.integrations.store_reader import StoreReader
from kinsplit.parsers import Strategy
from kinsplit.stores import ChunkStore, open_store

if TYPE_CHECKING:
    from qdrant_client import QdrantClient


class Opened(NamedTuple):
    """A reader of a collection.

    Attributes:
        reader: The reader.
        store: The store that was opened for it, to be closed with it; None where the user gave an open one.
    """

    reader: KinReader
    store: ChunkStore | None = None


def open_reader(store: str | ChunkStore | QdrantClient, collection: str, strategy: Strategy | None) -> Opened:
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
        opened = open_store(store, collection)
        return Opened(StoreReader(opened, fingerprint), opened)
    if hasattr(store, "scroll"):
        return Opened(QdrantReader(cast(Any, store), collection, fingerprint))
    return Opened(StoreReader(store, fingerprint))
