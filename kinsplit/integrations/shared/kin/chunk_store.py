"""Reader of kinsplit's own stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from kinsplit.chunk import Chunk
from kinsplit.integrations.shared.kin.reader import Found, Method, Place
from kinsplit.integrations.shared.origins import is_located
from kinsplit.integrations.shared.records import from_chunk, stored_id
from kinsplit.stores import AsyncChunkStore, ChunkStore
from kinsplit.stores.payload import RECORD


class StoreReader:
    """Fetches chunks from a chunk store.

    Chunks are fetched by id if the strategy is known and they have kinsplit's ids; otherwise by a filter that matches
    more than is needed, and parents by id in a separate call.

    Args:
        opened: Returns the store; None while the collection doesn't exist, which finds nothing.
        fingerprint: Fingerprint of the strategy that made the chunks; None takes that of the collection.
        async_store: The store for event loops; without it they call the store in threads.
    """

    by_place: Literal["first"] = "first"

    def __init__(
        self,
        opened: Callable[[], ChunkStore | None],
        fingerprint: str | None = None,
        async_store: AsyncChunkStore | None = None,
    ) -> None:
        self._opened, self._fingerprint = opened, fingerprint
        self._get, self._find = (self._method(async_store, name) for name in ("get", "find"))

    def _method(self, async_store: AsyncChunkStore | None, name: str) -> Method:
        def blocking(*args: Any) -> Any:
            store = self._opened()
            return [] if store is None else getattr(store, name)(*args)

        return Method(blocking, getattr(async_store, name, None) or partial(asyncio.to_thread, blocking))

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the strategy; see `KinReader.fingerprint`."""
        store = None if self._fingerprint else self._opened()
        return self._fingerprint if store is None else store.schema.fingerprint

    async def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        return [chunk for chunk in await self._get([stored_id(id_) for id_ in ids]) if _is_located(chunk)]

    async def find(self, places: Sequence[Place], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        found = await self.get(ids) if ids else []
        if places:
            sources, levels, indices = ([*dict.fromkeys(column)] for column in zip(*places, strict=True))
            where = {"source_id": sources, "chunk_index": indices}
            placed = await self._find(where, levels[0] if len(levels) == 1 else None)
            found += [chunk for chunk in placed if _is_located(chunk)]
        return found

    async def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        return [chunk for chunk in await self._find({"source_id": list(source_ids)}, level) if _is_located(chunk)]

    async def whole_documents(self, paths: Sequence[str]) -> list[Found]:
        """Return documents of a single chunk; see `KinReader.whole_documents`."""
        found = await self._find({"file_path": list(paths), "is_chunked": False})
        return [Found(item.id, item.text, item.metadata) for item in map(from_chunk, found)]


def _is_located(chunk: Chunk) -> bool:
    """Return whether kinsplit made a chunk; anything else that a framework stores is a document of a single chunk."""
    if RECORD not in chunk.metadata:
        return True
    item = from_chunk(chunk)
    return is_located(item.metadata, item.text)
