"""The front door: a folder of files goes in, passages come out."""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from kinsplit import embedding
from kinsplit.chunk import Chunk, Document
from kinsplit.embedding.cached import VERSIONED, use_vector_cache, without_cache
from kinsplit.embedding.late_chunking import token_embedder
from kinsplit.embedding.protocol import Progress, repeatable
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import CacheWarning, CollectionNotFoundError, InvalidParameterError, StoreError
from kinsplit.indexing.context import EmbeddingContext, check_embedding_context, embedding_context_of, marked
from kinsplit.indexing.indexer import Indexer
from kinsplit.indexing.reports import AddReport, DocumentReport, Failure
from kinsplit.indexing.run import Adding
from kinsplit.loaders import Limits, Loaded, SourceFile
from kinsplit.parsers import Strategy, create, names
from kinsplit.retrieval import (
    Passage,
    Question,
    Reranker,
    SearchKeywords,
    SearchOptions,
    create_reranker,
    search,
)
from kinsplit.stores import ChunkStore, Schema, open_store
from kinsplit.stores.loop_readers import Readers
from kinsplit.stores.protocol import Where
from kinsplit.support.aio import run, run_async
from kinsplit.tokenizers import resolve

__all__ = ["DEFAULT_COLLECTION", "DEFAULT_STORE", "AddReport", "Failure", "Index", "default_strategy"]

#: Opens a collection as `open_store` does.
Opener = Callable[[str, str, Schema | None], ChunkStore]

DEFAULT_STORE = "edge:./kinsplit-data"
DEFAULT_COLLECTION = "default"


