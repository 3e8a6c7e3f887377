"""A store as the event loops of a program may read it."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from kinsplit.stores import AsyncChunkStore, ChunkStore, has_async_client, open_async_store
from kinsplit.stores.threaded import ThreadedStore


class Readers:
    """Gives every event loop a reader of its own, since connections belong to the loop that opened them.

    Args:
        address: The store's address.
        collection: Its collection there.
        store: The same, open; read in the loop's threads where the engine has no asynchronous client.
    """

    def __init__(self, address: str, collection: str, store: ChunkStore) -> None:
        self._address, self._collection, self._store = address, collection, store
        self._readers: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncChunkStore] = WeakKeyDictionary()
        self._opening: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]] = WeakKeyDictionary()

    async def get(self) -> AsyncChunkStore:
        """Return the running loop's reader."""
        if not has_async_client(self._address):
            return ThreadedStore(self._store)
        loop = asyncio.get_running_loop()
        if loop not in self._readers:
            if loop not in self._opening:
                self._opening[loop] = loop.create_task(self._open(loop))
            # Others may wait for it too.
            await asyncio.shield(self._opening[loop])
        return self._readers[loop]

    async def close(self) -> None:
        """Close the running loop's reader, if it has one."""
        loop = asyncio.get_running_loop()
        if loop in self._opening:
            await asyncio.wait([self._opening[loop]])
        reader = self._readers.pop(loop, None)
        if reader is not None:
            await reader.close()

    async def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._readers[loop] = await open_async_store(self._address, self._collection, self._store.schema)
        finally:
            # The task refers to its loop, and would keep it.
            del self._opening[loop]
