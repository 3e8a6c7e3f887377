"""Documents -> a store's chunks: split, placed, completed by their parents, and only what is new embedded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk, Content, Document, by_size
from kinsplit.embedding.protocol import Embedder, Progress
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError, LimitTooSmallError, MissingContentError
from kinsplit.indexing.context import EmbeddingContext, embed_leaves, with_document_context
from kinsplit.indexing.levels import with_kin
from kinsplit.indexing.reports import DocumentReport
from kinsplit.parsers import Strategy
from kinsplit.spans import blank_before, holds
from kinsplit.stores.payload import GAP, check_metadata
from kinsplit.stores.protocol import ChunkStore, SyncReport, Vectors


def placed(
    document: Document, split: Sequence[Chunk], strategy: Strategy, embedding_context: EmbeddingContext
) -> list[Chunk]:
    """Return the chunks of a document, of all levels, as they are stored.

    Args:
        document: The document.
        split: What the strategy made of it.
        strategy: The strategy.
        embedding_context: What is embedded of a leaf beside its text.
    """
    chunks = with_kin(document, split, strategy.fingerprint)
    if embedding_context == "late":
        chunks = with_document_context(document, chunks)
    gathered = any(len(chunk.spans) > 1 for chunk in chunks)
    return [
        replace(
            chunk, metadata={**chunk.metadata, "strategy": strategy.name, **_place(document, chunk, before, gathered)}
        )
        for chunk, before in _with_previous(chunks)
    ]


def _place(document: Document, chunk: Chunk, previous: Chunk | None, gathered: bool) -> dict[str, Any]:
    place: dict[str, Any] = {}
    if pages := document.page_range(chunk.start, chunk.end):
        place["page_start"], place["page_end"] = pages
    if times := document.time_range(chunk.start, chunk.end):
        place["time_start"], place["time_end"] = times
    if gathered:  # What lies between siblings may belong to others.
        place[GAP] = blank_before(document.text, chunk.start)
    elif previous is not None and previous.end < chunk.start:
        place[GAP] = document.text[previous.end : chunk.start]
    return place


def _with_previous(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, Chunk | None]]:
    previous: Chunk | None = None
    for chunk in chunks:
        yield chunk, previous if previous is not None and previous.level == chunk.level else None
        previous = chunk


__all__ = ["DocumentReport", "Indexer", "check_documents"]

# New texts that are embedded together: enough for full batches whatever the documents' sizes, few enough to keep in
# memory and to report progress by.
_BATCH = 256
# Characters that are split together: a strategy asks its model less often, and little text waits in memory.
_CHARACTERS = 500_000
# How often a document is begun again because another writer deleted what it shares with its former state.
_RETRIES = 3


@dataclass(slots=True)
class _Job:
    document: Document
    chunks: list[Chunk]
    missing: list[Chunk]

    def new(self, level: int) -> list[Chunk]:
        return [chunk for chunk in self.missing if chunk.level == level]


@dataclass(frozen=True, slots=True)
class Indexer:
    """Writes documents into a store.

    Attributes:
        store: Where the chunks go.
        strategy: Splits the documents.
        embedder: Embeds leaves. A parent's vector is the mean of its leaves', and costs nothing.
        bm25: Weighs the terms of the text alone, so that a heading repeated in every chunk doesn't blur the ranking.
        embedding_context: What is embedded of a leaf beside its text.
    """

    store: ChunkStore
    strategy: Strategy
    embedder: Embedder
    bm25: Bm25Embedder
    embedding_context: EmbeddingContext = "headings"

    def run(self, documents: Iterable[Document], progress: Progress | None = None) -> Iterator[DocumentReport]:
        """Bring documents into the store, several at a time.

        Args:
            documents: The documents.
            progress: Told how many of the new texts of a batch are embedded.

        Yields:
            A report of each document, in order, once it is stored; before that of one that can't be split.

        Raises:
            InvalidParameterError: An id that comes twice, or metadata that can't be stored.
        """
        batch: list[_Job] = []
        waiting = 0
        seen: set[str] = set()
        for document, chunks in self._split(documents, seen):
            if isinstance(chunks, LimitTooSmallError):
                yield DocumentReport(document.id, 0, SyncReport(), 0, 0, chunks)
                continue
            missing = self.store.missing(document.id, chunks)
            batch.append(_Job(document, chunks, missing))
            waiting += len(missing)
            if waiting >= _BATCH:
                yield from self._write(batch, progress)
                batch, waiting = [], 0
        yield from self._write(batch, progress)

    def place(self, document: Document) -> list[Chunk]:
        """Split a document into chunks of all levels, with what the payload says of their place in the metadata."""
        return self._placed(document, self.strategy.chunk(document))

    def _split(
        self, documents: Iterable[Document], seen: set[str]
    ) -> Iterator[tuple[Document, list[Chunk] | LimitTooSmallError]]:
        """Yield each document with its placed chunks, or why it can't be split; many are split together."""
        for batch in by_size(_checked(documents, seen), _CHARACTERS):
            try:
                chunked = self.strategy.chunk_many(batch)
            except LimitTooSmallError:
                yield from ((document, self._alone(document)) for document in batch)
            else:
                for document, chunks in zip(batch, chunked, strict=True):
                    yield document, self._placed(document, chunks)

    def _alone(self, document: Document) -> list[Chunk] | LimitTooSmallError:
        try:
            return self.place(document)
        except LimitTooSmallError as error:
            return error

    def _placed(self, document: Document, split: Sequence[Chunk]) -> list[Chunk]:
        return placed(document, split, self.strategy, self.embedding_context)

    def _write(self, batch: Sequence[_Job], progress: Progress | None) -> Iterator[DocumentReport]:
        new = [(job.document, leaf) for job in batch for leaf in job.new(0)]
        embedded = iter(embed_leaves(self.embedder, self.embedding_context, new, progress))
        for job in batch:
            leaves = {leaf.content_hash: next(embedded) for leaf in job.new(0)}
            report = self._sync(job, leaves)
            number = sum(chunk.level == 0 for chunk in job.chunks)
            windowed = sum(windows > 1 for _, windows in leaves.values())
            yield DocumentReport(job.document.id, number, report, len(leaves), windowed)

    def _sync(self, job: _Job, leaves: dict[str, tuple[NDArray[np.float32], int]]) -> SyncReport:
        """Store a document; embed more of it where another writer deleted contents that were there at first.

        Args:
            job: The document.
            leaves: By content hash, what was embedded of it; what is embedded here is added.
        """
        for _ in range(_RETRIES):
            with suppress(MissingContentError):
                return self._sync_once(job, leaves)
            now = self.store.missing(job.document.id, job.chunks)
            job.missing = list({chunk.content: chunk for chunk in (*job.missing, *now)}.values())
            more = [leaf for leaf in job.new(0) if leaf.content_hash not in leaves]
            embedded = embed_leaves(self.embedder, self.embedding_context, [(job.document, leaf) for leaf in more])
            leaves.update(zip((leaf.content_hash for leaf in more), embedded, strict=True))
        return self._sync_once(job, leaves)

    def _sync_once(self, job: _Job, leaves: Mapping[str, tuple[NDArray[np.float32], int]]) -> SyncReport:
        dense = {content_hash: vector for content_hash, (vector, _) in leaves.items()}
        return self.store.sync(job.document.id, job.chunks, self._vectors(job, dense))

    def _vectors(self, job: _Job, dense: Mapping[str, NDArray[np.float32]]) -> dict[Content, Vectors]:
        """Return the vectors of a document's new contents of all levels.

        Args:
            job: The document.
            dense: By content hash, what was embedded of its leaves.
        """
        sparse = self.bm25.embed([job.document.text if c.level == DOCUMENT else c.text for c in job.missing])
        parents = [chunk for chunk in job.missing if 0 < chunk.level < DOCUMENT]
        means = self._means(job, parents, dense) if parents else {}
        return {
            chunk.content: Vectors(dense[chunk.content_hash] if chunk.level == 0 else means.get(chunk.id), terms)
            for chunk, terms in zip(job.missing, sparse, strict=True)
        }

    def _means(
        self, job: _Job, parents: Sequence[Chunk], dense: Mapping[str, NDArray[np.float32]]
    ) -> dict[str, NDArray[np.float32]]:
        """Return the mean vector, of length 1, of the leaves that each parent holds, by the parent's id."""
        leaves = [chunk for chunk in job.chunks if chunk.level == 0]
        known = dict(dense)
        if any(leaf.content_hash not in known for leaf in leaves):
            stored = self.store.export(job.document.id)
            known.update((c.content_hash, v.dense) for c, v in stored if c.level == 0 and v.dense is not None)
        lost = [leaf.content for leaf in leaves if leaf.content_hash not in known]
        if lost:
            raise MissingContentError(lost[0])
        vectors = np.stack([known[leaf.content_hash] for leaf in leaves])
        starts, ends = np.array([leaf.start for leaf in leaves]), np.array([leaf.end for leaf in leaves])
        means = {}
        for parent in parents:
            within = (starts >= parent.start) & (ends <= parent.end)
            if len(parent.spans) > 1:
                within &= np.array([holds(parent.spans, leaf.spans) for leaf in leaves])
            if not within.any():  # Its only leaf was the same text at a larger size, which stands for both.
                within = (starts < parent.end) & (ends > parent.start)
            mean = vectors[within].mean(axis=0)
            means[parent.id] = np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)
        return means


def check_documents(documents: Iterable[Document]) -> None:
    """Make sure that documents can be stored together.

    Raises:
        InvalidParameterError: An id that comes twice, or metadata that can't be stored.
    """
    for _ in _checked(documents, set()):
        pass


def _checked(documents: Iterable[Document], seen: set[str]) -> Iterator[Document]:
    for document in documents:
        _check(document, seen)
        yield document


def _check(document: Document, seen: set[str]) -> None:
    """Check one more document, and add its id to those that were seen."""
    if document.id in seen:
        remedy = "Give every document another id."
        raise InvalidParameterError("documents", "must each have an id of their own", document.id, remedy)
    seen.add(document.id)
    check_metadata(document.metadata)
