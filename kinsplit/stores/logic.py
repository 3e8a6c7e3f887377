"""Store operations that all engines share, written as coroutines over an engine's reads and writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import islice
from typing import NamedTuple, TypeVar

from kinsplit.chunk import STATE, Chunk, Content
from kinsplit.errors import MissingContentError
from kinsplit.stores.filters import Condition, check_query, to_conditions
from kinsplit.stores.payload import ENTRY_KEYS, Payload, contents_of, from_payload, state_of, to_entry
from kinsplit.stores.plan import Plan, check_source, compare, content_of, missing_of, plan_put, plan_removal, plan_sync
from kinsplit.stores.protocol import (
    DocumentComparison,
    Entry,
    Hit,
    Query,
    Schema,
    SyncReport,
    Vectors,
    Where,
    check_ids,
)

T = TypeVar("T")

#: Sources whose points are looked up together.
_SOURCES = 1000


class FoundPoint(NamedTuple):
    """A stored point that a query found."""

    id: str
    payload: Payload
    score: float


class StoreLogic(ABC):
    """A store on top of a few reads and writes that each engine provides.

    Args:
        schema: Schema of the collection.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    @property
    def schema(self) -> Schema:
        """Schema of the collection."""
        return self._schema

    async def known(self, source_id: str) -> dict[str, Content]:
        """Return level and content hash of every stored chunk of a source by chunk id."""
        payloads = await self._payloads(_is_of(source_id), ("level", "content_hash"))
        return {id_: content_of(payload) for id_, payload in payloads.items()}

    async def missing(self, source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks to embed before `sync`; see `ChunkStore.missing`."""
        return missing_of(chunks, (await self.known(source_id)).values())

    async def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Find the documents that are stored as they are; see `ChunkStore.stored`."""
        found = await self._by_source(origins, ("source_id", "level", "content_hash", STATE))
        return {
            source_id: sum(payload["level"] == 0 for payload in found[source_id].values())
            for source_id, origin in origins.items()
            if _is_state(origin, found[source_id])
        }

    async def compare(self, documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
        """Compare documents with the stored ones; see `ChunkStore.compare`."""
        stored = await self._by_source(documents)
        return {source_id: compare(chunks, stored[source_id]) for source_id, chunks in documents.items()}

    async def _by_source(
        self, source_ids: Collection[str], keys: Sequence[str] | None = None
    ) -> dict[str, dict[str, Payload]]:
        """Return the payloads of all chunks of some sources, or some of their keys, by source and by id."""
        for source_id in source_ids:
            check_source(source_id)
        stored: dict[str, dict[str, Payload]] = {source_id: {} for source_id in source_ids}
        for batch in batches(stored, _SOURCES):
            found = await self._payloads(to_conditions(None, {"source_id": batch}), keys)
            for id_, payload in found.items():
                stored[payload["source_id"]][id_] = payload
        return stored

    async def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`; see `ChunkStore.sync`."""
        async with self._exclusively():
            stored = await self._payloads(_is_of(source_id))
            return await self._carry_out(plan_sync(source_id, chunks, stored, vectors, self._schema.dimension), vectors)

    async def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Add or replace chunks by id; see `ChunkStore.put`."""
        ids = [chunk.id for chunk in chunks]
        check_ids(ids)
        async with self._exclusively():
            stored = await self._fetch(ids)
            return await self._carry_out(plan_put(chunks, stored, vectors, self._schema.dimension), vectors)

    async def remove(self, ids: Sequence[str]) -> int:
        """Delete chunks by id and return their number."""
        check_ids(ids)
        async with self._exclusively():
            plan = plan_removal(await self._fetch(ids))
            await self._carry_out(plan, {})
        return len(plan.deletes)

    async def _carry_out(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> SyncReport:
        # Read before writing, since the donor of the vectors may get other content itself.
        lent = await self._vectors(list(plan.donors.values())) if plan.donors else {}
        moved = {content: lent[id_] for content, id_ in plan.donors.items() if id_ in lent}
        if len(moved) < len(plan.donors):
            # Deleted by a writer in another process, which not every engine excludes.
            raise MissingContentError(next(content for content in plan.donors if content not in moved))
        if plan.writes:
            await self._write(plan, {**moved, **vectors})
        return plan.report

    async def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """Run all queries in one call; see `ChunkStore.search`."""
        rankings = await self._checked_rank(queries, None)
        return [[Hit(from_payload(id_, payload), score) for id_, payload, score in ranking] for ranking in rankings]

    async def rank(self, queries: Sequence[Query]) -> list[list[Entry]]:
        """Run all queries in one call without fetching texts; see `ChunkStore.rank`."""
        return [[to_entry(*found) for found in ranking] for ranking in await self._checked_rank(queries, ENTRY_KEYS)]

    async def _checked_rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        for query in queries:
            check_query(query, self._schema.dimension)
        return await self._rank(queries, keys) if queries else []

    async def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that match a filter; see `ChunkStore.find`."""
        payloads = await self._payloads(to_conditions(level, where))
        return sorted((from_payload(id_, payload) for id_, payload in payloads.items()), key=_position)

    async def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids, without those that are not stored."""
        check_ids(ids)
        found = {id_: from_payload(id_, payload) for id_, payload in (await self._fetch(ids)).items()} if ids else {}
        return [found[id_] for id_ in ids if id_ in found]

    async def delete(self, source_id: str) -> int:
        """Delete all chunks of a source and return the number of its leaves."""
        async with self._exclusively():
            stored = await self._payloads(_is_of(source_id), ("source_id", "level"))
            await self._carry_out(plan_removal(stored), {})
        return sum(payload["level"] == 0 for payload in stored.values())

    async def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of chunks by id, without those that are not stored."""
        check_ids(ids)
        return await self._vectors(list(dict.fromkeys(ids))) if ids else {}

    async def get_with_vectors(self, ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors by id; see `ChunkStore.get_with_vectors`."""
        check_ids(ids)
        points = await self._points(list(dict.fromkeys(ids))) if ids else {}
        found = {id_: (from_payload(id_, payload), vectors) for id_, (payload, vectors) in points.items()}
        return [found[id_] for id_ in ids if id_ in found]

    async def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """Return every chunk of a source with its vectors; see `ChunkStore.export`."""
        payloads = await self._payloads(_is_of(source_id))
        vectors = await self._vectors(list(payloads))
        pairs = [(from_payload(id_, payload), vectors[id_]) for id_, payload in payloads.items() if id_ in vectors]
        return sorted(pairs, key=lambda pair: _position(pair[0]))

    @abstractmethod
    def _exclusively(self) -> AbstractAsyncContextManager[object]:
        """Return a context manager that excludes other writers."""

    @abstractmethod
    async def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        """Return payloads, or some of their keys, of the points that meet conditions, by id, in one round trip."""

    @abstractmethod
    async def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        """Return the payloads of points by id, without those that are not stored, in one round trip."""

    @abstractmethod
    async def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of points by id, without those that are not stored, in one round trip per 500."""

    @abstractmethod
    async def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        """Return the payloads and vectors of points by id, as `_fetch` and `_vectors` do, in one round trip per 500."""

    @abstractmethod
    async def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        """Execute a non-empty plan: upserts, payloads, then deletes, with vectors by content."""

    @abstractmethod
    async def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        """Run validated queries in one round trip, with whole payloads or some of their keys."""


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items in batches of at most `size`, taking no more of them than the batch needs."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def _is_of(source_id: str) -> list[Condition]:
    return to_conditions(None, {"source_id": source_id})


def _position(chunk: Chunk) -> tuple[str, int, int]:
    return chunk.source_id, chunk.level, chunk.index


def _is_state(origin: str, payloads: Mapping[str, Payload]) -> bool:
    """Return whether a document's stored chunks are those that were made from an origin."""
    known = next((payload[STATE] for payload in payloads.values() if payload.get(STATE)), None)
    hashes = {id_: payload["content_hash"] for id_, payload in payloads.items()}
    return known is not None and known == state_of(origin, contents_of(hashes))
