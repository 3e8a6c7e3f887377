"""Kin from a chunk store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinsplit.chunk import Chunk
from kinsplit.integrations.origins import is_located
from kinsplit.integrations.records import from_chunk
from kinsplit.integrations.siblings import Found, Place
from kinsplit.stores import ChunkStore
from kinsplit.stores.payload import RECORD


class StoreReader:
    """Fetches from a chunk store.

    By id where the strategy is known and the ids are those that kinsplit gave; otherwise by a filter, which lets more
    through than is asked for, and parents by id in a call of their own.

    Args:
        opened: Returns the store; None as long as there is no collection, in which nothing is found.
        fingerprint: Of the strategy that made the chunks; None takes the one that the collection was made with.
    """

    def __init__(self, opened: Callable[[], ChunkStore | None], fingerprint: str | None = None) -> None:
        self._opened, self._fingerprint = opened, fingerprint

    @property
    def fingerprint(self) -> str | None:
        """The strategy's; see `KinReader.fingerprint`."""
        store = None if self._fingerprint else self._opened()
        return self._fingerprint if store is None else store.schema.fingerprint

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        store = self._opened()
        return [] if store is None else [chunk for chunk in store.get(ids) if _stands(chunk)]

    def find(self, places: Sequence[Place], ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        store = self._opened()
        if store is None:
            return []
        found = store.get(ids) if ids else []
        if places:
            sources, levels, indices = ([*dict.fromkeys(column)] for column in zip(*places, strict=True))
            where = {"source_id": sources, "chunk_index": indices}
            found += store.find(where, levels[0] if len(levels) == 1 else None)
        return [chunk for chunk in found if _stands(chunk)]

    def whole(self, paths: Sequence[str]) -> list[Found]:
        """Return documents that are a single chunk; see `KinReader.whole`."""
        store = self._opened()
        found = [] if store is None else store.find({"file_path": list(paths), "is_chunked": False})
        return [Found(item.id, item.text, item.metadata, None) for item in map(from_chunk, found)]


def _stands(chunk: Chunk) -> bool:
    """Whether a chunk has its place from kinsplit; what else a framework keeps is a document of a single chunk."""
    if RECORD not in chunk.metadata:
        return True
    item = from_chunk(chunk)
    return is_located(item.metadata, item.text)
