"""Values that chunk stores take and return."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from itertools import filterfalse
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk, Content
from kinsplit.embedding.protocol import EmbeddingContext, SparseVector
from kinsplit.errors import InvalidParameterError, require

if TYPE_CHECKING:
    from kinsplit.stores.filters import Condition

#: A filter: payload keys, each with a condition. A condition is a value, a list of alternative values, or a mapping of
#: operators: "$eq", "$ne", "$in" and "$nin"; on numbers and dates "$gt", "$gte", "$lt", "$lte" and "$between" with two
#: bounds; "$contains", which is "$eq"; "$exists" with True or False; and "$not" with a condition. Instead of a key,
#: "$and" and "$or" join a list of filters, "$not" negates a filter, and "$id" takes a list of chunk ids.
#:
#: Values have the types of metadata (see `kinsplit.stores.json_values.to_json`), without lists and mappings. Numbers
#: are compared by value, 2020 with 2020.0, and never equal booleans. None stands for no value: the key is missing, None
#: or an empty list. A bound that is a date, or a string such as "2024-05-31" or "2024-05-31T12:00:00Z", is
#: compared with stored strings of this form; a time without a zone is in UTC. A stored list has a value, or lies within
#: bounds, when any of its members does; "$ne" and "$nin" also match chunks without the key.
#:
#: A dot in a key steps into a mapping, unless the stored key has it itself, and "[]" into a list of mappings:
#: "author.name", "authors[].name". {"author": {"name": ...}} is the same as {"author.name": ...}.
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
        context_model: Language model that writes their placements, or "none".
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
    context_model: str = "none"
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

    @classmethod
    def of(cls, dense: Any, indices: Iterable[int] | None, weights: Iterable[float] | None) -> Self:
        """Return a dense vector and a sparse one, given by its terms and their weights; each may be None."""
        sparse = None if indices is None or weights is None else SparseVector(tuple(indices), tuple(weights))
        return cls(None if dense is None else np.asarray(dense, dtype=np.float32), sparse)


#: Vectors by level and content hash; see `Chunk.content_key`.
Embedded: TypeAlias = Mapping[Content, Vectors]


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
        return SyncReport(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class DocumentComparison:
    """Chunks of a document, compared with the stored ones.

    Attributes:
        missing: The chunks to embed before `sync`; see `ChunkStore.missing`.
        is_stored: Whether the stored chunks are equal, so that `sync` would change nothing.
        is_renamed: Whether stored chunks have other names of a course, so that `sync` needs the vectors of all
            contents: their terms change, and what is embedded doesn't.
    """

    missing: list[Chunk]
    is_stored: bool
    is_renamed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A query for one ranking.

    Attributes:
        using: "dense" for cosine similarity, "bm25" for term weights times IDF.
        vector: A dense vector of shape (dimension,), or a sparse one.
        limit: Largest number of hits.
        level: Level of the chunks to find: 0 for leaves, 1 for their parents, and so on; `kinsplit.chunk.DOCUMENT` for
            whole documents, which have no dense vector. Leaves, parents and documents have separate IDFs.
        where: A filter; see `Where`. One that was parsed is taken as it is; see `to_conditions`.
        bare: Whether only ids and scores are wanted, so that an engine may leave the entries' other fields empty.
    """

    using: Literal["dense", "bm25"]
    vector: NDArray[np.float32] | SparseVector
    limit: int
    level: int = 0
    where: Where | tuple[Condition, ...] | None = None
    bare: bool = False

    def __post_init__(self) -> None:
        require(self.using in ("dense", "bm25"), "using", "must be 'dense' or 'bm25'", self.using, "Use one of them.")
        if isinstance(self.vector, SparseVector) != (self.using == "bm25"):
            remedy = "Use a vector of the matching embedder."
            rule = "must be sparse for 'bm25' and dense for 'dense'"
            raise InvalidParameterError("vector", rule, self.vector, remedy)
        require(self.limit >= 1, "limit", "must be at least 1", self.limit, "Ask for one hit or more.")
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


class Entry(NamedTuple):
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
        title: Title of the document; empty if its metadata has none.
        course: Names of its course, as far as its metadata has them: the course, and its title.
    """

    id: str
    source_id: str
    index: int  # type: ignore[assignment]
    total: int
    level: int
    parent_id: str | None
    prev_id: str | None
    next_id: str | None
    token_count: int | None
    length: int
    sibling_files: tuple[str, ...]
    title: str
    course: tuple[str, ...]

    @classmethod
    def bare(cls, id_: str) -> Self:
        """Return an entry with an id alone; see `Query.bare`."""
        return cls(id_, "", 0, 0, 0, None, None, None, None, 0, (), "", ())


#: Entries that a query found, best first, each with its score: higher is better, comparable within one query only.
RankedEntries: TypeAlias = list[tuple[Entry, float]]


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
    """Check that ids have the form of `kinsplit.identity.chunk_id`, or raise InvalidParameterError."""
    for wrong in filterfalse(UUID.fullmatch, ids):
        remedy = "Use the ids that kinsplit gave the chunks."
        raise InvalidParameterError("id", "must be a UUID in lower case with hyphens", wrong, remedy)


def check_level(level: int) -> None:
    """Check that a chunk can have a level, or raise InvalidParameterError if the level is out of range."""
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= DOCUMENT:
        remedy = "Use 0 for leaves, 1 for their parents."
        raise InvalidParameterError("level", f"must be a whole number from 0 to {DOCUMENT}", level, remedy)


Kind: TypeAlias = Literal["keyword", "integer", "uuid"]


class Layer(NamedTuple):
    """Levels that share the names of their dense vector, if any, and their sparse one, so an index and an IDF."""

    levels: range
    dense: str | None
    sparse: str


#: Leaves, parents and whole documents. Searches by the vector "dense", as the frameworks' own Qdrant stores run them,
#: find leaves only.
LAYERS = (
    Layer(range(1), "dense", "bm25"),
    Layer(range(1, DOCUMENT), "dense_parent", "bm25_parent"),
    Layer(range(DOCUMENT, DOCUMENT + 1), None, "bm25_document"),
)

_LAYER_OF = [layer for layer in LAYERS for _ in layer.levels]

DENSE = tuple(layer.dense for layer in LAYERS if layer.dense)
SPARSE = tuple(layer.sparse for layer in LAYERS)

#: Kinds of the payload keys that kinsplit filters by.
INDEXED: dict[str, Kind] = {
    "source_id": "keyword",
    "chunk_index": "integer",
    "level": "integer",
    "parent_id": "uuid",
    "subject": "keyword",
    "group_id": "keyword",
}


def layer_of(level: int) -> Layer:
    """Return the layer of a level from 0 to `DOCUMENT`."""
    return _LAYER_OF[level]
