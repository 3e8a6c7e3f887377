"""Chunk stores: the operations that all engines share, over the few reads and writes that each provides."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import islice
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from kinsplit.chunk import STATE, Chunk, Content
from kinsplit.errors import MissingContentError
from kinsplit.stores.filter_check import FilterWarning, named_fields, unknown_field, unknown_value, wanted_values
from kinsplit.stores.filters import Condition, check_query, paths_of, to_conditions
from kinsplit.stores.payload import ENTRY_KEYS, Payload, Payloads, contents_of, from_payload, state_of, to_entry
from kinsplit.stores.plan import Plan, check_source, compare, content_of, missing_of, plan_put, plan_removal, plan_sync
from kinsplit.stores.values import (
    Damage,
    DocumentComparison,
    Entry,
    Hit,
    Query,
    RankedEntries,
    Schema,
    SyncReport,
    Vectors,
    Where,
    check_ids,
)

P = ParamSpec("P")
T = TypeVar("T")

# Sources whose payloads show the fields of a collection, and the values of a field.
_SAMPLE, _WIDE_SAMPLE = 20, 1000


_AGREED: ContextVar[bool] = ContextVar("agreed", default=False)


@contextmanager
def agreed() -> Iterator[None]:
    """Read, until the block ends, only what all replicas of a chunk have alike: a write or a copy depends on it."""
    token = _AGREED.set(True)
    try:
        yield
    finally:
        _AGREED.reset(token)


def is_agreed() -> bool:
    """Return whether reads are those of an `agreed` block."""
    return _AGREED.get()


class FoundPoint(NamedTuple):
    """A stored point that a query found, with the version that its last write gave it, where the engine has those."""

    id: str
    payload: Payload
    score: float
    version: int = 0


class ChunkStore(ABC):
    """A collection of chunks with their vectors. Safe to use from several threads.

    A lone surrogate in a text comes back as U+FFFD, which has the same length, so offsets stay valid.

    An engine provides the abstract methods: `count`, `sources` and `close`, and the reads and writes that the others
    are made of. Call a store in a thread of an event loop, as `Index.asearch` does.

    Args:
        schema: Schema of the collection.
    """

    #: Sources whose points are looked up together.
    _sources_at_once = 1000

    def __init__(self, schema: Schema) -> None:
        #: Schema of the collection.
        self.schema = schema
        self._fields: set[str] = set()  # Fields that some chunk has, as far as filters have named them.

    def run(self, function: Callable[Concatenate[ChunkStore, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that only reads, with the store, in the process that holds the engine.

        That is this one, unless the store is of `kinsplit.stores.engines.edge.process.open_detached`: then the function
        and the arguments are pickled.
        """
        return function(self, *args, **kwargs)

    def check_fields(self, where: Where | tuple[Condition, ...] | None) -> None:
        """Check the fields that a filter names if it finds nothing.

        A field that no chunk has is an error only if one that some chunk has is spelt almost like it: a filter may well
        be older than the first document that it matches.

        Raises:
            InvalidParameterError: A field seems to be misspelt; the error names the nearest one.
        """
        for name in named_fields(to_conditions(None, where)):
            if name in self._fields or self.count(None, {name: {"$exists": True}}):
                self._fields.add(name)
                continue
            error = unknown_field(name, self._sampled(_SAMPLE))
            if error is not None:
                raise error

    def unmatched(self, where: Where | None) -> list[str]:
        """Return a sentence about each value of a filter that no chunk has, with the nearest ones that chunks have.

        Those are looked for in at most 1,000 documents, the first chunk of each.
        """
        return [
            unknown_value(each, self._sampled(_WIDE_SAMPLE, each.key))
            for each in wanted_values(to_conditions(None, where))
            if not self.count(None, {each.key: each.values})
        ]

    def _sampled(self, number: int, key: str = "") -> list[Payload]:
        """Return the payloads of the chunks of some sources, or those of the first chunks with one key."""
        sources = list(self.sources(0))
        where: dict[str, Any] = {"source_id": sources[:: max(1, -(-len(sources) // number))]}
        if not key:
            return list(self._payloads(to_conditions(None, where)).values())
        conditions = to_conditions(0, {**where, "chunk_index": 0})
        return list(self._payloads(conditions, [*{str(path[0]) for path in paths_of(key)}]).values())

    @agreed()
    def known(self, source_id: str) -> dict[str, Content]:
        """Return level and content hash of every stored chunk of a source by chunk id, in one round trip."""
        payloads = self._payloads(_is_of(source_id), ("level", "content_hash"))
        return {id_: content_of(payload) for id_, payload in payloads.items()}

    def missing(self, source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks to embed before `sync`: those whose content the source does not hold yet at their level.

        Of chunks of one level with equal contents, one is returned.
        """
        return missing_of(chunks, self.known(source_id).values())

    @agreed()
    def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Find the documents that are stored as they are, in one round trip per 1,000, before they are split.

        Args:
            origins: Hash of all that each document's chunks are made from, by the document's id.

        Returns:
            The number of leaves of each document whose stored chunks have the ids and contents of those that were made
            from the same origin, as `kinsplit.chunk.STATE` tells.
        """
        found = self._by_source(origins, ("source_id", "level", "content_hash", STATE))
        return {
            source_id: sum(payload["level"] == 0 for payload in found[source_id].values())
            for source_id, origin in origins.items()
            if _is_state(origin, found[source_id])
        }

    @agreed()
    def compare(self, documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
        """Compare documents with the stored ones, in one round trip per 1,000, to learn which to embed and to sync.

        Args:
            documents: Chunks of each document, of all levels, by the document's id.

        Returns:
            The comparison of each document.

        Raises:
            InvalidParameterError: Metadata can't be stored.
        """
        stored = self._by_source(documents)
        return {source_id: compare(chunks, stored[source_id]) for source_id, chunks in documents.items()}

    def _by_source(self, ids: Collection[str], keys: Sequence[str] | None = None) -> dict[str, dict[str, Payload]]:
        """Return the payloads of all chunks of some sources, or some of their keys, by source and by id."""
        for source_id in ids:
            check_source(source_id)
        stored: dict[str, dict[str, Payload]] = {source_id: {} for source_id in ids}
        for batch in batches(stored, self._sources_at_once):
            found = self._payloads(to_conditions(None, {"source_id": batch}), keys)
            for id_, payload in found.items():
                stored[payload["source_id"]][id_] = payload
        return stored

    @agreed()
    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`.

        New and changed chunks are written before stale ones are deleted, so a crash in between loses nothing, and the
        next sync repairs it. A chunk whose content merely moved gets its vectors from the store; a chunk whose payload
        alone changed keeps them; an unchanged chunk needs no write.

        Args:
            source_id: Id of the document, which all chunks have.
            chunks: Chunks of the document, of all levels. An empty sequence deletes the source.
            vectors: Vectors by level and content hash (`Chunk.content_key`), at least of the chunks from `missing`.

        Returns:
            The numbers of chunks added, updated, unchanged and deleted.

        Raises:
            InvalidParameterError: A chunk is of another source, an id is not a UUID or comes twice, a vector is missing
                or has another dimension, or metadata can't be stored. Nothing is written then.
        """
        with self._exclusively():
            stored = self._payloads(_is_of(source_id))
            return self._carry_out(plan_sync(source_id, chunks, stored, vectors, self.schema.dimension), vectors)

    @agreed()
    def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Add chunks of any sources, or replace those that have their ids, and delete nothing.

        For chunks that arrive in batches other than whole documents; for whole documents, `sync` also deletes stale
        chunks.

        Args:
            chunks: The chunks.
            vectors: Vectors by level and content hash (`Chunk.content_key`); not needed for contents that are stored.

        Returns:
            The numbers of chunks added, updated and unchanged.

        Raises:
            InvalidParameterError: See `sync`.
        """
        ids = [chunk.id for chunk in chunks]
        check_ids(ids)
        with self._exclusively():
            stored = self._fetch(ids)
            return self._carry_out(plan_put(chunks, stored, vectors, self.schema.dimension), vectors)

    @agreed()
    def remove(self, ids: Sequence[str]) -> int:
        """Delete chunks by id and return their number, without those that are not stored.

        Raises:
            InvalidParameterError: An id does not have the form of kinsplit's ids.
        """
        check_ids(ids)
        with self._exclusively():
            plan = plan_removal(self._fetch(ids))
            self._carry_out(plan, {})
        return len(plan.deletes)

    def _carry_out(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> SyncReport:
        # Read before writing, since the donor of the vectors may get other content itself.
        lent = self._vectors(list(plan.donors.values())) if plan.donors else {}
        moved = {content: lent[id_] for content, id_ in plan.donors.items() if id_ in lent}
        if len(moved) < len(plan.donors):
            # Deleted by a writer in another process, which not every engine excludes.
            raise MissingContentError(next(content for content in plan.donors if content not in moved))
        if plan.writes:
            self._write(plan, {**moved, **vectors})
        return plan.report

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """Run all queries, each with its own level and filter, in one call to the engine.

        Args:
            queries: The queries; their rankings are not fused.

        Returns:
            The hits of each query, best first.

        Raises:
            InvalidParameterError: A filter or vector is not valid.
        """
        rankings = self._checked(queries, lambda: self._rank(queries, None))
        return [[Hit(from_payload(id_, payload), score) for id_, payload, score, _ in ranking] for ranking in rankings]

    def rank(self, queries: Sequence[Query]) -> list[RankedEntries]:
        """Run queries as `search` does, without fetching texts: for rankings of which few texts will be read.

        Raises:
            InvalidParameterError: See `search`.
        """
        return self._checked(queries, lambda: self._entries(queries))

    def _entries(self, queries: Sequence[Query]) -> list[RankedEntries]:
        """Run validated queries in one round trip, as `_rank` does."""
        return [
            [(Entry.bare(each.id) if query.bare else to_entry(each.id, each.payload), each.score) for each in ranking]
            for query, ranking in zip(queries, self._rank(queries, ENTRY_KEYS), strict=True)
        ]

    def _checked(self, queries: Sequence[Query], run: Callable[[], list[list[T]]]) -> list[list[T]]:
        # A search has several queries with one vector.
        for query in {id(query.vector): query for query in queries}.values():
            check_query(query, self.schema.dimension)
        rankings = run() if queries else []
        for query, ranking in zip(queries, rankings, strict=True):
            if not ranking:
                self.check_fields(query.where)
        return rankings

    def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that match a filter, in order of source, level and index.

        Args:
            where: A filter; see `Where`.
            level: Level of the chunks to find; None for all levels.

        Raises:
            InvalidParameterError: The filter is not valid.
        """
        payloads = self._payloads(to_conditions(level, where))
        if not payloads:
            self.check_fields(where)
        return sorted((from_payload(id_, payload) for id_, payload in payloads.items()), key=_position)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids, without those that are not stored, in one round trip.

        Raises:
            InvalidParameterError: An id does not have the form of kinsplit's ids.
        """
        check_ids(ids)
        found = self._chunks(ids) if ids else {}
        return [found[id_] for id_ in ids if id_ in found]

    def _chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        """Return chunks by id, without those that are not stored, in one round trip."""
        return {id_: from_payload(id_, payload) for id_, payload in self._fetch(ids).items()}

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of chunks by id, without those that are not stored, in one round trip per 500 of them.

        Dense vectors may come back normalised to length 1, and a sparse vector without terms as None.

        Raises:
            InvalidParameterError: An id does not have the form of kinsplit's ids.
        """
        check_ids(ids)
        return self._vectors(list(dict.fromkeys(ids))) if ids else {}

    def get_with_vectors(self, ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors by id, in the order of the ids, without those that are not stored.

        The vectors have the form that `vectors` returns. They are read in one round trip per 500 chunks.

        Raises:
            InvalidParameterError: An id does not have the form of kinsplit's ids.
        """
        check_ids(ids)
        points = self._points(list(dict.fromkeys(ids))) if ids else {}
        found = {id_: (from_payload(id_, payload), vectors) for id_, (payload, vectors) in points.items()}
        return [found[id_] for id_ in ids if id_ in found]

    @agreed()
    def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """Return every chunk of a source with its vectors, in order of level and index, to copy it into another store.

        The vectors have the form that `vectors` returns.
        """
        payloads = self._payloads(_is_of(source_id))
        vectors = self._vectors(list(payloads))
        pairs = [(from_payload(id_, payload), vectors[id_]) for id_, payload in payloads.items() if id_ in vectors]
        return sorted(pairs, key=lambda pair: _position(pair[0]))

    @agreed()
    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source, of all levels, and return the number of its leaves."""
        with self._exclusively():
            stored = self._payloads(_is_of(source_id), ("source_id", "level"))
            self._carry_out(plan_removal(stored), {})
        return sum(payload["level"] == 0 for payload in stored.values())

    @abstractmethod
    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter.

        Raises:
            InvalidParameterError: The filter is not valid.
        """

    @abstractmethod
    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks of every source that has any, in order of the source ids.

        Args:
            level: Level of the chunks to count; None for all levels.
            where: A filter; see `Where`.

        Raises:
            InvalidParameterError: The filter is not valid.
        """

    def damage(self) -> list[Damage]:
        """Return the differences between stored and acknowledged chunks, in order of the source ids.

        Only a store that records its writes outside its engine can find any, as Edge does. Databases guarantee
        durability themselves, and memory holds nothing for long.
        """
        return []

    def first_load(self) -> AbstractContextManager[object]:
        """Return a context manager for filling an empty collection fast.

        A server's index of approximate neighbours is built once, when the block ends, instead of growing with every
        write; until then, searches compare all vectors. If the process dies, a later opening builds it. In a collection
        that holds chunks, or in an embedded engine, the block changes nothing.
        """
        return nullcontext()

    def make(self) -> None:  # noqa: B027 - a collection that is open exists
        """Make the collection if nothing has been written into it yet, for others who open it before that."""

    @abstractmethod
    def close(self) -> None:
        """Write everything to disk and release the collection. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _exclusively(self) -> AbstractContextManager[object]:
        """Return a context manager that excludes other writers."""

    @abstractmethod
    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        """Return payloads, or some of their keys, of the points that meet conditions, by id, in one round trip."""

    @abstractmethod
    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        """Return the payloads of points by id, without those that are not stored, in one round trip."""

    @abstractmethod
    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of points by id, without those that are not stored, in one round trip per 500."""

    @abstractmethod
    def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        """Return the payloads and vectors of points by id, as `_fetch` and `_vectors` do, in one round trip per 500."""

    @abstractmethod
    def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        """Execute a non-empty plan: upserts, payloads, then deletes, with vectors by content."""

    @abstractmethod
    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        """Run validated queries in one round trip, with whole payloads or some of their keys; none for bare queries."""


def warn_of_unmatched(store: ChunkStore, where: Where | None) -> list[str]:
    """Warn of each value of a filter that no chunk has, after a search that found nothing; return the messages."""
    messages = store.unmatched(where)
    for message in messages:
        warnings.warn(FilterWarning(message), stacklevel=3)
    return messages


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items in batches of at most `size`, taking no more of them than the batch needs."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def _is_of(source_id: str) -> list[Condition]:
    return to_conditions(None, {"source_id": source_id})


def _position(chunk: Chunk) -> tuple[str, int, int]:
    return chunk.source_id, chunk.level, chunk.index


def _is_state(origin: str, payloads: Payloads) -> bool:
    """Return whether a document's stored chunks are those that were made from an origin."""
    known = next((payload[STATE] for payload in payloads.values() if payload.get(STATE)), None)
    hashes = {id_: payload["content_hash"] for id_, payload in payloads.items()}
    return known is not None and known == state_of(origin, contents_of(hashes))
