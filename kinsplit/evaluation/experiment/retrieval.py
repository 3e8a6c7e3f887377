"""Splitting, indexing and searching, in the same way for all strategies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk, Document, by_source
from kinsplit.embedding import Embedder, Progress
from kinsplit.embedding.calibration import baseline_of
from kinsplit.embedding.protocol import TokenEmbedder, repeatable
from kinsplit.embedding.sparse import ANY, Bm25Embedder
from kinsplit.errors import InvalidParameterError, inline
from kinsplit.evaluation.experiment.rankers import RankedChunk, Ranker
from kinsplit.evaluation.labels import Dataset, DocumentNames
from kinsplit.evaluation.measures.spans import Read, read_slices
from kinsplit.identity import chunk_id
from kinsplit.index import Index, schema_of
from kinsplit.indexing.indexer import Indexer
from kinsplit.parsers import Strategy
from kinsplit.retrieval import SearchQuestion
from kinsplit.spans import replace_surrogates
from kinsplit.stores import ChunkStore, Query, open_store
from kinsplit.stores.store import batches
from kinsplit.support.batches import by_size
from kinsplit.tokenizers import Tokenizer

if TYPE_CHECKING:
    from kinsplit.evaluation.experiment.strategy_run import Setup

T = TypeVar("T")
#: Number of characters of a batch to split.
_CHARACTERS = 500_000
#: Factor by which a ranking with too few tokens is extended.
_MORE = 2


class Depth(NamedTuple):
    """The depth of rankings."""

    chunks: int  # Number of chunks of the search, whose order and time are reported.
    tokens: int  # Minimum number of tokens; if the chunks hold fewer, those of a longer search follow.
    budgets: tuple[int, ...] = ()  # Numbers of tokens to ask for passages, if the ranker returns any.


class Clock:
    """An embedder that measures its time."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.seconds = 0.0
        self.repeatable = repeatable(embedder)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        return self._timed(self._embedder.embed, texts, progress)

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """See `kinsplit.embedding.protocol.TokenEmbedder`."""
        return self._timed(cast("TokenEmbedder", self._embedder).embed_tokens, texts)

    def _timed(self, function: Callable[..., T], *arguments: object) -> T:
        begin = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            self.seconds += time.perf_counter() - begin

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


def split(
    strategy: Strategy, documents: Sequence[Document], progress: Progress | None = None
) -> tuple[list[Chunk], float]:
    """Split all documents, and return the chunks and the time in seconds."""
    chunks, done, seconds = list[Chunk](), 0, 0.0
    for batch in by_size(documents, _CHARACTERS, len):
        begin = time.perf_counter()
        chunks += [chunk for own in strategy.chunk_many(batch) for chunk in own]
        seconds += time.perf_counter() - begin
        done += len(batch)
        if progress:
            progress(done, len(documents))
    return chunks, seconds


@dataclass(frozen=True, slots=True)
class _ExistingChunks:
    """A strategy for the indexer that returns existing chunks."""

    name: str
    fingerprint: str
    chunks: Mapping[str, list[Chunk]]
    repeatable = False

    def chunk_many(self, documents: Iterable[Document]) -> list[list[Chunk]]:
        return [self.chunks.get(document.id, []) for document in documents]


class Questions:
    """The embedded questions, shared by all strategies."""

    def __init__(self, embedder: Embedder, bm25: Bm25Embedder) -> None:
        self._embedder, self._bm25 = embedder, bm25
        self._known: dict[str, tuple[SearchQuestion, float]] = {}

    def ask(self, text: str) -> tuple[SearchQuestion, float]:
        """Return an embedded question, and the time of embedding it in seconds."""
        if not self._known:
            baseline_of(self._embedder, self._embedder.embed_query(text))  # Load the model outside of a search's time.
        if text not in self._known:
            begin = time.perf_counter()
            dense = self._embedder.embed_query(text)
            question = SearchQuestion.of(text, dense, self._bm25, baseline=baseline_of(self._embedder, dense))
            self._known[text] = question, time.perf_counter() - begin
        return self._known[text]


