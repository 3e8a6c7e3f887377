"""Protocol of chunk stores, and the values that they take and return."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk, Content
from kinsplit.embedding.protocol import EmbeddingContext, SparseVector
from kinsplit.errors import InvalidParameterError

#: A filter: payload keys, each with a condition. A condition is a value, a list of alternative values, or a mapping of
#: operators: "$eq", "$ne", "$in" and "$nin", and on numbers and dates "$gt", "$gte", "$lt" and "$lte". Instead of a
#: key, "$and" and "$or" join a list of filters, "$not" negates a filter, and "$id" takes a list of chunk ids.
#:
#: Values have the types of metadata (see `kinsplit.stores.json_values.to_json`), without lists and mappings. Numbers
#: are compared by value, 2020 with 2020.0, and never equal booleans. None stands for no value: the key is missing, None
#: or an empty list. A bound that is a date, or a string such as "2024-05-31" or "2024-05-31T12:00:00Z", is
#: compared with stored strings of this form; a time without a zone is in UTC. A stored list has a value, or lies within
#: bounds, when any of its members does; "$ne" and "$nin" also match chunks without the key.
#:
#: A dot in a key steps into a mapping, unless the stored key has it itself, and "[]" into a list of mappings:
#: "author.name", "authors[].name".
Where = Mapping[str, Any]

#: Version of the layout of payloads and of the vectors' names; raised when older collections become unreadable.
LAYOUT = 1


@dataclass(frozen=True, slots=True)
class Schema:
    """Properties that all chunks of a collection share; compared, but for the weights, whenever it is opened.

    Attributes:
        model: Fingerprint of the dense embedder.
        dimension: Length of its vectors.
        sparse: Fingerprint of the sparse embedder.
        strategy: Name and parameters of the chunking strategy, as JSON.
        fingerprint: Fingerprint of the strategy, which is part of every chunk's id.
        embedding_context: Context that its leaves are embedded with.
        distance: Similarity measure of dense vectors.
        weights: Weights of kin scoring that its searches take unless others are given, as JSON without the defaults.
        version: Version of the layout; see `LAYOUT`.
    """

    model: str
    dimension: int
    sparse: str
    strategy: str
    fingerprint: str
    embedding_context: EmbeddingContext = "headings"
    distance: Literal["cosine"] = "cosine"
    weights: str = "{}"
    version: int = LAYOUT


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors of one content.

    Attributes:
        dense: Shape (dimension,), float32; None only for whole documents.
        sparse: Term weights; None for a chunk that no term search should find.
    """

    dense: NDArray[np.float32] | None
    sparse: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Changes of a sync or a put, counted in leaves; their parents and documents are not counted.

    Reports of several documents add up with `+`.

    Attributes:
        added: Number of new ids.
        updated: Number of ids whose content or payload changed.
        unchanged: Number of ids that needed no write.
        deleted: Number of deleted ids.
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


@dataclass(frozen=True, slots=True)
class DocumentComparison:
    """Chunks of a document, compared with the stored ones.

    Attributes:
        missing: The chunks to embed before `sync`; see `ChunkStore.missing`.
        is_stored: Whether the stored chunks are equal, so that `sync` would change nothing.
    """

    missing: list[Chunk]
    is_stored: bool


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A query for one ranking.

    Attributes:
        using: "dense" for cosine similarity, "bm25" for term weights times IDF.
        vector: A dense vector of shape (dimension,), or a sparse one.
        limit: Largest number of hits.
        level: Level of the chunks to find: 0 for leaves, 1 for their parents, and so on; `kinsplit.chunk.DOCUMENT` for
            whole documents, which have no dense vector. Leaves, parents and documents have separate IDFs.
        where: A filter; see `Where`.
    """

    using: Literal["dense", "bm25"]
    vector: NDArray[np.float32] | SparseVector
    limit: int
    level: int = 0
    where: Where | None = None

    def __post_init__(self) -> None:
        if self.using not in ("dense", "bm25"):
            raise InvalidParameterError("using", "must be 'dense' or 'bm25'", self.using, "Use one of them.")
        if isinstance(self.vector, SparseVector) != (self.using == "bm25"):
            remedy = "Use a vector of the matching embedder."
            raise InvalidParameterError(
                "vector", "must be sparse for 'bm25' and dense for 'dense'", self.vector, remedy
            )
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
        chunk: The chunk, as it was stored.
        score: Score of the engine; higher is better, comparable within one query only.
    """

    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk in a ranking: its position and its kin, without its text.

    Attributes:
        id: Id of the chunk.
        source_id: Id of the document.
        index: Position among the chunks of its level.
        total: Number of chunks of its level.
        level: 0 for leaves.
        parent_id: Id of its parent.
        prev_id: Id of the previous chunk of the level.
        next_id: Id of the next chunk of the level.
        token_count: Length in tokens, if the strategy counts them.
        length: Length in characters.
        sibling_files: Source ids of the other files of the document's group.
        score: Score of the engine; higher is better, comparable within one query only.
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
    """A chunk that is not stored as the store acknowledged it.

    Attributes:
        source_id: Id of the document.
        level: Level of the chunk.
        index: Index of the chunk.
        kind: "lost" for a missing chunk, "payload" and "vectors" for one whose payload or vectors differ, "unknown" for
            one that was deleted or never written; "filter" if filters by a key find the wrong chunks.
        key: Payload key of those filters.
    """

    source_id: str
    level: int
    index: int
    kind: Literal["lost", "payload", "vectors", "unknown", "filter"]
    key: str = ""


