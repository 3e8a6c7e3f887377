"""Writing of documents into a store, which embeds new chunks only."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk, Content, Document, indexed_text
from kinsplit.embedding.protocol import Embedder, EmbeddingContext, Progress, SparseVector
from kinsplit.embedding.registry import resolve
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import EmbedderUnavailableError, EmbeddingError, KinsplitError, MissingContentError, require
from kinsplit.identity import course_of, name_of, title_of
from kinsplit.indexing.contexts import ContextWriter
from kinsplit.indexing.levels import complete, origin_of
from kinsplit.indexing.overlap import Inbox, Overlap
from kinsplit.indexing.reports import DocumentReport
from kinsplit.indexing.vectors import (
    Division,
    Embedded,
    LanguageTally,
    embed_documents,
    embed_leaves,
    probe,
    warn_of_windows,
)
from kinsplit.language_models.registry import NO_MODEL
from kinsplit.parsers import Strategy
from kinsplit.spans import holds
from kinsplit.stores.payload import check_metadata
from kinsplit.stores.plan import missing_of
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import SyncReport, Vectors
from kinsplit.support.batches import by_size
from kinsplit.support.telemetry import model_span, span

# New texts embedded together: enough for full batches whatever the documents' sizes, few enough to keep in memory and
# to report progress by.
_BATCH = 256
# Chunks held together, most of them unchanged.
_CHUNKS = 2048
# Chunks, and documents, compared with the store in one look-up.
_LOOKED_UP = 1000
# Characters split together: few calls of a strategy's model, and little text in memory.
_CHARACTERS = 500_000
# Attempts to store a document again after another writer deleted contents that it shares with its former state.
_RETRIES = 3


# A document with its chunks of all levels, or why it can't be split.
_Split = tuple[Document, list[Chunk] | KinsplitError]


@dataclass(slots=True)
class Job:
    """A document to be stored."""

    document: Document
    chunks: list[Chunk]
    missing: list[Chunk]
    # Number of leaves of a document that is stored as it is, which may have been found without its chunks; None if it
    # has to be written.
    stored: int | None = None
    # Whether the terms of all chunks change; see `DocumentComparison`.
    is_renamed: bool = False

    def missing_leaves(self) -> list[Chunk]:
        """Return the leaves to embed."""
        return [chunk for chunk in self.missing if chunk.level == 0]


@dataclass(slots=True)
class _Batch:
    """Documents whose new leaves are embedded together."""

    is_first: bool
    jobs: list[Job] = field(default_factory=list)
    failed: list[DocumentReport] = field(default_factory=list)
    missing: int = 0
    chunks: int = 0
    embedded: list[list[Embedded] | KinsplitError] = field(default_factory=list)

    def add(self, job: Job) -> None:
        """Add a document."""
        self.jobs.append(job)
        self.missing += len(job.missing)
        self.chunks += len(job.chunks) or job.stored or 0

    @property
    def is_full(self) -> bool:
        """Whether another document belongs into the next batch."""
        return self.missing >= _BATCH or self.chunks >= _CHUNKS


@dataclass(frozen=True, slots=True)
class Indexer:
    """Writes documents into a store."""

    store: ChunkStore
    strategy: Strategy
    embedder: Embedder
    bm25: Bm25Embedder
    embedding_context: EmbeddingContext = "headings"
    contexts: ContextWriter | None = None

    def run(
        self,
        documents: Iterable[Document],
        progress: Progress | None = None,
        inbox: Inbox | None = None,
        written: Progress | None = None,
    ) -> Generator[DocumentReport, None, None]:
        """Store documents, several at a time: while the model embeds some, threads split the next and write the last.

        Args:
            documents: The documents.
            progress: Function called with the number of embedded texts of a batch, and of all its texts.
            inbox: Calls that are made in the caller's thread.
            written: Function called with the number of placements of a batch that were asked for, and of all.

        Yields:
            A report of each document once it is stored, in order; documents that can't be split come earlier. One that
            the model refuses has an error in its report, and its former chunks stay.

        Raises:
            InvalidParameterError: An id comes twice, or metadata can't be stored.
            EmbedderUnavailableError: The model fails with any text. The error tells how many documents are stored.
        """
        calls, tally = inbox or Inbox(), LanguageTally(self.embedder)

        def show(done: int, total: int) -> None:
            try:
                calls.make()
                if progress is not None:
                    progress(done, total)
            except Exception as error:
                raise _CallbackError(error) from error

        def show_contexts(done: int, total: int) -> None:
            if written is not None:
                calls.leave(partial(written, done, total))

        embed = partial(self._embed_batch, progress=show, tally=tally)
        overlap = Overlap(self._batches(documents, show_contexts), embed, self._write, calls)
        stored = 0
        try:
            with closing(iter(overlap)) as reports:
                for report in reports:
                    stored += report.error is None
                    yield report
            tally.warn()
        except EmbedderUnavailableError as error:
            raise EmbedderUnavailableError(error.reason, stored + (error.stored or 0)) from error

    def _batches(self, documents: Iterable[Document], written: Progress) -> Generator[_Batch, None, None]:
        batch = _Batch(is_first=True)
        for job in self._jobs(documents, written):
            if isinstance(job, DocumentReport):
                batch.failed.append(job)
                continue
            batch.add(job)
            if batch.is_full:
                yield batch
                batch = _Batch(is_first=batch.is_first and not batch.missing)
        yield batch

    def _jobs(self, documents: Iterable[Document], written: Progress) -> Iterator[Job | DocumentReport]:
        """Split and compare documents that aren't stored as they are; report those that can't be split."""
        for group in by_size(_checked(documents), _CHARACTERS, len):
            stored = stored_leaves(self.store, group, self.strategy)
            rest = [document for document, leaves in zip(group, stored, strict=True) if leaves is None]
            split = chunk_documents(rest, self.strategy, self.embedding_context, self.contexts, written)
            compared = self._compared(split)
            for document, leaves in zip(group, stored, strict=True):
                yield next(compared) if leaves is None else Job(document, [], [], leaves)

    def _compared(self, split: Iterable[_Split]) -> Iterator[Job | DocumentReport]:
        """Compare documents with the store, many at a time; yield reports of those that can't be split."""
        for group in by_size(split, _LOOKED_UP, _entries):
            wanted = {document.id: chunks for document, chunks in group if isinstance(chunks, list)}
            found = self.store.compare(wanted)
            for document, chunks in group:
                if isinstance(chunks, KinsplitError):
                    yield _report_of(document, error=chunks)
                else:
                    stored = found[document.id]
                    number = leaves_of(chunks) if stored.is_stored else None
                    yield Job(document, chunks, stored.missing, number, stored.is_renamed)

    def chunk(self, document: Document) -> list[Chunk]:
        """Split a document into chunks of all levels, as they are stored."""
        return complete(document, self.strategy.chunk(document), self.strategy, late=self.embedding_context == "late")

    def _embed_batch(self, batch: _Batch, progress: Progress, tally: LanguageTally) -> _Batch:
        """Return a batch with the vectors of its new leaves."""
        new = [(job.document, job.missing_leaves()) for job in batch.jobs]
        if batch.is_first:
            warn_of_windows(self.embedder, self.embedding_context, [leaf for _, leaves in new for leaf in leaves])
        try:
            batch.embedded = self._embed(new, progress)
            tally.add(document for document, leaves in new if leaves)
            return batch
        except EmbedderUnavailableError as down:
            raise EmbedderUnavailableError(down.reason, sum(job.stored is not None for job in batch.jobs)) from down
        except _CallbackError as wrapped:
            error = wrapped.error
        raise error

    def _write(self, batch: _Batch) -> Iterator[DocumentReport]:
        yield from batch.failed
        for job, embedded in zip(batch.jobs, batch.embedded, strict=True):
            yield self.write(job, embedded)

    def write(self, job: Job, embedded: Sequence[Embedded] | KinsplitError) -> DocumentReport:
        """Store a document, unless it is stored as it is, or refused."""
        if isinstance(embedded, KinsplitError):
            return _report_of(job.document, error=embedded)
        if job.stored is not None:
            changes = SyncReport(unchanged=job.stored)
            return _report_of(job.document, chunks=job.stored, changes=changes, **self._contexts(job.chunks))
        number = leaves_of(job.chunks)
        leaves = dict(zip((leaf.content_hash for leaf in job.missing_leaves()), embedded, strict=True))
        with span("kinsplit.write", {"chunks": number}, texts={"document": job.document.id}) as record:
            try:
                report = self._sync(job, leaves)
            except EmbedderUnavailableError:
                raise
            except EmbeddingError as error:
                return _report_of(job.document, error=error)
            record(added=report.added, updated=report.updated, deleted=report.deleted)
        windowed = sum(windows > 1 for _, windows in leaves.values())
        embedded_now = {"embedded": len(leaves), "windowed": windowed, **self._contexts(job.chunks)}
        return _report_of(job.document, chunks=number, changes=report, **embedded_now)

    def _contexts(self, chunks: Sequence[Chunk]) -> dict[str, int]:
        """Return the numbers of leaves with and without a placement, if a model writes them."""
        if self.store.schema.context_model == NO_MODEL:
            return {}
        written = sum(bool(chunk.beside.placement) for chunk in chunks if chunk.level == 0)
        return {"contexts": written, "fallbacks": leaves_of(chunks) - written}

    def _embed(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]], progress: Progress | None = None
    ) -> list[list[Embedded] | KinsplitError]:
        def embed(leaves: Sequence[tuple[Document, Chunk]]) -> list[Embedded]:
            with model_span("embeddings", self.embedder.name) as record:
                record({"gen_ai.embeddings.dimension.count": self.embedder.dimension}, texts=len(leaves))
                return embed_leaves(self.embedder, self.embedding_context, leaves, progress)

        return embed_documents(self.embedder, self.embedding_context, documents, embed)

    def _sync(self, job: Job, leaves: dict[str, Embedded]) -> SyncReport:
        """Store a document, embedding contents that another writer has deleted in the meantime.

        `leaves` has the vectors and numbers of windows by content hash; further leaves are added.
        """
        for _ in range(_RETRIES):
            with suppress(MissingContentError):
                return self.store.sync(job.document.id, job.chunks, self._vectors(job, leaves))
            now = self.store.compare({job.document.id: job.chunks})[job.document.id].missing
            job.missing = list({chunk.content_key: chunk for chunk in (*job.missing, *now)}.values())
            more = [leaf for leaf in job.missing_leaves() if leaf.content_hash not in leaves]
            (embedded,) = self._embed([(job.document, more)])
            if isinstance(embedded, KinsplitError):
                raise embedded
            leaves.update(zip((leaf.content_hash for leaf in more), embedded, strict=True))
        return self.store.sync(job.document.id, job.chunks, self._vectors(job, leaves))

    def _vectors(self, job: Job, leaves: Mapping[str, Embedded]) -> dict[Content, Vectors]:
        """Return the vectors of a document's new contents, or of all its contents if its course has another name."""
        dense = {content_hash: vector for content_hash, (vector, _) in leaves.items()}
        chunks = job.missing
        if job.is_renamed:
            chunks = missing_of(job.chunks, ())
            dense = self._stored(job) | dense
            lost = [chunk.content_key for chunk in chunks if chunk.level == 0 and chunk.content_hash not in dense]
            if lost:
                raise MissingContentError(lost[0])
        sparse = self._terms(job.document, chunks)
        parents = [chunk for chunk in chunks if 0 < chunk.level < DOCUMENT]
        means = self._means(job, parents, dense) if parents else {}
        return {
            chunk.content_key: Vectors(dense[chunk.content_hash] if chunk.level == 0 else means.get(chunk.id), terms)
            for chunk, terms in zip(chunks, sparse, strict=True)
        }

    def _terms(self, document: Document, chunks: Sequence[Chunk]) -> list[SparseVector]:
        """Return the terms of a document's chunks, with those of its names."""
        vectors = self.bm25.embed(
            [document.text if chunk.level == DOCUMENT else indexed_text(chunk) for chunk in chunks]
        )
        names = name_of(document.id), title_of(document.metadata), course_of(document.metadata)
        return [
            self.bm25.with_names(vector, *names, is_document=chunk.level == DOCUMENT)
            for vector, chunk in zip(vectors, chunks, strict=True)
        ]

    def _stored(self, job: Job) -> dict[str, NDArray[np.float32]]:
        """Return the dense vectors of a document's stored leaves by content hash."""
        pairs = self.store.export(job.document.id)
        return {c.content_hash: v.dense for c, v in pairs if c.level == 0 and v.dense is not None}

    def _means(
        self, job: Job, parents: Sequence[Chunk], dense: Mapping[str, NDArray[np.float32]]
    ) -> dict[str, NDArray[np.float32]]:
        """Return the mean vectors of parents' leaves, normalised to length 1, by the parents' ids."""
        leaves = [chunk for chunk in job.chunks if chunk.level == 0]
        known = dict(dense)
        if any(leaf.content_hash not in known for leaf in leaves):
            known = self._stored(job) | known
        lost = [leaf.content_key for leaf in leaves if leaf.content_hash not in known]
        if lost:
            raise MissingContentError(lost[0])
        vectors = np.stack([known[leaf.content_hash] for leaf in leaves])
        starts, ends = np.array([leaf.start for leaf in leaves]), np.array([leaf.end for leaf in leaves])
        means = {}
        for parent in parents:
            within = (starts >= parent.start) & (ends <= parent.end)
            if len(parent.spans) > 1:
                within &= np.array([holds(parent.spans, leaf.spans) for leaf in leaves])
            if not within.any():  # A leaf with the same text at a larger size stands for both.
                within = (starts < parent.end) & (ends > parent.start)
            mean = vectors[within].mean(axis=0)
            means[parent.id] = np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)
        return means


