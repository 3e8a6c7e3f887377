"""Chunks in Qdrant through its client: a server, a cluster, a folder, or memory."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kinsplit.stores.engine import AtOnce, BlockingStore, Held
from kinsplit.stores.engines.open_engines import Lease, Sharing
from kinsplit.stores.engines.qdrant.async_store import AsyncQdrantStore
from kinsplit.stores.engines.qdrant.collection import open_client, open_collection
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url
from kinsplit.stores.protocol import Schema, Where
from kinsplit.stores.schema import check_collection
from kinsplit.support.aio import run

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient


class _Folder(NamedTuple):
    """The client's local mode in a folder, with the lock of its writers."""

    client: AtOnce
    writing: threading.RLock

    def close(self) -> None:
        run(cast("AsyncQdrantClient", self.client).close())


#: The folders that are open in this process.
_FOLDERS = Sharing(_Folder.close)


class _Leased:
    """A folder's client, of which `close` ends the use of one store object."""

    def __init__(self, lease: Lease[_Folder]) -> None:
        self._lease = lease

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lease.engine.client, name)

    async def close(self) -> None:
        self._lease.release()


class QdrantStore(BlockingStore):
    """A collection of a Qdrant server, or of the client's local mode, which suits up to some 20,000 chunks.

    Syncs of one store object take turns. A server keeps no other writer out: two processes that sync the same source at
    the same time can leave stale chunks, which the next sync removes. The API key is read from the environment
    variable KINSPLIT_QDRANT_API_KEY.

    A server, like Edge, counts deleted chunks in the IDF until it clears its segments; local mode does not.

    Args:
        place: "http://..." or "https://..." for a server or a cluster, at port 6333 unless the URL names another;
            ":memory:", for this object alone; or a folder, which one process opens at a time, whose store objects share
            one client.
        options: Settings of a server.
        collection: Name of the collection.
        schema: What the collection must have been made with; None opens an existing one as it is.

    Raises:
        MissingExtraError: qdrant-client is not installed.
        StoreError: And its kinds, as `kinsplit.stores.open_store` tells.
    """

    def __init__(self, place: str, options: QdrantOptions, collection: str, schema: Schema | None = None) -> None:
        check_collection(collection)
        client, writing = _open(place, options)
        stored = run(open_collection(client, place, options, collection, schema))
        self._store = AsyncQdrantStore(client, f"{place}/{collection}", collection, stored, Held(writing))
        super().__init__(self._store)

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or all, that a filter lets through; see `ChunkStore.count`."""
        return run(self._store.count(level, where))

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of chunks of every source that a filter lets through; see `ChunkStore.sources`."""
        return run(self._store.sources(level, where))

    def close(self) -> None:
        """Let go of the collection. A second call does nothing."""
        run(self._store.close())


def _open(place: str, options: QdrantOptions) -> tuple[AsyncQdrantClient, AbstractContextManager[object]]:
    """Return a client of a place, and the lock of its writers."""
    if is_url(place) or place == ":memory:":
        # The client's local mode loses points when two threads use it.
        calling: AbstractContextManager[object] = nullcontext() if is_url(place) else threading.RLock()
        return cast("AsyncQdrantClient", AtOnce(open_client(place, options), calling)), threading.RLock()
    lease = _FOLDERS.lease(
        place,
        # The client's own mark of a folder that is in use.
        Path(place).expanduser() / ".lock",
        lambda: _Folder(AtOnce(open_client(place, options), threading.RLock()), threading.RLock()),
    )
    return cast("AsyncQdrantClient", _Leased(lease)), lease.engine.writing