class QuestionRanking(NamedTuple):
    """The ranking for one question."""

    positions: list[int]
    scores: list[float]
    cosines: list[float]
    seconds: float
    # See `Outcome.read`; keys are strings, as in JSON.
    read: Mapping[str, Mapping[str, Sequence[Sequence[int]]]] = MappingProxyType({})


@dataclass
class StrategyCollection:
    """The chunks of one strategy in their own store."""

    store: ChunkStore
    leaves: Sequence[Chunk]
    vectors: Mapping[str, NDArray[np.float32]]
    index: Index
    tokenizer: Tokenizer
    documents: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._positions = {leaf.id: position for position, leaf in enumerate(self.leaves)}
        self._tokens = self.tokenizer.count([leaf.text for leaf in self.leaves]).tolist() if self.leaves else []

    def answer(self, text: str, asked: tuple[SearchQuestion, float], ranker: Ranker, depth: Depth) -> QuestionRanking:
        """Return the ranking for a question from `Questions.ask`, and the passages if the ranker returns any."""
        question, embedding = asked
        begin = time.perf_counter()
        found = list(ranker.rank(self.store, question, depth.chunks))
        seconds = embedding + time.perf_counter() - begin
        found = self._extended(found, question, ranker, depth)
        read: dict[str, Read] = {}
        if ranker.passages is not None:
            times = []
            for budget in depth.budgets:
                begin = time.perf_counter()
                slices = ranker.passages(self.index, text, budget)
                times.append(time.perf_counter() - begin)
                seen = read_slices(slices, budget, self.tokenizer)
                read[str(budget)] = {self.documents.get(id_, id_): spans for id_, spans in seen.items()}
            seconds = max(times, default=seconds)
        return QuestionRanking(
            positions=[self._positions[chunk.id] for chunk, _ in found],
            scores=[float(score) for _, score in found],
            cosines=[float(self.vectors[chunk.id] @ question.vector) for chunk, _ in found],
            seconds=seconds,
            read=read,
        )

    def _extended(
        self, found: list[RankedChunk], question: SearchQuestion, ranker: Ranker, depth: Depth
    ) -> list[RankedChunk]:
        """Extend a ranking by chunks of longer searches, up to the depth in tokens.

        The given ranking stays unchanged, so that a larger budget never changes the content of a smaller one.
        """
        limit, found = depth.chunks, list(found)
        while limit < len(self.leaves) and sum(self._tokens[self._positions[c.id]] for c, _ in found) < depth.tokens:
            limit *= _MORE
            known = {chunk.id for chunk, _ in found}
            lowest = found[-1].score if found else float("inf")
            more = [ranked for ranked in ranker.rank(self.store, question, limit) if ranked.chunk.id not in known]
            found += [RankedChunk(chunk, min(score, lowest)) for chunk, score in more]
        return found


def index(
    chunks: Sequence[Chunk], strategy: Strategy, setup: Setup, embedder: Embedder, progress: Progress | None = None
) -> StrategyCollection:
    """Embed chunks into a store in memory, as `kinsplit.indexing.indexer.Indexer` does for every collection."""
    own_chunks = by_source(chunks)
    documents, bm25, context = setup.dataset.documents, setup.bm25, setup.embedding_context
    store = open_store("memory:", "evaluation", schema_of(strategy, embedder, bm25, context))
    opened = Index(
        "memory:",
        strategy=strategy,
        embedder=embedder,
        embedding_context=context,
        language=bm25.language or ANY,
        opener=lambda *_: store,
    )
    made = cast("Strategy", _ExistingChunks(strategy.name, strategy.fingerprint, own_chunks))
    for done, report in enumerate(Indexer(store, made, embedder, bm25, context).run(documents), 1):
        if report.error is not None:
            raise report.error
        if progress:
            progress(done, len(documents))
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    entries = (entry for source_id in own_chunks for entry in store.export(source_id))
    vectors = {chunk.id: own.dense for chunk, own in entries if chunk.level == 0 and own.dense is not None}
    if leaves:  # The first search also prepares the vectors.
        store.rank([Query("dense", vectors[leaves[0].id], 1)])
    return StrategyCollection(store, leaves, vectors, opened, setup.tokenizer)