def stored_leaves(store: ChunkStore, documents: Sequence[Document], strategy: Strategy) -> list[int | None]:
    """Return the numbers of leaves of the documents that a store holds as they are, in one look-up; None for others."""
    pairs = [(document.id, origin_of(document, strategy)) for document in documents]
    known = {id_: origin for id_, origin in pairs if origin is not None}
    stored = store.stored(known) if known else {}
    return [stored.get(id_) if origin is not None and known[id_] == origin else None for id_, origin in pairs]


def chunk_documents(
    documents: Iterable[Document],
    strategy: Strategy,
    embedding_context: EmbeddingContext,
    contexts: ContextWriter | None = None,
    written: Progress | None = None,
) -> Iterator[_Split]:
    """Split documents into chunks of all levels, as they are stored; many are split together.

    Leaves have placements if there is a writer of contexts, whose progress `written` is called with.

    A document may have an error instead: a character is longer than a chunk may be, or the strategy's embedding model
    refuses the document. If that fails with any text, EmbedderUnavailableError is raised.
    """

    def work(part: Sequence[Document]) -> list[list[Chunk]]:
        with span("kinsplit.split", {"strategy": strategy.name}) as record:
            split = strategy.chunk_many(part)
            record(documents=len(part), chunks=sum(map(len, split)))
        return split

    late = embedding_context == "late"
    embedder = getattr(strategy, "embedder", None)
    model = None if embedder is None else f"{strategy.name} with {resolve(embedder).name}"
    division: Division[Document, list[Chunk]] = Division(
        model, work, lambda: probe(resolve(embedder)), name_of=lambda document: document.id
    )
    for batch in by_size(documents, _CHARACTERS, len):
        split = list(zip(batch, division.settle(batch), strict=True))
        if contexts is not None:
            pairs = [(document, chunks) for document, chunks in split if not isinstance(chunks, KinsplitError)]
            placed = iter(contexts.write(pairs, written))
            split = [(d, chunks if isinstance(chunks, KinsplitError) else next(placed)) for d, chunks in split]
        for document, chunks in split:
            if isinstance(chunks, KinsplitError):
                yield document, chunks
            else:
                lacks = contexts is not None and any(not c.level and not c.beside.placement for c in chunks)
                yield document, complete(document, chunks, strategy, late=late, unfinished=lacks)


def _report_of(document: Document, **outcome: Any) -> DocumentReport:
    return DocumentReport(document.id, **outcome, file=document.metadata.get("file_path"))


def _entries(split: _Split) -> int:
    """Return the number of entries of a store that are looked up for a document."""
    return 1 if isinstance(split[1], KinsplitError) else 1 + len(split[1])


class _CallbackError(BaseException):
    """An error of a caller's function, which no embedder that calls it may take for one of its own."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def leaves_of(chunks: Iterable[Chunk]) -> int:
    """Return the number of leaves among chunks of all levels."""
    return sum(chunk.level == 0 for chunk in chunks)


def check_documents(documents: Iterable[Document]) -> None:
    """Raise InvalidParameterError if documents share an id, or have metadata that can't be stored."""
    for _ in _checked(documents):
        pass


def _checked(documents: Iterable[Document]) -> Iterator[Document]:
    ids: set[str] = set()
    for document in documents:
        remedy = "Give every document another id."
        require(document.id not in ids, "documents", "must each have an id of their own", document.id, remedy)
        ids.add(document.id)
        check_metadata(document.metadata)
        yield document
