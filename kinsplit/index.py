"""Index of documents: files go in, passages come out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Never, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from kinsplit import embedding
from kinsplit.chunk import Chunk, Document
from kinsplit.embedding.cached import VERSIONED, use_vector_cache, without_cache
from kinsplit.embedding.calibration import Baseline, baseline_of
from kinsplit.embedding.late_chunking import token_embedder
from kinsplit.embedding.protocol import Embedder, EmbeddingContext, QuestionEmbedder, repeatable
from kinsplit.embedding.registry import own_model
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import (
    CacheWarning,
    CollectionNotFoundError,
    SchemaMismatchError,
    StoreError,
    require,
    require_names,
)
from kinsplit.hints import Hinted, uncallable
from kinsplit.identity import without_location
from kinsplit.indexing.contexts import ContextWriter
from kinsplit.indexing.indexer import Indexer
from kinsplit.indexing.reports import AddEvent, AddReport, Failure, OnEvent
from kinsplit.indexing.run import add
from kinsplit.keywords import AddKeywords, IndexKeywords, SearchKeywords
from kinsplit.language_models.registry import NO_MODEL
from kinsplit.loaders import SourceFile
from kinsplit.options import AddOptions, IndexOptions, KinWeights, Reranker, SearchOptions
from kinsplit.parsers import Strategy, create, default_strategy, names, own_resources
from kinsplit.retrieval import Passages, SearchQuestion, create_reranker, search
from kinsplit.retrieval.rankings import pick
from kinsplit.stores import ChunkStore, Schema, open_store
from kinsplit.stores.new_collection import settled
from kinsplit.stores.store import warn_of_unmatched
from kinsplit.stores.values import Where
from kinsplit.support.telemetry import Attributes, model_span, span
from kinsplit.support.threads import Gathering, in_own_thread, in_thread
from kinsplit.tokenizers import describe, resolve

__all__ = ["DEFAULT_COLLECTION", "DEFAULT_STORE", "AddReport", "Failure", "Index", "default_strategy"]

uncallable(__name__, "kinsplit.Index(store)")

_T = TypeVar("_T")

#: Opens a collection as `open_store` does.
Opener = Callable[[str, str, Schema | None], ChunkStore]

DEFAULT_STORE = "edge:./kinsplit-data"
DEFAULT_COLLECTION = "default"


class Index(Hinted):
    """A collection of documents that can be added to and searched.

    Args:
        store: Address of the store (see `kinsplit.stores.open_store`).
        collection: Name of the collection there.
        must_exist: Whether to raise an error if the collection does not exist; otherwise, what is added first makes it.
        opener: Function that opens the store. `kinsplit.stores.engines.edge.process.open_detached` keeps an embedded
            engine from blocking the program's other threads.
        **options: See `kinsplit.options.IndexOptions`.

    Raises:
        CollectionNotFoundError: The collection does not exist, and `must_exist` is set.
        StoreLockedError: Another process holds the collection.
        SchemaMismatchError: The collection was made with another model or strategy. If its strategy would find other
            sentences in this installation, it can be searched, and `add` raises this error.

    Example:
        >>> with Index("edge:./kinsplit-data", collection="cs") as index:
        ...     report = index.add("courses")
        ...     passages = index.search("What is OOP?", top_k=3)
    """

    def __init__(
        self,
        store: str = DEFAULT_STORE,
        *,
        collection: str = DEFAULT_COLLECTION,
        must_exist: bool = False,
        opener: Opener = open_store,
        **options: Unpack[IndexKeywords],
    ) -> None:
        asked = IndexOptions(**options)
        self.embedder = embedding.resolve("bundled" if asked.embedder is None else asked.embedder)
        self._embedding_context = asked.embedding_context
        if self._embedding_context == "late":
            token_embedder(without_cache(self.embedder))
        self._context_model = asked.context_model
        bm25 = None if asked.language is None else Bm25Embedder(asked.language)
        self._vector_cache = asked.vector_cache
        if asked.vector_cache and not repeatable(self.embedder):
            rule = f"The vectors of {self.embedder.name} are not kept, since nothing tells when its code changes"
            warnings.warn(f"{rule}. {VERSIONED}", CacheWarning, stacklevel=2)
        self._weights = asked.weights
        self._rerankers: dict[str, Reranker | None] = {}
        # Error of searches until something is added to a collection that did not exist.
        self._missing = ""
        strategy = asked.strategy
        if isinstance(strategy, str):
            # An object could not be named when the collection is reopened.
            named = asked.embedder if isinstance(asked.embedder, str) else None
            strategy = create(strategy, **own_resources(strategy, embedder=named))
        try:
            self.store = opener(store, collection, None)
        except CollectionNotFoundError as error:
            if must_exist:
                raise
            self._missing = str(error)
            strategy = strategy or default_strategy()
            self.bm25 = bm25 or Bm25Embedder()
            self.store = opener(store, collection, self._schema(strategy))
        try:
            if asked.embedder is None and (own := own_model(self.store.schema.model)) is not None:
                self.embedder = embedding.resolve(own)
            stored = Bm25Embedder.of(self.store.schema.sparse)
            # A collection keeps its kinds of terms, of which older versions of kinsplit had fewer.
            self.bm25 = bm25 if bm25 and bm25.language != stored.language else stored
            self.strategy = strategy or _stored_strategy(self.store.schema)
            self._embedding_context = self._embedding_context or self.store.schema.embedding_context
            if self._context_model is None:
                self._context_model = self.store.schema.context_model
            if replace(self.store.schema, weights="") != replace(self._asked(strategy), weights=""):
                # The store's check reports the difference and a remedy.
                self.store.close()
                self.store = opener(store, collection, self._asked(strategy))
        except BaseException:
            self.store.close()
            raise

    @property
    def embedding_context(self) -> EmbeddingContext:
        """Context that is embedded with a chunk's text."""
        return self._embedding_context or "headings"

    @property
    def context_model(self) -> object:
        """Language model that writes placements of chunks, as it was given, or "none"."""
        return NO_MODEL if self._context_model is None else self._context_model

    @cached_property
    def weights(self) -> KinWeights:
        """Weights of kin scoring for searches that give none."""
        return self._weights or KinWeights.model_validate_json(self.store.schema.weights)

    def _schema(self, strategy: Strategy) -> Schema:
        schema = schema_of(strategy, self.embedder, self.bm25, self.embedding_context)
        schema = replace(schema, context_model=describe(self.context_model))
        return replace(schema, weights=(self._weights or KinWeights()).model_dump_json(exclude_defaults=True))

    def _asked(self, strategy: Strategy | None) -> Schema:
        """Return the schema that the collection must have, given the strategy that was asked for, if any."""
        schema, stored = self._schema(self.strategy), self.store.schema
        # Searches don't split, so an installation that finds other sentences may search; `add` refuses.
        return schema if strategy else replace(schema, strategy=stored.strategy, fingerprint=stored.fingerprint)

    def make(self) -> None:
        """Make the collection if it does not exist yet, for other processes that open it before anything is added."""
        self.store.make()
        self.store = settled(self.store)

    def add(
        self,
        items: str | Path | Document | Iterable[str | Path | Document],
        *,
        known: Callable[[SourceFile], bool] | None = None,
        on_event: OnEvent | None = None,
        **options: Unpack[AddKeywords],
    ) -> AddReport:
        """Add files and documents to the index; unchanged ones are not embedded or written again.

        A file's id is the name of the given folder, `/`, and its path below it. Another file or row that would get the
        same id is refused while the first one exists. A folder that has moved keeps its ids, and nothing is embedded
        again.

        While the model embeds, threads read and split the next documents and write the last ones. The calling thread
        runs the model and the callbacks.

        Args:
            items: Files, folders and documents.
            known: Function that returns whether a file is indexed in its current state; such files are not read and
                stay as stored.
            on_event: Function called with what happens: `FileRead`, `TextsEmbedded` and `DocumentReport` of
                `kinsplit.indexing.reports`.
            **options: See `kinsplit.options.AddOptions`.

        Returns:
            A report, which includes files that couldn't be loaded, and documents that couldn't be split or embedded;
            they don't stop the others.

        Raises:
            LoadError: A path doesn't exist, a folder holds nothing to load, or a file would replace another one.
                Nothing is written then.
            EmbedderUnavailableError: The model fails with any text. What is stored stays; another call goes on.
            InvalidParameterError: Documents share an id or have metadata that can't be stored, or no reader has one of
                the names. Nothing is written then, unless they are rows of files: documents before them stay.
        """
        with use_vector_cache(self._vector_cache), self.store.first_load():
            report = add(self._indexer(), items, AddOptions(**options), known, on_event or (lambda _: None))
        if self._missing:
            self.store = settled(self.store)
            self._missing = "" if report.documents else self._missing
        return report

    async def aadd(
        self,
        items: str | Path | Document | Iterable[str | Path | Document],
        *,
        known: Callable[[SourceFile], bool] | None = None,
        on_event: OnEvent | None = None,
        **options: Unpack[AddKeywords],
    ) -> AddReport:
        """Add files and documents without blocking the event loop; see `add`.

        The work is done in a thread of its own, which also calls the callbacks. A cancelled call stops after the file,
        the document or the batch of texts that it is working on, and ends then: documents before it are stored, and
        none is stored in part.

        Args:
            items: See `add`.
            known: See `add`.
            on_event: See `add`.
            **options: See `kinsplit.options.AddOptions`.
        """

        def work(check: Callable[[], None]) -> AddReport:
            def happened(event: AddEvent) -> None:
                check()
                if on_event is not None:
                    on_event(event)

            return self.add(items, known=known, on_event=happened, **options)

        return await in_own_thread(work)

    def _indexer(self) -> Indexer:
        if self.strategy.fingerprint != self.store.schema.fingerprint:
            there = json.loads(self.store.schema.strategy).get("sentences")
            raise SchemaMismatchError(
                f"The sentences of this collection were found by {there}, and this installation has "
                f"{self.strategy.sentence_splitter}, so that no chunk would be the same. Install what it was made with "
                '(pip install "kinsplit[languages]" brings sentencex), or index into another collection.'
            )
        # No cache keeps the token vectors of late chunking.
        late = self.embedding_context == "late"
        embedder = without_cache(self.embedder) if late else embedding.resolve(self.embedder)
        contexts = None if self.context_model == NO_MODEL else ContextWriter(self.context_model)
        return Indexer(self.store, self.strategy, embedder, self.bm25, self.embedding_context, contexts)

    def search(self, query: str, *unnamed: Never, **options: Unpack[SearchKeywords]) -> Passages:
        """Find the passages that answer a query.

        Args:
            query: The question.
            *unnamed: Nothing; options need their names.
            **options: See `kinsplit.SearchOptions`.

        Returns:
            Passages, best first, with what was found out about the query. If there are none, a `FilterWarning` names
            each value of `where` that no chunk has.

        Raises:
            InvalidParameterError: The query is blank, or an option is unknown or has an invalid value.
            CollectionNotFoundError: The collection did not exist when it was opened, and is still empty.
        """
        require_names(unnamed, "top_k")
        return self.search_as(_as_found, query, **options)

    def search_as(self, shape: Callable[[Passages], _T], query: str, **options: Unpack[SearchKeywords]) -> _T:
        """Find passages, and return what a function makes of them; see `search`.

        Args:
            shape: The function. It is called beside the engine: if that has a process of its own, only the result is
                pickled, and not the passages.
            query: The question.
            **options: See `kinsplit.SearchOptions`.
        """
        asked = self._options(options)
        rule = "must not be blank" if isinstance(query, str) else "must be a text"
        require(isinstance(query, str) and query.strip(), "query", rule, query, "Ask a question.")
        levels = range(self.strategy.depth) if asked.level == "all" else (asked.level,)
        if levels[0]:
            rule = f"must be below {self.strategy.depth}, or all"
            require(levels[0] < self.strategy.depth, "level", rule, levels[0], "Higher ones have no chunks.")
        reranker = self._reranker(asked.rerank)
        if self._missing and not self.store.count():
            raise CollectionNotFoundError(self._missing)
        retrieval: Attributes = {"gen_ai.operation.name": "retrieval", "window": asked.siblings}
        limits = {"top_k": asked.passages, "budget": asked.budget}
        retrieval = {**retrieval, **{name: limit for name, limit in limits.items() if limit is not None}}
        with span("kinsplit.search", retrieval, texts={"gen_ai.retrieval.query.text": query}) as record:
            dense = baseline = None
            ranking = pick(asked.ranking)
            if ranking.embeds:
                with model_span("embeddings", self.embedder.name):
                    dense = self._questions.answer(query)
                baseline = baseline_of(self.embedder, dense) if ranking.weighs else None
            tokenizer = None if asked.budget is None else self.strategy.tokenizer
            given = shape, query, dense, baseline, asked, self.bm25, levels, tokenizer
            # A reranker stays in this process with its model.
            found: tuple[int, _T] = (
                self.store.run(_find, *given) if reranker is None else _find(self.store, *given, reranker)
            )
            record(passages=found[0])
        return found[1] if found[0] else shape(Passages(unmatched=warn_of_unmatched(self.store, asked.where)))

    async def asearch(self, query: str, *unnamed: Never, **options: Unpack[SearchKeywords]) -> Passages:
        """Find passages without blocking the event loop; see `search`.

        The search runs in a thread. If the caller is cancelled, it goes on at once, and the search ends there.
        """
        return await in_thread(self.search, query, *unnamed, **options)

    @cached_property
    def _questions(self) -> Gathering[NDArray[np.float32]]:
        embedder = without_cache(self.embedder)
        several = embedder.embed_queries if isinstance(embedder, QuestionEmbedder) else None
        return Gathering(embedder.embed_query, several)

    def _options(self, keywords: SearchKeywords) -> SearchOptions:
        options = SearchOptions(**keywords)
        return options if "weights" in keywords else options.model_copy(update={"weights": self.weights})

    def _reranker(self, rerank: str | Reranker) -> Reranker | None:
        """Return a reranker; a named one is cached, since its model takes seconds to load."""
        if not isinstance(rerank, str):
            return rerank
        if rerank not in self._rerankers:
            self._rerankers[rerank] = create_reranker(rerank, without_cache(self.embedder))
        return self._rerankers[rerank]

    def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that match a filter, in order of source, level and index.

        Args:
            where: A filter (see `kinsplit.stores.values.Where`); {} matches all chunks.
            level: Level of the chunks: 0 for leaves, 1 for their parents, None for all levels.

        Raises:
            InvalidParameterError: The filter is not valid.
        """
        return self.store.find(where, level)

    def count(self, where: Where | None = None, level: int | None = 0) -> int:
        """Return the number of chunks that match a filter; see `find`."""
        found = self.store.count(level, where)
        if not found:
            self.store.check_fields(where)
        return found

    def delete(self, source_id: str | None = None, *, where: Where | None = None) -> int:
        """Delete a document with its parents, or every document with a chunk that matches a filter.

        Args:
            source_id: Id of the document.
            where: A filter instead of the id; see `kinsplit.stores.values.Where`.

        Returns:
            The number of deleted chunks.

        Raises:
            InvalidParameterError: Neither or both are given, or the filter is empty or not valid.
        """
        rule = "or where must be given, and not both"
        remedy = "To delete all documents, delete each of store.sources()."
        require((source_id is None) != (not where), "source_id", rule, source_id, remedy)
        sources = [source_id] if source_id is not None else [*self.store.sources(0, where)]
        if not sources:
            self.store.check_fields(where)
        return sum(self.store.delete(each) for each in sources)

    def close(self) -> None:
        """Write everything to disk and release the collection."""
        self.store.close()

    async def aclose(self) -> None:
        """Close the index without blocking the event loop; see `close`."""
        await in_thread(self.close)

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _as_found(passages: Passages) -> Passages:
    return passages


def _find(
    store: ChunkStore,
    shape: Callable[[Passages], Any],
    query: str,
    dense: NDArray[np.float32] | None,
    baseline: Baseline | None,
    asked: SearchOptions,
    bm25: Bm25Embedder,
    levels: Sequence[int],
    tokenizer: object | None,
    reranker: Reranker | None = None,
) -> tuple[int, Any]:
    """Return the number of passages that answer a query with a vector, and their shape, beside the store's engine."""
    question = SearchQuestion.of(query, dense, bm25, level=levels[0], where=asked.where, baseline=baseline)
    terms_asked = frozenset(question.terms.indices)

    def terms(texts: Sequence[str]) -> list[frozenset[int]]:
        return [terms_asked.intersection(vector.indices) for vector in bm25.embed(texts)]

    # A tokenizer given as an object is missing when the collection is reopened.
    counter = None if tokenizer is None else resolve(tokenizer)
    found = search(store, query, question, store.schema.fingerprint, asked, reranker, counter, terms, levels)
    return len(found), shape(found)


def schema_of(
    strategy: Strategy, embedder: Embedder, bm25: Bm25Embedder, embedding_context: EmbeddingContext
) -> Schema:
    """Return the schema of a collection that an `Index` with these parts opens."""
    described = {"name": strategy.name, "parameters": strategy.described, "sentences": strategy.sentence_splitter}
    made = json.dumps(described), strategy.fingerprint
    return Schema(embedder.fingerprint, embedder.dimension, bm25.fingerprint, *made, embedding_context)


def _stored_strategy(schema: Schema) -> Strategy:
    stored = json.loads(schema.strategy)
    if stored["name"] not in names():
        rule = "The collection was filled by a framework's vector store, so no strategy could split for it"
        raise StoreError(f"{rule}. Open it with that vector store, or choose another collection.")
    for key, value in stored["parameters"].items():
        if isinstance(value, str) and ("://" in value or without_location(value) != value):
            rule = f"The collection's strategy has an address, {key}={value!r}, which kinsplit never stores"
            raise StoreError(f"{rule}. If you trust it, give the strategy with this parameter yourself.")
    return create(str(stored["name"]), **stored["parameters"])
