"""Readers of the frameworks' own stores, and of several stores together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from kinsplit.chunk import Chunk
from kinsplit.integrations.shared.kin.filters import Values, by_metadata
from kinsplit.integrations.shared.kin.ids import by_id
from kinsplit.integrations.shared.kin.reader import Found, KinReader, Place
from kinsplit.integrations.shared.origins import has_chunk_metadata
from kinsplit.integrations.shared.records import stored_id


class FrameworkReader:
    """Fetches chunks from a vector store or document store of either framework, by id or by metadata.

    Args:
        store: The store.
        fingerprint: Fingerprint of the strategy that made the chunks, if it is known.
    """

    def __init__(self, store: Any, fingerprint: str | None = None) -> None:
        self.fingerprint = fingerprint
        self._by_id, self._by_metadata = by_id(store), by_metadata(store)

    @property
    def is_readable(self) -> bool:
        """Whether the store offers a read by id, or one by metadata that is known."""
        return self._by_id is not None or self._by_metadata is not None

    @property
    def by_place(self) -> Literal["first", "last", "never"]:
        """When chunks are read by place; see `KinReader.by_place`."""
        if self._by_metadata is None:
            return "never"
        return "first" if self._by_id is None else "last"

    async def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        if self._by_id is None or not ids:
            return []
        try:
            return [found.to_chunk() for found in await self._by_id(ids)]
        except NotImplementedError:  # A method that a subclass has and refuses.
            self._by_id = None
            return []

    async def find(self, places: Sequence[Place], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        found = await self.get(ids)
        if places:
            sources, _, indices = ([*dict.fromkeys(column)] for column in zip(*places, strict=True))
            found += await self._matching({"source_id": sources, "chunk_index": indices})
        return found

    async def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        return await self._matching({"source_id": list(source_ids), "level": [level]})

    async def whole_documents(self, paths: Sequence[str]) -> list[Found]:
        """Return documents that were embedded whole or have a single chunk; see `KinReader.whole_documents`."""
        found = await self._read({"file_path": list(paths)}) if paths else []
        return [one for one in found if not one.metadata.get("is_chunked", has_chunk_metadata(one.metadata))]

    async def _matching(self, values: Values) -> list[Chunk]:
        return [found.to_chunk() for found in await self._read(values) if found.is_located]

    async def _read(self, values: Values) -> list[Found]:
        return [] if self._by_metadata is None else await self._by_metadata(values)


class JointReader:
    """Fetches chunks from several stores: from each what the ones before it don't have.

    Args:
        readers: Readers of the stores; the fingerprint is that of the first.
    """

    def __init__(self, readers: Sequence[KinReader]) -> None:
        self._readers = readers
        order = [reader.by_place for reader in readers]
        self.by_place: Literal["first", "last", "never"] = (
            "never" if set(order) == {"never"} else "first" if order[0] == "first" else "last"
        )

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the strategy; see `KinReader.fingerprint`."""
        return self._readers[0].fingerprint

    async def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        return await self.find([], ids)

    async def find(self, places: Sequence[Place], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        found: list[Chunk] = []
        for reader in self._readers:
            if not places and not ids:
                break
            found += await (reader.find(places, ids) if places else reader.get(ids))
            known, taken = ({chunk.id for chunk in found}, {(c.source_id, c.level, c.index) for c in found})
            ids = [id_ for id_ in ids if stored_id(id_) not in known]
            places = [place for place in places if place not in taken]
        return found

    async def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        return [chunk for reader in self._readers for chunk in await reader.level(source_ids, level)]

    async def whole_documents(self, paths: Sequence[str]) -> list[Found]:
        """Return documents of a single chunk; see `KinReader.whole_documents`."""
        return [found for reader in self._readers for found in await reader.whole_documents(paths)]
