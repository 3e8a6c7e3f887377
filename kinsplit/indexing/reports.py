"""What became of documents and files that were indexed."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.errors import KinsplitError, LimitTooSmallError
from kinsplit.stores.protocol import SyncReport


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """What became of one document.

    Attributes:
        source_id: Its id.
        chunks: Number of its leaves.
        changes: What the sync changed, in leaves.
        embedded: Texts that had to be embedded.
        windowed: Those of them that were longer than the model's window, and embedded as the mean of several.
        error: Why it couldn't be split, and what is stored of it stays as it was; None for a document that was stored.
    """

    source_id: str
    chunks: int
    changes: SyncReport
    embedded: int
    windowed: int
    error: LimitTooSmallError | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that couldn't be loaded, or a document that couldn't be split.

    Attributes:
        source_id: Its id.
        error: Why, and what to do about it.
    """

    source_id: str
    error: KinsplitError


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `Index.add` did.

    Attributes:
        documents: A report of each document that was stored, in order.
        failed: What couldn't be loaded or split. What was stored of it before stays.
        warnings: What was decided or lost while loading, each beginning with the file's name.
        pruned: Chunks deleted because their file is gone.
        seconds: Wall time.
        gone: Ids of the documents that were deleted because their file is gone.
    """

    documents: tuple[DocumentReport, ...]
    failed: tuple[Failure, ...]
    warnings: tuple[str, ...]
    pruned: int
    seconds: float
    gone: tuple[str, ...] = ()

    @property
    def changes(self) -> SyncReport:
        """The changes of all documents together."""
        return sum((d.changes for d in self.documents), SyncReport(deleted=self.pruned))

    @property
    def added(self) -> int:
        """Chunks that were new."""
        return self.changes.added

    @property
    def updated(self) -> int:
        """Chunks of which content or payload changed."""
        return self.changes.updated

    @property
    def unchanged(self) -> int:
        """Chunks that cost no write."""
        return self.changes.unchanged

    @property
    def deleted(self) -> int:
        """Chunks that are gone."""
        return self.changes.deleted

    @property
    def embedded(self) -> int:
        """Texts that had to be embedded."""
        return sum(d.embedded for d in self.documents)

    @property
    def windowed(self) -> int:
        """Texts longer than the model's window, embedded as the mean of several."""
        return sum(d.windowed for d in self.documents)