#: Ids per read.
_BATCH = 500


def read_chunks(index: Index, dataset: Dataset) -> list[Chunk]:
    """Return the chunks of a collection that holds the documents of a dataset, in their order and with their ids.

    Raises:
        InvalidParameterError: The collection lacks a document, has others, or has a document with another text.
    """
    found: list[Chunk] = []
    for stored, id_ in _ids(index, dataset).items():
        document = dataset.sources[id_]
        chunks = [chunk for chunk in index.store.find({"source_id": stored}, None) if chunk.level != DOCUMENT]
        if not all(_is_of(document, chunk) for chunk in chunks):
            rule = "must hold the documents as they are, and has another text"
            raise _refused(rule, [document.id], "Index the file again.")
        found += (replace(chunk, source_id=id_) for chunk in chunks)
    return found


def _ids(index: Index, dataset: Dataset) -> dict[str, str]:
    """Return the ids of the documents of a dataset by those in the collection, in the dataset's order.

    They differ for rows, which the collection may hold as `FILE#docid`.

    Raises:
        InvalidParameterError: The collection lacks a document, or has others.
    """
    stored = set(index.store.sources())
    names = DocumentNames(stored, _files(index, stored - dataset.sources.keys()))
    found = {id_: names.find(id_) for id_ in dataset.sources}
    if several := {id_: ids for id_, ids in found.items() if len(ids) > 1}:
        id_ = min(several)
        rule = f"must hold each document once, and has {' and '.join(several[id_])}"
        raise _refused(rule, [id_], "Give the files of both, with --docs, or in the dataset.")
    if lost := {id_ for id_, ids in found.items() if not ids}:
        rule = f"must hold the documents of the questions, and lacks {len(lost)} of {len(found)}"
        raise _refused(rule, lost, "Index them into it, under the same ids.")
    if more := stored - {ids[0] for ids in found.values()}:
        rule = f"must hold no other documents, and has {len(more)} more"
        raise _refused(rule, more, "Give their files, too, with --docs, or in the dataset.")
    return {ids[0]: id_ for id_, ids in found.items()}


def _files(index: Index, source_ids: Iterable[str]) -> dict[str, str]:
    """Return the ids of the files of those documents that are rows of one, by id of the document."""
    found: dict[str, str] = {}
    for ids in batches(source_ids, _BATCH):
        for chunk in index.store.get([chunk_id(id_, index.strategy.fingerprint, 0, 0) for id_ in ids]):
            file = chunk.metadata.get("file_path")
            if isinstance(file, str) and file != chunk.source_id:
                found[chunk.source_id] = file
    return found


def stored_collection(
    index: Index, dataset: Dataset, leaves: Sequence[Chunk], tokenizer: Tokenizer
) -> StrategyCollection:
    """Return the leaves of a collection with their stored vectors; the caller closes the index."""
    parts = batches((leaf.id for leaf in leaves), _BATCH)
    stored = (entry for ids in parts for entry in index.store.vectors(ids).items())
    found = {id_: own.dense for id_, own in stored if own.dense is not None}
    return StrategyCollection(index.store, leaves, found, index, tokenizer, _ids(index, dataset))


def _is_of(document: Document, chunk: Chunk) -> bool:
    """Return whether the parts of a document that a chunk has are its text."""
    text = "".join(document.text[start:end] for start, end in chunk.spans)
    # The parts may be joined by a separator.
    return replace_surrogates(text) == chunk.text or len(chunk.spans) > 1


def _refused(rule: str, names: Iterable[str], remedy: str) -> InvalidParameterError:
    return InvalidParameterError("collection", rule, inline(min(names)), remedy)
