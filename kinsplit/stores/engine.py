"""What all engines do alike: a store needs only to read, write and rank payloads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, TypeVar

from kinsplit.chunk import Chunk
from kinsplit.stores.conditions import Condition, check_query, to_conditions
from kinsplit.stores.payload import Payload, from_payload
from kinsplit.stores.plan import Plan, plan_sync
from kinsplit.stores.protocol import ChunkStore, Hit, Query, Schema, SyncReport, Vectors, Where, check_ids

T = TypeVar("T")


class Found(NamedTuple):
    """A stored point that a query found."""

    id: str
    payload: Payload
    score: float


class EngineStore(ChunkStore):
    """`ChunkStore` by means of a few reads and writes, which each engine provides.

    Args:
        schema: What the collection was made with.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    @property
    def schema(self) -> Schema:
        """What the collection was made with."""
        return self._schema

    def known(self, source_id: str) -> dict[str, str]:
        """Return the content hash of every stored chunk of a source by chunk id."""
        payloads = self._payloads(source_id, "content_hash")
        return {id_: payload["content_hash"] for id_, payload in payloads.items()}

    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[str, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`; see `ChunkStore.sync`."""
        with self._exclusively():
            plan = plan_sync(source_id, chunks, self._payloads(source_id), vectors, self._schema.dimension)
            # Read before anything is written: the point that lends its vectors may itself get another content.
            lent = self._vectors(list(plan.donors.values())) if plan.donors else {}
            moved = {hash_: lent[id_] for hash_, id_ in plan.donors.items()}
            if plan.upserts or plan.payloads or plan.deletes:
                self._write(plan, {**moved, **vectors})
        return plan.report

    def search(self, queries: Sequence[Query], *, level: int | None = 0, where: Where | None = None) -> list[list[Hit]]:
        """Ask all queries in one call; see `ChunkStore.search`."""
        for query in queries:
            check_query(query, self._schema.dimension, level)
        rankings = self._rank(queries, level, to_conditions(level, where))
        return [[Hit(from_payload(id_, payload), score) for id_, payload, score in ranking] for ranking in rankings]

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids, without those that are not stored."""
        check_ids(ids)
        found = {id_: from_payload(id_, payload) for id_, payload in self._fetch(ids)}
        return [found[id_] for id_ in ids if id_ in found]

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source and return their number."""
        return self.sync(source_id, [], {}).deleted

    def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """Return every chunk of a source with its vectors; see `ChunkStore.export`."""
        payloads = self._payloads(source_id)
        vectors = self._vectors(list(payloads))
        pairs = [(from_payload(id_, payload), vectors[id_]) for id_, payload in payloads.items() if id_ in vectors]
        return sorted(pairs, key=lambda pair: (pair[0].level, pair[0].index))

    @abstractmethod
    def _exclusively(self) -> AbstractContextManager[object]:
        """Keep every other writer out."""

    @abstractmethod
    def _payloads(self, source_id: str, key: str | None = None) -> dict[str, Payload]:
        """Return the payloads of a source's points by id: all of each, or one key; in one round trip."""

    @abstractmethod
    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of stored points by id."""

    @abstractmethod
    def _write(self, plan: Plan, vectors: Mapping[str, Vectors]) -> None:
        """Carry out a plan that is not empty: upserts, payloads, then deletes, with vectors by content hash."""

    @abstractmethod
    def _rank(self, queries: Sequence[Query], level: int | None, conditions: Sequence[Condition]) -> list[list[Found]]:
        """Answer all queries, which have been checked, in one round trip."""

    @abstractmethod
    def _fetch(self, ids: Sequence[str]) -> Iterable[tuple[str, Payload]]:
        """Return the stored points among some ids, in any order, in one round trip."""


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut a sequence into pieces of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