#: Form of the ids that `kinsplit.identity.chunk_id` returns.
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_ids(ids: Iterable[str]) -> None:
    """Check that ids have the form of `kinsplit.identity.chunk_id`, which every engine accepts.

    Raises:
        InvalidParameterError: An id has another form.
    """
    for id_ in ids:
        if not UUID.fullmatch(id_):
            remedy = "Use the ids that kinsplit gave the chunks."
            raise InvalidParameterError("id", "must be a UUID in lower case with hyphens", id_, remedy)


def check_level(level: int) -> None:
    """Check that a chunk can have a level.

    Raises:
        InvalidParameterError: The level is out of range.
    """
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= DOCUMENT:
        remedy = "Use 0 for leaves, 1 for their parents."
        raise InvalidParameterError("level", f"must be a whole number from 0 to {DOCUMENT}", level, remedy)


class ChunkStore(Protocol):
    """A collection of chunks with their vectors. Safe to use from several threads.

    A lone surrogate in a text comes back as U+FFFD, which has the same length, so offsets stay valid.
    """

    @property
    def schema(self) -> Schema:
        """Schema of the collection."""
        ...

    def known(self, source_id: str) -> dict[str, Content]:
        """Return level and content hash of every stored chunk of a source by chunk id, in one round trip."""
        ...

    def missing(self, source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks to embed before `sync`: those whose content the source does not hold yet at their level.

        Of chunks of one level with equal contents, one is returned.
        """
        ...

    def stored(self, origins: Mapping[str, str]) -> dict[str, int]:
        """Find the documents that are stored as they are, in one round trip per 1,000, before they are split.

        Args:
            origins: Hash of all that each document's chunks are made from, by the document's id.

        Returns:
            The number of leaves of each document whose stored chunks have the ids and contents of those that were made
            from the same origin, as `kinsplit.chunk.STATE` tells.
        """
        ...

    def compare(self, documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
        """Compare documents with the stored ones, in one round trip per 1,000, to learn which to embed and to sync.

        Args:
            documents: Chunks of each document, of all levels, by the document's id.

        Returns:
            The comparison of each document.

        Raises:
            InvalidParameterError: Metadata can't be stored.
        """
        ...

    def sync(self, source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Make the stored chunks of a source equal to `chunks`.

        New and changed chunks are written before stale ones are deleted, so a crash in between loses nothing, and the
        next sync repairs it. A chunk whose content merely moved gets its vectors from the store; a chunk whose payload
        alone changed keeps them; an unchanged chunk needs no write.

        Args:
            source_id: Id of the document, which all chunks have.
            chunks: Chunks of the document, of all levels. An empty sequence deletes the source.
            vectors: Vectors by level and content hash (`Chunk.content`), at least of the chunks from `missing`.

        Returns:
            The numbers of chunks added, updated, unchanged and deleted.

        Raises:
            InvalidParameterError: A chunk is of another source, an id is not a UUID or comes twice, a vector is missing
                or has another dimension, or metadata can't be stored. Nothing is written then.
        """
        ...

    def put(self, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
        """Add chunks of any sources, or replace those that have their ids, and delete nothing.

        For chunks that arrive in batches other than whole documents; for whole documents, `sync` also deletes stale
        chunks.

        Args:
            chunks: The chunks.
            vectors: Vectors by level and content hash (`Chunk.content`); not needed for contents that are stored.

        Returns:
            The numbers of chunks added, updated and unchanged.

        Raises:
            InvalidParameterError: See `sync`.
        """
        ...

    def remove(self, ids: Sequence[str]) -> int:
        """Delete chunks by id and return their number, without those that are not stored.

        Raises:
            InvalidParameterError: An id does not have the form of kinsplit's ids.
        """
        ...

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """Run all queries, each with its own level and filter, in one call to the engine.

        Args:
            queries: The queries; their rankings are not fused.

        Returns:
            The hits of each query, best first.

        Raises:
            InvalidParameterError: A filter or vector is not valid.
        """
        ...

    def rank(self, queries: Sequence[Query]) -> list[list[Entry]]:
        """Run queries as `search` does, without fetching texts: for rankings of which few texts will be read.

        Raises:
            InvalidParameterError: See `search`.
        """
        ...

    def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that match a filter, in order of source, level and index.

        Args:
            where: A filter; see `Where`.
            level: Level of the chunks to find; None for all levels.

        Raises:
            InvalidParameterError: The filter is not valid.
        """
        ...

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids, without those that are not stored, in one round trip.

        Raises:
            InvalidParameterError: An id does not have the form of kinsplit's ids.
        """
        ...

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of chunks by id, without those that are not stored, in one round trip per 500 of them.

        Dense vectors may come back normalised to length 1, and a sparse vector without terms as None.

        Raises:
            InvalidParameterError: An id does not have the form of kinsplit's ids.
        """
        ...

    def get_with_vectors(self, ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors by id, in the order of the ids, without those that are not stored.

        The vectors have the form that `vectors` returns. An engine reads both in one round trip per 500 chunks; this
        default reads them one after the other.

        Raises:
            InvalidParameterError: An id does not have the form of kinsplit's ids.
        """
        vectors = self.vectors(ids)
        return [(chunk, vectors[chunk.id]) for chunk in self.get(ids) if chunk.id in vectors]

    def export(self, source_id: str) -> list[tuple[Chunk, Vectors]]:
        """Return every chunk of a source with its vectors, in order of level and index, to copy it into another store.

        The vectors have the form that `vectors` returns.
        """
        ...

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source, of all levels, and return the number of its leaves."""
        ...

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter.

        Raises:
            InvalidParameterError: The filter is not valid.
        """
        ...

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks of every source that has any, in order of the source ids.

        Args:
            level: Level of the chunks to count; None for all levels.
            where: A filter; see `Where`.

        Raises:
            InvalidParameterError: The filter is not valid.
        """
        ...

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

    def close(self) -> None:
        """Write everything to disk and release the collection. A second call does nothing."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
