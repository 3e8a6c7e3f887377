"""Aggregated reports of indexing, whose size doesn't grow with the number of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kinsplit.embedding.remote_models.base import Usage, Used
from kinsplit.errors import LoadError
from kinsplit.indexing.reports import DocumentReport, Failure
from kinsplit.integrations.ray.columns import from_error
from kinsplit.integrations.ray.file_systems import TemporaryDict
from kinsplit.stores.protocol import SyncReport

#: Failures and warnings that a report holds; all are counted.
MOST = 1000


@dataclass(frozen=True, slots=True)
class StoredReport:
    """Report of one document or file as it arrives.

    Attributes:
        file: Id of its file; None for a document of a dataset.
        file_documents: Number of documents of that file.
        report: Report of the document; None for a file without documents.
        failure: The error of the file or document, if any.
        warnings: Warnings of the file.
    """

    file: str | None
    file_documents: int
    report: DocumentReport | None
    failure: Failure | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RayReport:
    """Report of `kinsplit.integrations.ray.index`: the sums of an `AddReport`.

    Attributes:
        documents: Number of stored documents.
        changes: Changes of all documents together, in leaves.
        embedded: Number of embedded texts.
        windowed: Number of embedded texts longer than the model's window.
        failures: Number of files and documents that couldn't be loaded or split. Their former chunks stay.
        failed: The first 1,000 of them.
        warnings: The first 1,000 warnings of the loaders, each beginning with the file's id.
        pruned: Number of chunks deleted because their file is gone.
        gone: Ids of documents deleted because their file is gone.
        seconds: Wall time, without that of Ray's start.
        used: Requests, tokens and cost of an embedding model on a server; None for other models.
    """

    documents: int
    changes: SyncReport
    embedded: int
    windowed: int
    failures: int
    failed: tuple[Failure, ...]
    warnings: tuple[str, ...]
    pruned: int
    gone: tuple[str, ...]
    seconds: float
    used: Used | None = None

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


@dataclass(slots=True)
class Totals:
    """Sums of reports, and the ids that arrived, which lie in a temporary file.

    Attributes:
        documents: Number of stored documents.
        changes: Their changes.
        embedded: Number of embedded texts.
        windowed: Number of those longer than the model's window.
        requests: Requests to a model on a server.
        tokens: Tokens sent to it.
        failures: Number of failures.
        failed: The first of them.
        warnings: The first warnings.
    """

    documents: int = 0
    changes: SyncReport = field(default_factory=SyncReport)
    embedded: int = 0
    windowed: int = 0
    requests: int = 0
    tokens: int = 0
    failures: int = 0
    failed: list[Failure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _ids: TemporaryDict[None] = field(default_factory=TemporaryDict)

    def __contains__(self, source_id: object) -> bool:
        return source_id in self._ids

    def add(self, rows: Iterable[dict[str, Any]]) -> Iterator[StoredReport]:
        """Add the rows of a table with the columns `REPORTS`, and yield each."""
        for row in rows:
            one = self._stored(row)
            self.requests += row["requests"] or 0
            self.tokens += row["tokens"] or 0
            if one.failure is not None:
                self.failures += 1
                self.failed += [one.failure] if len(self.failed) < MOST else []
            self.warnings += one.warnings[: MOST - len(self.warnings)]
            if one.report is not None and one.failure is None:
                self.documents += 1
                self.changes += one.report.changes
                self.embedded += one.report.embedded
                self.windowed += one.report.windowed
            yield one

    def report(self, pruned: int, gone: Sequence[str], seconds: float, usage: Usage | None) -> RayReport:
        """Return the sums so far.

        Args:
            pruned: Number of chunks deleted because their file is gone.
            gone: Ids of their documents.
            seconds: Wall time.
            usage: Usage of a model on a server, which knows its price.
        """
        cost = None if usage is None or usage.price is None else self.tokens * usage.price / 1e6
        return RayReport(
            self.documents,
            self.changes + SyncReport(deleted=pruned),
            self.embedded,
            self.windowed,
            self.failures,
            tuple(self.failed),
            tuple(self.warnings),
            pruned,
            tuple(gone),
            seconds,
            None if usage is None else Used(self.requests, self.tokens, cost),
        )

    def _stored(self, row: dict[str, Any]) -> StoredReport:
        file, error = row["file"], from_error(row["error"])
        warnings = tuple(f"{file}: {warning}" for warning in row["warnings"] or ())
        if row["chunks"] is not None and row["id"] in self._ids:
            reason = f"its id {row['id']!r} comes twice, and one of the two documents is stored. Give each its own id."
            error = LoadError(file or row["id"], reason)
        if row["chunks"] is not None or error is not None:  # The former documents of one that failed stay.
            self._ids[row["id"]] = None
        failure = None if error is None else Failure(row["id"], error)
        number = row["file_documents"] or 0
        report = None
        if row["chunks"] is not None:
            changes = SyncReport(*(row[name] or 0 for name in ("added", "updated", "unchanged", "deleted")))
            report = DocumentReport(row["id"], row["chunks"], changes, row["embedded"] or 0, row["windowed"] or 0)
        return StoredReport(file, number, report, failure, warnings)