class Index:
    """A collection of documents that can be added to and searched.

    Args:
        store: Address of the store (see `kinsplit.stores.open_store`).
        collection: Name of the collection there.
        strategy: A strategy or its name. None takes the one that the collection was made with, and
            `default_strategy` for a new collection.
        embedder: An embedder or its name (see `kinsplit.embedding.create`), or an embedding object of LlamaIndex or
            LangChain.
        embedding_context: What is embedded besides a chunk's text: "headings", its heading path or table header;
            "none"; or "late", the whole document, of which each chunk gets the mean of its tokens' vectors (late
            chunking). None keeps the collection's setting; a new collection gets "headings".
        language: Language of the stop words and the stemmer of BM25, such as "german", or "any" to take words as they
            are. None keeps the collection's language; a new collection gets English.
        must_exist: Whether a collection that is not there is an error, and not made.
        vector_cache: A folder in which `add` keeps vectors, so that a text embedded before, in whatever collection,
            costs no model; True for kinsplit's own cache folder. See `kinsplit.embedding.use_vector_cache`; the vectors
            of an object that isn't repeatable are not kept (see `kinsplit.embedding.protocol.repeatable`).
        opener: Opens the store. `kinsplit.stores.engines.edge.process.open_detached` keeps an embedded engine
            from holding up the program's other threads.

    Raises:
        CollectionNotFoundError: There is no such collection, and it had to exist.
        StoreLockedError: Another process holds the collection.
        SchemaMismatchError: The collection was made with another model or strategy.

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
        strategy: str | Strategy | None = None,
        embedder: object = "bundled",
        embedding_context: str | None = None,
        language: str | None = None,
        must_exist: bool = False,
        vector_cache: bool | str | Path = False,
        opener: Opener = open_store,
    ) -> None:
        self.embedder = embedding.resolve(embedder)
        self._embedding_context: EmbeddingContext | None = (
            None if embedding_context is None else check_embedding_context(embedding_context)
        )
        if self._embedding_context == "late":
            token_embedder(without_cache(self.embedder))
        asked = None if language is None else _bm25(language)
        self._vector_cache = vector_cache
        if vector_cache and not repeatable(self.embedder):
            rule = f"The vectors of {self.embedder.name} are not kept, since nothing tells when its code changes"
            warnings.warn(f"{rule}. {VERSIONED}", CacheWarning, stacklevel=2)
        self._rerankers: dict[str, Reranker | None] = {}
        # The error of a search as long as nothing was added to a collection that was not there.
        self._missing = ""
        if isinstance(strategy, str):
            strategy = create(strategy)
        try:
            self.store = opener(store, collection, None)
        except CollectionNotFoundError as error:
            if must_exist:
                raise
            self._missing = str(error)
            strategy = strategy or default_strategy()
            self.bm25 = asked or Bm25Embedder()
            self.store = opener(store, collection, self._schema(strategy))
        try:
            self.bm25 = asked or Bm25Embedder.of(self.store.schema.sparse)
            self.strategy = strategy or _stored_strategy(self.store.schema)
            self._embedding_context = self._embedding_context or embedding_context_of(self.store.schema.model)
            if self.store.schema != self._schema(self.strategy):
                # Made with something else: the store's own check says what, and what to do.
                self.store.close()
                self.store = opener(store, collection, self._schema(self.strategy))
        except BaseException:
            self.store.close()
            raise
        self._readers = Readers(store, collection, self.store)

    @property
    def embedding_context(self) -> EmbeddingContext:
        """What is embedded of a chunk beside its text."""
        return self._embedding_context or "headings"

    def _schema(self, strategy: Strategy) -> Schema:
        return Schema(
            model=marked(self.embedder.fingerprint, self._embedding_context or "headings"),
            dimension=self.embedder.dimension,
            sparse=self.bm25.fingerprint,
            strategy=_describe(strategy),
            fingerprint=strategy.fingerprint,
        )

    def add(
        self,
        items: str | Path | Document | Iterable[str | Path | Document],
        *,
        subjects: Sequence[str] = (),
        prune: bool = False,
        known: Callable[[SourceFile], bool] | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
        on_file: Callable[[Loaded], None] | None = None,
        on_document: Callable[[DocumentReport], None] | None = None,
    ) -> AddReport:
        """Bring files and documents into the index; what hasn't changed since the last time costs nothing.

        A file's id is the name of the given folder, `/`, and its path below it. It stands for one file: another one
        that would get the same id is refused while the first one exists, and so is a row with the id of another file's.
        A folder that has moved keeps its ids, and nothing is embedded again.

        Args:
            items: Files, folders and documents.
            subjects: Names of sub-folders of the given folders; only these are read.
            prune: Whether to delete what is indexed from the given folders and files but no longer lies there, rows of
                files included. What lies below a sub-folder that can't be listed is kept, and so is what another
                folder of that name still holds.
            known: Tells which files are indexed as they are; these aren't read, and what is stored of them stays.
            limits: How much a file may cost (see `kinsplit.loaders.Limits`); None takes the defaults.
            progress: Told how many of the new texts of a batch are embedded.
            on_file: Told of each file once it is read, or couldn't be.
            on_document: Told of each document once it is stored, or couldn't be split.

        Returns:
            What was done. A file that can't be loaded and a document that can't be split are reported in it, and the
            rest go on.

        Raises:
            LoadError: A path doesn't exist, a folder holds nothing to load, or a file would replace another one.
                Nothing was written then.
            InvalidParameterError: Given documents share an id, or have metadata that can't be stored, and nothing was
                written; or rows of the files do, and what came before them stays.
        """
        begun = time.perf_counter()
        adding = Adding(
            self.store,
            self.strategy.fingerprint,
            items,
            subjects=subjects,
            known=known,
            limits=limits,
            on_file=on_file,
        )
        with use_vector_cache(self._vector_cache):
            # Late chunking asks for tokens, which no cache keeps.
            late = self.embedding_context == "late"
            embedder = without_cache(self.embedder) if late else embedding.resolve(self.embedder)
            indexer = Indexer(self.store, self.strategy, embedder, self.bm25, self.embedding_context)
            for report in indexer.run(adding.documents(), progress):
                adding.report(report)
                if on_document is not None:
                    on_document(report)
                self._missing = ""
        lost = adding.gone() if prune else []
        pruned = sum(self.store.delete(source_id) for source_id in lost)
        documents, failed, warnings = tuple(adding.reports), tuple(adding.failed), tuple(adding.warnings)
        return AddReport(documents, failed, warnings, pruned, time.perf_counter() - begun, tuple(lost))

    def search(self, query: str, **options: Unpack[SearchKeywords]) -> list[Passage]:
        """Find the passages that answer a query.

        Args:
            query: The question.
            **options: See `kinsplit.retrieval.SearchOptions`: `top_k`, `candidates`, `window`, `parents`,
                `within_sections`, `rerank`, `budget`, `where`, `level`, `weights`.

        Returns:
            Passages, best first.

        Raises:
            InvalidParameterError: A blank query, an unknown option, or a value that it can't have.
            CollectionNotFoundError: There was no such collection when it was opened, and nothing was added to it since.
        """
        return run(self._search(query, SearchOptions(**options)), self.store)

    async def asearch(self, query: str, **options: Unpack[SearchKeywords]) -> list[Passage]:
        """Find passages without blocking the event loop; see `search`.

        A Qdrant server is asked over connections of the loop's own, which `aclose` closes; models, and engines inside
        this process, run in the loop's threads.
        """
        asked = SearchOptions(**options)
        reader = await self._readers.get()
        return await run_async(self._search(query, asked), reader)

    async def _search(self, query: str, options: SearchOptions) -> list[Passage]:
        if not isinstance(query, str) or not query.strip():
            raise InvalidParameterError("query", "must not be blank", query, "Ask a question.")
        reranker = self._reranker(options.rerank)
        if self._missing and not self.store.count():
            raise CollectionNotFoundError(self._missing)
        question = Question(
            self.embedder.embed_query(query), self.bm25.embed_query(query), options.level, options.where
        )
        # A tokenizer that was given as an object is not there when the collection is opened again.
        tokenizer = None if options.budget is None else resolve(self.strategy.tokenizer)
        return await search(query, question, self.store.schema.fingerprint, options, reranker, tokenizer)

    def _reranker(self, rerank: str | Reranker) -> Reranker | None:
        """Return a reranker; one that was named is kept, since its model takes seconds to load."""
        if not isinstance(rerank, str):
            return rerank
        if rerank not in self._rerankers:
            self._rerankers[rerank] = create_reranker(rerank, without_cache(self.embedder))
        return self._rerankers[rerank]

    def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        """Return all chunks that a filter lets through, in order of source, level and index.

        Args:
            where: See `kinsplit.stores.protocol.Where`; {} lets all through.
            level: Level of the chunks: 0 for leaves, 1 for their parents, None for all levels.

        Raises:
            InvalidParameterError: A filter that is not valid.
        """
        return self.store.find(where, level)

    def count(self, where: Where | None = None, level: int | None = 0) -> int:
        """Return the number of chunks that a filter lets through; see `find`."""
        return self.store.count(level, where)

    def delete(self, source_id: str | None = None, *, where: Where | None = None) -> int:
        """Delete a document with its parents, or every document of which a filter lets a chunk through.

        Args:
            source_id: Id of the document.
            where: A filter instead of the id; see `kinsplit.stores.protocol.Where`.

        Returns:
            The number of deleted chunks.

        Raises:
            InvalidParameterError: Neither or both are given, or the filter is empty or not valid.
        """
        if (source_id is None) == (not where):
            remedy = "To delete all documents, delete each of store.sources()."
            raise InvalidParameterError("source_id", "or where must be given, and not both", source_id, remedy)
        sources = [source_id] if source_id is not None else self.store.sources(0, where)
        return sum(self.store.delete(each) for each in sources)

    def close(self) -> None:
        """Write everything to disk and let go of the collection."""
        self.store.close()

    async def aclose(self) -> None:
        """Do as `close`, and close what `asearch` opened in this event loop."""
        await self._readers.close()
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def default_strategy() -> Strategy:
    """Return the strategy of a new collection: whole sentences up to 160 tokens, without overlap.

    Chosen by `benchmarks/retrieval.py` (see docs/kin-scoring.md): chunks of this size are small enough to be found, and
    what they lack their kin adds.
    """
    return create("sentence", chunk_size=160, chunk_overlap=0)


def _bm25(language: str) -> Bm25Embedder:
    try:
        return Bm25Embedder(language)
    except InvalidParameterError as error:
        raise error.of("language") from None


def _describe(strategy: Strategy) -> str:
    return json.dumps({"name": strategy.name, "parameters": strategy.described})


def _stored_strategy(schema: Schema) -> Strategy:
    stored = json.loads(schema.strategy)
    if stored["name"] not in names():
        rule = (
            "The collection was filled by a framework's vector store, so there is no strategy that could split for it."
        )
        raise StoreError(f"{rule} Open it with that vector store, or choose another collection.")
    return create(stored["name"], **stored["parameters"])
