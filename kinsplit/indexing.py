"""Documents -> a store's chunks: split, placed, and only what is new embedded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kinsplit.chunk import Chunk, Document
from kinsplit.embedding.protocol import Embedder, Progress
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import Strategy
from kinsplit.stores.payload import GAP, check_metadata
from kinsplit.stores.protocol import ChunkStore, SyncReport, Vectors

# New texts that are embedded together: enough for full batches whatever the documents' sizes, few enough to keep in
# memory and to report progress by.
_BATCH = 256


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """What became of one document.

    Attributes:
        source_id: Its id.
        chunks: Number of its leaves.
        changes: What the sync changed.
        embedded: Texts that had to be embedded.
        windowed: Those of them that were longer than the model's window, and embedded as the mean of several.
    """

    source_id: str
    chunks: int
    changes: SyncReport
    embedded: int
    windowed: int


@dataclass(slots=True)
class _Job:
    document: Document
    chunks: list[Chunk]
    missing: list[Chunk]


@dataclass(frozen=True, slots=True)
class Indexer:
    """Writes documents into a store.

    Attributes:
        store: Where the chunks go.
        strategy: Splits the documents.
        embedder: Embeds context and text.
        bm25: Weighs the terms of the text alone, so that a heading repeated in every chunk doesn't blur the ranking.
    """

    store: ChunkStore
    strategy: Strategy
    embedder: Embedder
    bm25: Bm25Embedder

    def run(self, documents: Iterable[Document], progress: Progress | None = None) -> Iterator[DocumentReport]:
        """Bring documents into the store, several at a time.

        Args:
            documents: The documents.
            progress: Told how many of the new texts of a batch are embedded.

        Yields:
            A report of each document, in order, once it is stored.

        Raises:
            InvalidParameterError: An id that comes twice, or metadata that can't be stored.
        """
        batch: list[_Job] = []
        waiting = 0
        seen: set[str] = set()
        for document in documents:
            if document.id in seen:
                raise InvalidParameterError(
                    "documents", "must each have an id of their own", document.id, "Give every document another id."
                )
            seen.add(document.id)
            check_metadata(document.metadata)
            chunks = self.place(document)
            missing = self.store.missing(document.id, chunks)
            batch.append(_Job(document, chunks, missing))
            waiting += len(missing)
            if waiting >= _BATCH:
                yield from self._write(batch, progress)
                batch, waiting = [], 0
        yield from self._write(batch, progress)

    def place(self, document: Document) -> list[Chunk]:
        """Split a document and add to its chunks' metadata what the payload says of their place."""
        return [self._placed(document, c, previous) for c, previous in _with_previous(self.strategy.chunk(document))]

    def _placed(self, document: Document, chunk: Chunk, previous: Chunk | None) -> Chunk:
        placed: dict[str, Any] = {**chunk.metadata, "strategy": self.strategy.name}
        if pages := document.page_range(chunk.start, chunk.end):
            placed["page_start"], placed["page_end"] = pages
        if previous is not None and previous.end < chunk.start:
            placed[GAP] = document.text[previous.end : chunk.start]
        return replace(chunk, metadata=placed)

    def _write(self, batch: Sequence[_Job], progress: Progress | None) -> Iterator[DocumentReport]:
        new = [chunk for job in batch for chunk in job.missing]
        texts = [embedded_text(chunk) for chunk in new]
        windows = iter(self.embedder.windows(texts) if texts else [])
        dense = iter(self.embedder.embed(texts, progress) if texts else ())
        sparse = iter(self.bm25.embed([chunk.text for chunk in new]))
        for job in batch:
            vectors = {chunk.content: Vectors(next(dense), next(sparse)) for chunk in job.missing}
            windowed = sum(next(windows) > 1 for _ in job.missing)
            changes = self.store.sync(job.document.id, job.chunks, vectors)
            leaves = sum(chunk.level == 0 for chunk in job.chunks)
            yield DocumentReport(job.document.id, leaves, changes, len(job.missing), windowed)


def embedded_text(chunk: Chunk) -> str:
    """Return what is embedded of a chunk: its context, where it has one, before its text."""
    return f"{chunk.context}\n\n{chunk.text}" if chunk.context else chunk.text


def _with_previous(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, Chunk | None]]:
    previous: Chunk | None = None
    for chunk in chunks:
        yield chunk, previous if previous is not None and previous.level == chunk.level else None
        previous = chunk
