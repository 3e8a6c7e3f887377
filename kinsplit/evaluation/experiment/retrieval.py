"""Splitting, indexing and searching, done alike for every strategy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, Document, by_size
from kinsplit.embedding import Embedder, Progress
from kinsplit.embedding.protocol import TokenEmbedder, repeatable
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.evaluation.experiment.rankers import Ranked, Ranker
from kinsplit.evaluation.experiment.records import Answer
from kinsplit.indexing.context import EmbeddingContext
from kinsplit.indexing.indexer import Indexer
from kinsplit.parsers import Strategy
from kinsplit.retrieval import Question
from kinsplit.stores import ChunkStore, Query, Schema, open_store

if TYPE_CHECKING:
    from types import TracebackType

#: Characters that are split together.
_CHARACTERS = 500_000
#: By how much a ranking that holds too few tokens is asked for again.
_MORE = 2


class Depth(NamedTuple):
    """How far rankings go.

    Attributes:
        chunks: Chunks that a search is asked for. Its order and its time are those of this search.
        tokens: Where they hold fewer tokens and the collection has more, further chunks follow behind them.
    """

    chunks: int
    tokens: int


class Clock:
    """An embedder that knows how long it took.

    Args:
        embedder: The embedder.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.seconds = 0.0
        self.repeatable = repeatable(embedder)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        with self._running():
            return self._embedder.embed(texts, progress)

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """See `kinsplit.embedding.protocol.TokenEmbedder`."""
        with self._running():
            return cast("TokenEmbedder", self._embedder).embed_tokens(texts)

    @contextmanager
    def _running(self) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - begin

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


def split(
    strategy: Strategy, documents: Sequence[Document], progress: Progress | None = None
) -> tuple[list[Chunk], float]:
    """Return the chunks of all documents as the strategy makes them, and how many seconds it took."""
    chunks, done, seconds = list[Chunk](), 0, 0.0
    for batch in by_size(documents, _CHARACTERS):
        begin = time.perf_counter()
        chunks += [chunk for own in strategy.chunk_many(batch) for chunk in own]
        seconds += time.perf_counter() - begin
        done += len(batch)
        if progress:
            progress(done, len(documents))
    return chunks, seconds


@dataclass(frozen=True, slots=True)
class _Made:
    """A strategy whose chunks are already made, as the indexer takes it."""

    name: str
    fingerprint: str
    chunks: Mapping[str, list[Chunk]]

    def chunk_many(self, documents: Iterable[Document]) -> list[list[Chunk]]:
        return [self.chunks.get(document.id, []) for document in documents]


class Questions:
    """The questions as a store takes them, each embedded once for all strategies.

    Args:
        embedder: Embeds them as it does the chunks.
        bm25: Weighs their terms, likewise.
    """

    def __init__(self, embedder: Embedder, bm25: Bm25Embedder) -> None:
        self._embedder, self._bm25 = embedder, bm25
        self._known: dict[str, tuple[Question, float]] = {}

    def ask(self, text: str) -> tuple[Question, float]:
        """Return a question, and how many seconds it took to embed it."""
        if not self._known:
            self._embedder.embed_query(text)  # Loads the model, which is no part of an answer's time.
        if text not in self._known:
            begin = time.perf_counter()
            question = Question(self._embedder.embed_query(text), self._bm25.embed_query(text))
            self._known[text] = question, time.perf_counter() - begin
        return self._known[text]


@dataclass
class Collection:
    """The chunks of one strategy in a store of their own, with all that is needed to ask for them.

    Attributes:
        store: Holds them.
        leaves: The chunks that are searched.
        tokens: Of each leaf.
        vectors: By id of a leaf.
    """

    store: ChunkStore
    leaves: Sequence[Chunk]
    tokens: Sequence[int]
    vectors: Mapping[str, NDArray[np.float32]]
    _places: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {leaf.id: place for place, leaf in enumerate(self.leaves)}

    def answer(self, asked: tuple[Question, float], ranker: Ranker, depth: Depth) -> Answer:
        """Return what is retrieved for a question; see `Questions.ask`."""
        question, embedding = asked
        begin = time.perf_counter()
        found = list(ranker.rank(self.store, question, depth.chunks))
        seconds = embedding + time.perf_counter() - begin
        found = self._extended(found, question, ranker, depth)
        return Answer(
            places=[self._places[chunk.id] for chunk, _ in found],
            scores=[float(score) for _, score in found],
            cosines=[float(self.vectors[chunk.id] @ question.dense) for chunk, _ in found],
            seconds=seconds,
        )

    def _extended(self, found: list[Ranked], question: Question, ranker: Ranker, depth: Depth) -> list[Ranked]:
        """Return a ranking with as many further chunks as fill the tokens, in the order of a longer search.

        What was found first keeps its place, so that a larger budget never changes what a smaller one holds.
        """
        limit, found = depth.chunks, list(found)
        while limit < len(self.leaves) and self._held(found) < depth.tokens:
            limit *= _MORE
            known = {chunk.id for chunk, _ in found}
            lowest = found[-1].score if found else float("inf")
            more = [ranked for ranked in ranker.rank(self.store, question, limit) if ranked.chunk.id not in known]
            found += [Ranked(chunk, min(score, lowest)) for chunk, score in more]
        return found

    def _held(self, found: Sequence[Ranked]) -> int:
        return sum(self.tokens[self._places[chunk.id]] for chunk, _ in found)

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.store.close()


def index(
    chunks: Sequence[Chunk],
    tokens: Callable[[Sequence[str]], Sequence[int]],
    strategy: Strategy,
    documents: Sequence[Document],
    embedder: Embedder,
    bm25: Bm25Embedder,
    embedding_context: EmbeddingContext,
    progress: Progress | None = None,
) -> Collection:
    """Embed chunks into a store in memory, as `kinsplit.indexing.indexer.Indexer` does for every collection.

    Args:
        chunks: What the strategy made of the documents.
        tokens: Counts the tokens of texts.
        strategy: The strategy.
        documents: The documents.
        embedder: Embeds chunks.
        bm25: Weighs their terms.
        embedding_context: What is embedded of a chunk beside its text.
        progress: Told how many documents are stored.
    """
    by_source = dict[str, list[Chunk]]()
    for chunk in chunks:
        by_source.setdefault(chunk.source_id, []).append(chunk)
    schema = Schema(embedder.fingerprint, embedder.dimension, bm25.fingerprint, "{}", strategy.fingerprint)
    store = open_store("memory:", "evaluation", schema)
    made = cast("Strategy", _Made(strategy.name, strategy.fingerprint, by_source))
    for done, _ in enumerate(Indexer(store, made, embedder, bm25, embedding_context).run(documents), 1):
        if progress:
            progress(done, len(documents))
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    vectors = {
        chunk.id: own.dense
        for source_id in by_source
        for chunk, own in store.export(source_id)
        if chunk.level == 0 and own.dense is not None
    }
    if leaves:  # The first search also arranges the vectors.
        store.rank([Query("dense", vectors[leaves[0].id], 1)])
    return Collection(store, leaves, tokens([leaf.text for leaf in leaves]), vectors)
