"""What every chunk store does, whichever engine keeps the points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk, Content
from kinsplit.embedding.protocol import SparseVector
from kinsplit.errors import InvalidParameterError

#: A filter: payload keys with what each must have. That is a value, the list of values one of which it must have, or a
#: mapping of operators: "$eq", "$ne", "$in" and "$nin", and on numbers and dates "$gt", "$gte", "$lt" and "$lte". In
#: the place of a key, "$and" and "$or" join a list of filters, "$not" negates one, and "$id" takes the list of the ids
#: one of which a chunk must have.
#:
#: Values are what metadata can hold (see `kinsplit.stores.json_values.to_json`), without lists and mappings. Numbers
#: are compared by value, 2020 with 2020.0, and are no booleans. None stands for no value: the key is missing, or is
#: None or an empty list. A bound that is a date, or a string such as "2024-05-31" or "2024-05-31T12:00:00Z", is
#: compared with stored strings of this form; a time without a zone is in UTC. A stored list has a value, or lies within
#: bounds, when any of its members does; "$ne" and "$nin" also let through what lacks the key.
#:
#: A dot in a key steps into a mapping, unless the stored key has it itself, and "[]" into a list of mappings:
#: "author.name", "authors[].name".
Where = Mapping[str, Any]

#: Of payloads and vectors' names; raised whenever a collection of an older version can't be read any more.
LAYOUT = 3


@dataclass(frozen=True, slots=True)
class Schema:
    """What all chunks of one collection have in common; compared whenever the collection is opened.

    Attributes:
        model: Fingerprint of the dense embedder.
        dimension: Length of its vectors.
        sparse: Fingerprint of the sparse embedder.
        strategy: Name and parameters of the chunking strategy, for people.
        fingerprint: Fingerprint of the strategy, which is part of every chunk's id.
        distance: How dense vectors are compared.
        version: Of the layout of payloads and vectors.
    """

    model: str
    dimension: int
    sparse: str
    strategy: str
    fingerprint: str
    distance: Literal["cosine"] = "cosine"
    version: int = LAYOUT


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors of one content.

    Attributes:
        dense: Shape (dimension,), float32; None for a whole document, and only there.
        sparse: Term weights, or None for a chunk that no term search should find.
    """

    dense: NDArray[np.float32] | None
    sparse: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync or a put changed, counted in leaves, with which their parents and documents come, change and go.

    Reports of several documents add up with `+`.

    Attributes:
        added: Ids that the store did not hold.
        updated: Ids whose content or payload changed.
        unchanged: Ids that cost no write.
        deleted: Ids that are gone.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0

    def __add__(self, other: SyncReport) -> SyncReport:
        return SyncReport(
            self.added + other.added,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
            self.deleted + other.deleted,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One ranking to ask for.

    Attributes:
        using: "dense" for cosine similarity, "bm25" for term weights times IDF.
        vector: A dense vector of shape (dimension,), or a sparse one.
        limit: Most hits.
        level: Level of the chunks to find: 0 for leaves, 1 for their parents, and so on; `kinsplit.chunk.DOCUMENT` for
            whole documents, which have no dense vector. Leaves, parents and documents each have an IDF of their own.
        where: A filter; see `Where`.
    """

    using: Literal["dense", "bm25"]
    vector: NDArray[np.float32] | SparseVector
    limit: int
    level: int = 0
    where: Where | None = None

    def __post_init__(self) -> None:
        if self.using not in ("dense", "bm25"):
            raise InvalidParameterError("using", "must be 'dense' or 'bm25'", self.using, "Take one of them.")
        if isinstance(self.vector, SparseVector) != (self.using == "bm25"):
            remedy = "Take the vector of the embedder that the query names."
            raise InvalidParameterError("vector", "must be sparse for 'bm25' and only then", self.vector, remedy)
        if self.limit < 1:
            raise InvalidParameterError("limit", "must be at least 1", self.limit, "Ask for one hit or more.")
        check_level(self.level)
        if self.level == DOCUMENT and self.using == "dense":
            rule = "can't be that of whole documents for 'dense'"
            raise InvalidParameterError("level", rule, self.level, "Ask for documents by 'bm25'.")


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that a query found.

    Attributes:
        chunk: As it was stored.
        score: The engine's, higher is better; comparable within one query only.
    """

    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk in a ranking: its place and its kin, without its text.

    Attributes:
        id: As of `kinsplit.chunk.Chunk`, like the following ones.
        source_id: Id of the document.
        index: Position among the chunks of its level.
        total: Number of chunks of its level.
        level: 0 for leaves.
        parent_id: Id of its parent.
        prev_id: Id of the previous chunk of the level.
        next_id: Id of the next one.
        token_count: Length in tokens where the strategy counts them.
        length: Length in characters.
        sibling_files: Source ids of the other files of the document's group.
        score: The engine's, higher is better; comparable within one query only.
    """

    id: str
    source_id: str
    index: int
    total: int
    level: int
    parent_id: str | None
    prev_id: str | None
    next_id: str | None
    token_count: int | None
    length: int
    sibling_files: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Damage:
    """A chunk that is not stored as the store has acknowledged it.

    Attributes:
        source_id: The document.
        level: The chunk's level.
        index: The chunk's index.
        kind: "lost" where it is gone, "payload" and "vectors" where these are others, "unknown" where it was deleted
            or never written; "filter", of no chunk, where filters find other chunks than they should.
        key: The payload key of these filters.
    """

    source_id: str
    level: int
    index: int
    kind: Literal["lost", "payload", "vectors", "unknown", "filter"]
    key: str = ""


#: How `kinsplit.identity.chunk_id` writes an id.
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_ids(ids: Iterable[str]) -> None:
    """Make sure that ids are UUIDs as `kinsplit.identity.chunk_id` writes them, which every engine takes.

    Raises:
        InvalidParameterError: One is not.
    """
    for id_ in ids:
        if not UUID.fullmatch(id_):
            remedy = "Take the ids that kinsplit gave the chunks."
            raise InvalidParameterError("id", "must be a UUID in lower case with hyphens", id_, remedy)


def check_level(level: int) -> None:
    """Make sure that a level is one that a chunk can have.

    Raises:
        InvalidParameterError: It is not.
    """
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= DOCUMENT:
        remedy = "Take 0 for leaves, 1 for their parents."
        raise InvalidParameterError("level", f"must be a whole number from 0 to {DOCUMENT}", level, remedy)


class ChunkStore(Protocol):
    """A collection of chunks with their vectors. Safe to use from several threads.

    A lone surrogate in any text comes back as U+FFFD, which has the same length, so offsets stay true.
    """

    @property
    def schema(self) -> Schema:
        """What the collection was made with."""
        ...

    def known(self, source_id: str) -> dict[str, Content]:
        """Return level and content hash of every stored chunk of a source by chunk id, in one round trip."""
        ...

    def missing(self, source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks whose content the source does not hold yet at their level: those to embed before `sync`.

        Equal contents of one level are returned once.
        """
        ...

    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`.

        New and changed chunks are written before stale ones are deleted, so a crash between the two loses nothing, and
        the next sync repairs it. A chunk whose content merely moved takes its vectors from the store; a chunk of which
        only the payload changed keeps them; an unchanged chunk costs no write.

        Args:
            source_id: The document's id, which all chunks carry.
            chunks: Every chunk of the document, of all levels. None at all deletes the source.
            vectors: By level and content hash (`Chunk.content`), at least for what `missing` returns.

        Returns:
            The numbers of chunks added, updated, unchanged and deleted.

        Raises:
            InvalidParameterError: A chunk of another source, an id that is no UUID or comes twice, a vector that is
                missing or has another dimension, metadata that can't be stored. Nothing was written then.
        """
        ...

    def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Add chunks of any sources, or replace those that have their ids, and delete nothing.

        For chunks that arrive in batches which are no whole documents; where they are, `sync` also clears away what is
        stale.

        Args:
            chunks: The chunks.
            vectors: By level and content hash (`Chunk.content`); not needed for a chunk whose stored content is equal.

        Returns:
            The numbers of chunks added, updated and unchanged.

        Raises:
            InvalidParameterError: As `sync` does.
        """
        ...

    def remove(self, ids: Sequence[str]) -> int:
        """Delete chunks by id and return their number, without those that are not stored.

        Raises:
            InvalidParameterError: An id that is no UUID as kinsplit writes them.
        """
        ...

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """Ask all queries, each of a level and with a filter of its own, in one call to the engine.

        Args:
            queries: The rankings to ask for; they are not fused.

        Returns:
            Per query its hits, best first.

        Raises:
            InvalidParameterError: A filter or a vector that the engine can't take.
        """
        ...

    def rank(self, queries: Sequence[Query]) -> list[list[Entry]]:
        """Ask as `search` does, for the chunks' places alone: for rankings of which few texts will be read.

        Raises:
            InvalidParameterError: As `search` does.
        """
        ...

    def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that a filter lets through, in order of source, level and index.

        Args:
            where: As in `Query`.
            level: Level of the chunks to find; None for all levels.

        Raises:
            InvalidParameterError: A filter that the engine can't take.
        """
        ...

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids, without those that are not stored, in one round trip.

        Raises:
            InvalidParameterError: An id that is no UUID as kinsplit writes them.
        """
        ...

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of chunks by id, without those that are not stored, in one round trip for 500 of them.

        Dense vectors may come back normalised to length 1, and a sparse vector without terms as None.

        Raises:
            InvalidParameterError: An id that is no UUID as kinsplit writes them.
        """
        ...

    def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """Return every chunk of a source with its vectors, by level and index, to copy it into another store.

        The vectors are as `vectors` returns them.
        """
        ...

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source, of all levels, and return the number of its leaves, as `sync` counts."""
        ...

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or all, that a filter lets through.

        Raises:
            InvalidParameterError: A filter that the engine can't take.
        """
        ...

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of chunks, of a level or all, of every source that has any, in order of the source ids.

        Args:
            level: Level of the chunks to count; None for all levels.
            where: A filter that lets chunks through, as in `Query`.

        Raises:
            InvalidParameterError: A filter that the engine can't take.
        """
        ...

    def damage(self) -> list[Damage]:
        """Return how what is stored differs from what was acknowledged, by source.

        Only a store that keeps a record of its own beside its engine's files can tell, as Edge does. A database answers
        for what it holds by itself, and memory holds nothing for long.
        """
        return []

    def close(self) -> None:
        """Write everything to disk and let go of the collection. A second call does nothing."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
