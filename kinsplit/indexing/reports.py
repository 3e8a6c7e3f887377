"""Reports of indexed documents and files."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.embedding.remote_models.base import Used
from kinsplit.errors import KinsplitError
from kinsplit.stores.protocol import SyncReport


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """Report of one document."""

    source_id: str
    chunks: int
    changes: SyncReport
    embedded: int
    windowed: int
    # Reason why it couldn't be split, or why the embedding model refuses it, so that the store keeps its former chunks;
    # None for a stored document.
    error: KinsplitError | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that couldn't be loaded, or a document that couldn't be split or embedded.

    Attributes:
        source_id: Id of the file or document.
        error: Reason and remedy.
    """

    source_id: str
    error: KinsplitError


@dataclass(frozen=True, slots=True)
class AddReport:
    """Report of `Index.add`.

    Attributes:
        documents: Reports of the stored documents, in order.
        failed: Files and documents that couldn't be loaded, split or embedded. Their former chunks stay.
        warnings: Warnings of the loaders, each beginning with the file's name.
        pruned: Number of chunks deleted because their file is gone.
        seconds: Wall time.
        gone: Ids of documents deleted because their file is gone.
        used: Requests, tokens and cost of an embedding model on a server; None for a model on this machine.
    """

    documents: tuple[DocumentReport, ...]
    failed: tuple[Failure, ...]
    warnings: tuple[str, ...]
    pruned: int
    seconds: float
    gone: tuple[str, ...] = ()
    used: Used | None = None

    @property
    def changes(self) -> SyncReport:
        """The changes of all documents together."""
        return sum((d.changes for d in self.documents), SyncReport(deleted=self.pruned))

    @property
    def failures(self) -> int:
        """Number of files and documents that failed."""
        return len(self.failed)

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

    @property
    def embedded(self) -> int:
        """Number of embedded texts."""
        return sum(d.embedded for d in self.documents)

    @property
    def windowed(self) -> int:
        """Number of embedded texts longer than the model's window."""
        return sum(d.windowed for d in self.documents)
