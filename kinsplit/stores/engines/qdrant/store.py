"""Store in Qdrant through its client: a server, a cluster, a folder or memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kinsplit.stores.engine import AtOnce, BlockingStore, Held
from kinsplit.stores.engines.open_engines import Lease, Sharing
from kinsplit.stores.engines.qdrant.async_store import AsyncQdrantStore
from kinsplit.stores.engines.qdrant.collection import open_client, open_collection
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url
from kinsplit.stores.engines.qdrant.points import search_params
from kinsplit.stores.protocol import Schema, Where
from kinsplit.stores.schema import check_collection
from kinsplit.support.aio import run

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient


class _Folder(NamedTuple):
    """A client in local mode on a folder, with the lock of its writers."""

    client: AtOnce
    writing: threading.RLock

    def close(self) -> None:
        run(cast("AsyncQdrantClient", self.client).close())


#: Open folders of this process.
_FOLDERS = Sharing(_Folder.close)


class _Leased:
    """A folder's client as one store object uses it; `close` ends that use."""

    def __init__(self, lease: Lease[_Folder]) -> None:
        self._lease = lease

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lease.engine.client, name)

    async def close(self) -> None:
        self._lease.release()


class QdrantStore(BlockingStore):
    """A collection of a Qdrant server, or of the client's local mode, which suits up to some 20,000 chunks.

    Syncs of one store object take turns. A server does not lock out other writers: two processes that sync the same
    source at the same time can leave stale chunks, which the next sync removes. The API key is read from the
    environment variable KINSPLIT_QDRANT_API_KEY.

    Like Edge, a server counts deleted chunks in the IDF until it cleans up its segments; local mode does not.

    Args:
        place: "http://..." or "https://..." for a server or cluster, on port 6333 unless the URL has another;
            ":memory:" for a private database in memory; or a folder, which one process at a time can open and whose
            store objects share one client.
        options: Options of a server.
        collection: Name of the collection.
        schema: Schema that the collection must have; a new collection gets it. None opens an existing collection.

    Raises:
        MissingExtraError: qdrant-client is not installed.
        StoreError: An error or one of its subclasses; see `kinsplit.stores.open_store`.
    """

    def __init__(self, place: str, options: QdrantOptions, collection: str, schema: Schema | None = None) -> None:
        check_collection(collection)
        client, writing = open_blocking(place, options)
        own_name, stored = run(open_collection(client, place, options, collection, schema))
        params = search_params(place, options)
        self._store = AsyncQdrantStore(client, f"{place}/{collection}", own_name, stored, Held(writing), params)
        self._on_server = is_url(place)
        super().__init__(self._store)

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        return run(self._store.count(level, where))

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        return run(self._store.sources(level, where))

    @contextmanager
    def first_load(self) -> Iterator[None]:
        """Postpone the server's HNSW graph while an empty collection is filled; see `ChunkStore.first_load`."""
        postponed = self._on_server and run(self._store.postpone_graph())
        try:
            yield
        finally:
            if postponed:
                run(self._store.build_graph())

    def close(self) -> None:
        """Release the collection. A second call does nothing."""
        run(self._store.close())


def open_blocking(place: str, options: QdrantOptions) -> tuple[AsyncQdrantClient, AbstractContextManager[object]]:
    """Return a client of a location, whose coroutines never suspend, and the lock of its writers."""
    if is_url(place) or place == ":memory:":
        # The client's local mode loses points when two threads use it.
        calling: AbstractContextManager[object] = nullcontext() if is_url(place) else threading.RLock()
        return cast("AsyncQdrantClient", AtOnce(open_client(place, options), calling)), threading.RLock()
    lease = _FOLDERS.lease(
        place,
        # Lock file of the client.
        Path(place).expanduser() / ".lock",
        lambda: _Folder(AtOnce(open_client(place, options), threading.RLock()), threading.RLock()),
    )
    return cast("AsyncQdrantClient", _Leased(lease)), lease.engine.writing
