"""What a framework's user names as the place of the chunks, as a reader of it."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from kinsplit.errors import InvalidParameterError
from kinsplit.index import Index
from kinsplit.integrations.collection import Collection
from kinsplit.integrations.qdrant_reader import QdrantReader
from kinsplit.integrations.siblings import KinReader
from kinsplit.integrations.store_reader import StoreReader
from kinsplit.parsers import Strategy
from kinsplit.stores import ChunkStore, open_store


class Opened(NamedTuple):
    """A reader of a collection.

    Attributes:
        reader: The reader.
        store: The store that was opened for it, to be closed with it; None where the user gave an open one.
    """

    reader: KinReader
    store: ChunkStore | None = None


def open_reader(store: object, collection: str, strategy: Strategy | None) -> Opened:
    """Return a reader of a collection.

    Args:
        store: The address of a store, an open one, a `kinsplit.Index`, a vector store of kinsplit's, a Qdrant store of
            LlamaIndex's or LangChain's, LlamaIndex's index over either, or a Qdrant client.
        collection: Name of the collection; only an address and a Qdrant client don't know it themselves.
        strategy: What made the chunks, where the collection doesn't say so.

    Raises:
        InvalidParameterError: `store` is none of these.
        StoreError: There is no such collection, or it can't be opened.
    """
    fingerprint = None if strategy is None else strategy.fingerprint
    given = cast(Any, getattr(store, "vector_store", store))  # LlamaIndex's index has its store there.
    if isinstance(given, str):
        opened = open_store(given, collection)
        return Opened(StoreReader(lambda: opened, fingerprint), opened)
    if isinstance(given, Index):
        return Opened(StoreReader(lambda: given.store, fingerprint))
    kept = getattr(given, "_kept", None)
    if isinstance(kept, Collection):  # It may open, or even make, the collection later.
        return Opened(StoreReader(kept.open, fingerprint))
    name = getattr(given, "collection_name", None)
    client = given if name is None else given.client
    if hasattr(client, "scroll"):
        return Opened(QdrantReader(client, name or collection, fingerprint))
    if hasattr(given, "sources"):
        return Opened(StoreReader(lambda: given, fingerprint))
    rule = "must be the address of a store, an open store, an Index, a vector store over kinsplit or Qdrant"
    raise InvalidParameterError("store", f"{rule}, or a QdrantClient", store, "Give what the chunks were written with.")
