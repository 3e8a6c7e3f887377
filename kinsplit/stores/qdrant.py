"""Chunks in Qdrant through its client: a server, a cluster, a folder, or memory."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, cast

from kinsplit.stores.blocking import AtOnce, Held, finish
from kinsplit.stores.engine import BlockingStore
from kinsplit.stores.protocol import Schema, Where
from kinsplit.stores.qdrant_async import AsyncQdrantStore
from kinsplit.stores.qdrant_collection import open_client, open_collection
from kinsplit.stores.qdrant_options import QdrantOptions, is_url
from kinsplit.stores.schema import check_collection

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient


class QdrantStore(BlockingStore):
    """A collection of a Qdrant server, or of the client's local mode, which suits up to some 20,000 chunks.

    Syncs of one store object take turns. A server keeps no other writer out: two processes that sync the same source at
    the same time can leave stale chunks, which the next sync removes. The API key is read from the environment
    variable KINSPLIT_QDRANT_API_KEY.

    A server, like Edge, counts deleted chunks in the IDF until it clears its segments; local mode does not.

    Args:
        place: "http://..." or "https://..." for a server or a cluster, at port 6333 unless the URL names another;
            ":memory:", for this object alone; or a folder, which one process opens at a time.
        options: Settings of a server.
        collection: Name of the collection.
        schema: What the collection must have been made with; None opens an existing one as it is.

    Raises:
        MissingExtraError: qdrant-client is not installed.
        StoreError: And its kinds, as `kinsplit.stores.open_store` tells.
    """

    def __init__(self, place: str, options: QdrantOptions, collection: str, schema: Schema | None = None) -> None:
        check_collection(collection)
        # The client's local mode loses points when two threads use it.
        calling: AbstractContextManager[object] = nullcontext() if is_url(place) else threading.RLock()
        client = cast("AsyncQdrantClient", AtOnce(open_client(place, options), calling))
        stored = finish(open_collection(client, place, options, collection, schema))
        writing = Held(threading.RLock())
        self._store = AsyncQdrantStore(client, f"{place}/{collection}", collection, stored, writing)
        super().__init__(self._store)

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or all, that a filter lets through; see `ChunkStore.count`."""
        return finish(self._store.count(level, where))

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of chunks of every source that a filter lets through; see `ChunkStore.sources`."""
        return finish(self._store.sources(level, where))

    def close(self) -> None:
        """Let go of the collection. A second call does nothing."""
        finish(self._store.close())
