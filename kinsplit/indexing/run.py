"""Run of `Index.add`, which stores files and documents and reports on them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import ParamSpec

from kinsplit.chunk import Document
from kinsplit.embedding.protocol import Progress
from kinsplit.embedding.remote_models.base import usage_of
from kinsplit.errors import KinsplitWarning, inline
from kinsplit.indexing.indexer import Indexer, check_documents
from kinsplit.indexing.origins import check_rows, find_duplicates, find_gone, new_files, with_path
from kinsplit.indexing.overlap import Inbox
from kinsplit.indexing.reports import AddReport, DocumentReport, Failure
from kinsplit.keywords import AddKeywords
from kinsplit.loaders import Discovery, Limits, Loaded, SourceFile, discover, load_files
from kinsplit.options import AddOptions
from kinsplit.stores.protocol import SyncReport
from kinsplit.stores.store import ChunkStore
from kinsplit.support.telemetry import span

_P = ParamSpec("_P")


class AddArguments(AddKeywords, total=False):
    """Keyword arguments of `kinsplit.Index.add`."""

    known: Callable[[SourceFile], bool] | None
    progress: Progress | None
    on_file: Callable[[Loaded], None] | None
    on_document: Callable[[DocumentReport], None] | None


class DuplicateWarning(KinsplitWarning):
    """A file is indexed under two ids."""


def add(
    indexer: Indexer,
    items: str | Path | Document | Iterable[str | Path | Document],
    options: AddOptions,
    *,
    known: Callable[[SourceFile], bool] | None,
    progress: Progress | None,
    on_file: Callable[[Loaded], None] | None,
    on_document: Callable[[DocumentReport], None],
) -> AddReport:
    """Store files, folders and documents; see `kinsplit.Index.add`."""
    begun, usage = time.perf_counter(), usage_of(indexer.embedder)
    before = usage.since() if usage else None
    store, fingerprint = indexer.store, indexer.strategy.fingerprint
    given = [items] if isinstance(items, str | Path | Document) else list(items)
    documents = [item for item in given if isinstance(item, Document)]
    check_documents(documents)
    paths = [item for item in given if not isinstance(item, Document)]
    found = discover(paths, subjects=options.subjects, readers=options.readers) if paths else Discovery()
    ids = {source.source_id for source in new_files(store, fingerprint, found.files)}
    changed = {source.source_id: source for source in found.files if known is None or not known(source)}
    new = (source for source in changed.values() if source.source_id in ids)
    inbox = Inbox()
    reading = _Reading(store, fingerprint, found, tuple(changed.values()), options.limits, on_file, inbox)
    reading.warnings += warn_of_duplicates(find_duplicates(store, fingerprint, new, changed))

    stored: list[DocumentReport] = []
    with span("kinsplit.index") as record, closing(indexer.run(chain(documents, reading), progress, inbox)) as reports:
        for report in reports:
            if report.error is None:
                stored.append(report)
            else:
                reading.failed.append(Failure(report.source_id, report.error))
            on_document(report)
        changes = sum((report.changes for report in stored), SyncReport())
        record(documents=len(stored), failed=len(reading.failed), embedded=sum(report.embedded for report in stored))
        record(**asdict(changes))

    gone: list[str] = []
    if options.prune:
        kept = {report.source_id for report in stored} | {failure.source_id for failure in reading.failed}
        files = {source.source_id: source for source in found.files}
        gone = find_gone(store, fingerprint, found.folders, files, kept | (files.keys() - changed.keys()))
    pruned = sum(store.delete(source_id) for source_id in gone)
    return AddReport(
        documents=tuple(stored),
        failed=tuple(reading.failed),
        warnings=tuple(reading.warnings),
        pruned=pruned,
        seconds=time.perf_counter() - begun,
        gone=tuple(gone),
        used=usage.since(before) if usage else None,
    )


@dataclass(slots=True)
class _Reading:
    """Documents of files, which are read lazily, in a thread of the indexer."""

    store: ChunkStore
    fingerprint: str
    found: Discovery
    changed: Sequence[SourceFile]
    limits: Limits | None  # Limits of each file; see `kinsplit.loaders.Limits`.
    on_file: Callable[[Loaded], None] | None
    inbox: Inbox
    failed: list[Failure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Document]:
        paths = {source.source_id: source.resolved for source in self.found.files}
        files = set(paths.values())
        for file in load_files(self.changed, self.limits):
            loaded = check_rows(self.store, self.fingerprint, file, files)
            if self.on_file is not None:
                self.inbox.leave(partial(self.on_file, loaded))
            if loaded.error is not None:
                self.failed.append(Failure(loaded.source.source_id, loaded.error))
            self.warnings.extend(inline(f"{loaded.path}: {warning}") for warning in loaded.warnings)
            yield from with_path(loaded.documents, paths[loaded.source.source_id])


def warn_of_duplicates(duplicates: dict[str, str]) -> list[str]:
    """Warn of files that are indexed under two ids, and return the warning, if any."""
    if not duplicates:
        return []
    added, other = next(iter(duplicates.items()))
    message = (
        f"{len(duplicates):,} of the added files {'is' if len(duplicates) == 1 else 'are'} in the collection already, "
        f"under another id: {added!r} is also {other!r}, and searches will find the contents twice. An id begins with "
        "the name of the given folder: give the same folder each time, and delete one of the two (kinsplit delete ID)."
    )
    warnings.warn(DuplicateWarning(message), stacklevel=4)
    return [message]


def interruptible(options: AddArguments, check: Callable[[], None]) -> AddArguments:
    """Return options with which a run calls `check` between its steps, which may raise an error to end the run."""
    return {
        **options,
        "on_file": _after(check, options.get("on_file")),
        "on_document": _after(check, options.get("on_document")),
        "progress": _after(check, options.get("progress")),
    }


def _after(check: Callable[[], None], callback: Callable[_P, None] | None) -> Callable[_P, None]:
    def call(*args: _P.args, **kwargs: _P.kwargs) -> None:
        check()
        if callback is not None:
            callback(*args, **kwargs)

    return call
