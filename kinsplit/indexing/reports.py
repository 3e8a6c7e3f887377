"""Events of indexing, and the report that adds them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kinsplit.embedding.remote_models.base import Used
from kinsplit.errors import KinsplitError, inline
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import SyncReport

#: Failures and warnings that a report holds, so that its size doesn't grow with the corpus; all failures are counted.
MOST = 1000
_UNCHANGED = SyncReport()


@dataclass(frozen=True, slots=True)
class FilesFound:
    """The files to index were found, on a Ray cluster.

    Attributes:
        files: Number of files.
        skipped: Files of unknown types.
    """

    files: int
    skipped: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file was read, or couldn't be.

    Attributes:
        source_id: Id of the file.
        documents: Number of its documents.
        warnings: Warnings of its loader.
        error: Reason why it couldn't be read, with a remedy; None if it was.
    """

    source_id: str
    documents: int
    warnings: tuple[str, ...] = ()
    error: KinsplitError | None = None


@dataclass(frozen=True, slots=True)
class TextsEmbedded:
    """Texts of a batch were embedded.

    Attributes:
        done: Number of the embedded texts of the batch.
        total: Number of all its texts.
    """

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ContextsWritten:
    """A language model was asked for the placements of chunks of a batch.

    Attributes:
        done: Number of chunks of the batch for which it was asked, whether it answered or not.
        total: Number of all its chunks.
    """

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """A document was stored, or couldn't be split or embedded.

    Attributes:
        source_id: Id of the document.
        chunks: Number of its leaves.
        changes: Changes of its leaves.
        embedded: Number of embedded texts.
        windowed: Number of embedded texts longer than the model's window.
        contexts: Number of its leaves with a placement by a language model.
        fallbacks: Number of its leaves for which the model gave none, and which have the context by rules alone.
        error: Reason why it couldn't be split, or why the embedding model refuses it, so that the store keeps its
            former chunks; None for a stored document.
        file: Id of its file; None for a document that came from none.
    """

    source_id: str
    chunks: int = 0
    changes: SyncReport = _UNCHANGED
    embedded: int = 0
    windowed: int = 0
    contexts: int = 0
    fallbacks: int = 0
    error: KinsplitError | None = None
    file: str | None = None


#: What happens while files and documents are indexed.
AddEvent = FilesFound | FileRead | ContextsWritten | TextsEmbedded | DocumentReport
OnEvent = Callable[[AddEvent], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that couldn't be loaded, or a document that couldn't be split or embedded.

    Attributes:
        source_id: Id of the file or document.
        error: Reason and remedy.
    """

    source_id: str
    error: KinsplitError


@dataclass(slots=True)
class AddReport:
    """Report of `Index.add` and of `kinsplit.integrations.ray.index`.

    Attributes:
        documents: Number of stored documents.
        chunks: Number of their leaves.
        changes: Changes of all documents together, in leaves.
        embedded: Number of embedded texts.
        windowed: Number of embedded texts longer than the model's window.
        contexts: Number of leaves with a placement by a language model, in documents that were split.
        fallbacks: Number of leaves there for which the model gave none. The next run asks for them again.
        failures: Number of files and documents that couldn't be loaded, split or embedded. Their former chunks stay.
        failed: The first 1,000 of them.
        warnings: The first 1,000 warnings of the loaders, each beginning with the file's id.
        pruned: Number of chunks deleted because their file is gone.
        gone: Ids of documents deleted because their file is gone.
        seconds: Wall time, without that of Ray's start.
        used: Requests, tokens and cost of an embedding model on a server; None for a model on this machine.
        courses: Number of the given files of each course (see `kinsplit.loaders`), in order of the courses' names.
    """

    documents: int = 0
    chunks: int = 0
    changes: SyncReport = _UNCHANGED
    embedded: int = 0
    windowed: int = 0
    contexts: int = 0
    fallbacks: int = 0
    failures: int = 0
    failed: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    pruned: int = 0
    gone: tuple[str, ...] = ()
    seconds: float = 0.0
    used: Used | None = None
    courses: Mapping[str, int] = field(default_factory=dict)

    def count(self, event: FileRead | DocumentReport) -> None:
        """Add a file or a document."""
        if event.error is not None:
            self.failures += 1
            self.failed += (Failure(event.source_id, event.error),)[: MOST - len(self.failed)]
        if isinstance(event, FileRead):
            warnings = (inline(f"{event.source_id}: {warning}") for warning in event.warnings)
            self.warnings = (*self.warnings, *warnings)[:MOST]
        elif event.error is None:
            self.documents += 1
            self.chunks += event.chunks
            self.changes += event.changes
            self.embedded += event.embedded
            self.windowed += event.windowed
            self.contexts += event.contexts
            self.fallbacks += event.fallbacks

    def prune(self, store: ChunkStore, gone: Sequence[str]) -> None:
        """Delete documents whose file is gone, and count their chunks."""
        self.gone, self.pruned = tuple(gone), sum(map(store.delete, gone))
        self.changes += SyncReport(deleted=self.pruned)

    @property
    def added(self) -> int:
        """Number of new chunks."""
        return self.changes.added

    @property
    def updated(self) -> int:
        """Number of chunks whose content or payload changed."""
        return self.changes.updated

    @property
    def unchanged(self) -> int:
        """Number of chunks that needed no write."""
        return self.changes.unchanged

    @property
    def deleted(self) -> int:
        """Number of deleted chunks."""
        return self.changes.deleted
