"""Run of `Index.add`, which stores files and documents and reports on them."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from kinsplit.chunk import Document
from kinsplit.embedding.remote_models.base import usage_of
from kinsplit.errors import KinsplitWarning, LoadError, require
from kinsplit.indexing.indexer import Indexer, check_documents
from kinsplit.indexing.origins import check_rows, find_duplicates, find_gone, new_files, with_path
from kinsplit.indexing.overlap import Inbox
from kinsplit.indexing.reports import AddReport, ContextsWritten, DocumentReport, FileRead, OnEvent, TextsEmbedded
from kinsplit.loaders import Discovery, Limits, SourceFile, discover, load_files
from kinsplit.loaders.discovery import count_courses
from kinsplit.options import AddOptions
from kinsplit.stores.store import ChunkStore
from kinsplit.support.telemetry import span


class DuplicateWarning(KinsplitWarning):
    """A file is indexed under two ids."""


def add(
    indexer: Indexer,
    items: str | Path | Document | Iterable[str | Path | Document],
    options: AddOptions,
    known: Callable[[SourceFile], bool] | None,
    on_event: OnEvent,
) -> AddReport:
    """Store files, folders and documents; see `kinsplit.Index.add`."""
    begun, usage = time.perf_counter(), usage_of(indexer.embedder)
    before = usage.since() if usage else None
    store, fingerprint = indexer.store, indexer.strategy.fingerprint
    # Iterables too, but of other things: bytes, mappings and open files.
    is_one = isinstance(items, str | Path | Document | bytes | Mapping) or hasattr(items, "read")
    given: list[Any] = [items] if is_one or not isinstance(items, Iterable) else list(items)
    for item in given:
        remedy = "Give a text as kinsplit.Document(id, text), and see its from_langchain and from_llama_index."
        require(isinstance(item, str | Path | Document), "items", "must be paths and documents", item, remedy)
    documents = [item for item in given if isinstance(item, Document)]
    check_documents(documents)
    paths = [item for item in given if not isinstance(item, Document)]
    found = _discover(paths, options) if paths else Discovery()
    ids = {source.source_id for source in new_files(store, fingerprint, found.files)}
    changed = {source.source_id: source for source in found.files if known is None or not known(source)}
    new = (source for source in changed.values() if source.source_id in ids)
    warned = warn_of_duplicates(find_duplicates(store, fingerprint, new, changed))
    report = AddReport(warnings=warned, courses=count_courses(found.files))
    kept = {source.source_id for source in found.files} - changed.keys()

    def happened(event: FileRead | DocumentReport) -> None:
        if event.error is not None or isinstance(event, DocumentReport):
            kept.add(event.source_id)
        report.count(event)
        on_event(event)

    def embedded(done: int, total: int) -> None:
        on_event(TextsEmbedded(done, total))

    def written(done: int, total: int) -> None:
        on_event(ContextsWritten(done, total))

    inbox = Inbox()
    files = _documents(store, fingerprint, found, changed.values(), options.limits, happened, inbox)
    run = indexer.run(chain(documents, files), embedded, inbox, written)
    with span("kinsplit.index") as record, closing(run) as stored:
        for document in stored:
            happened(document)
        record(documents=report.documents, failed=report.failures, embedded=report.embedded)
        record(**asdict(report.changes))

    if options.prune:
        sources = {source.source_id: source for source in found.files}
        report.prune(store, find_gone(store, fingerprint, found.folders, sources, kept))
    report.seconds, report.used = time.perf_counter() - begun, usage.since(before) if usage else None
    return report


def _discover(paths: Sequence[str | Path], options: AddOptions) -> Discovery:
    try:
        return discover(paths, subjects=options.subjects, readers=options.readers)
    except LoadError as error:
        shown = error.path.removesuffix("...")
        if any(isinstance(path, str) and path.startswith(shown) and not os.path.lexists(path) for path in paths):
            raise LoadError(error.path, f"{error.reason} Give a text as kinsplit.Document(id, text).") from None
        raise


def _documents(
    store: ChunkStore,
    fingerprint: str,
    found: Discovery,
    changed: Iterable[SourceFile],
    limits: Limits | None,
    on_read: Callable[[FileRead], None],
    inbox: Inbox,
) -> Iterator[Document]:
    """Yield the documents of files, which are read lazily, in a thread of the indexer."""
    paths = {source.source_id: source.resolved for source in found.files}
    files = set(paths.values())
    for file in load_files(tuple(changed), limits):
        loaded = check_rows(store, fingerprint, file, files)
        inbox.leave(partial(on_read, FileRead(loaded.source_id, len(loaded.documents), loaded.warnings, loaded.error)))
        yield from with_path(loaded.documents, paths[loaded.source_id])


def warn_of_duplicates(duplicates: dict[str, str]) -> tuple[str, ...]:
    """Warn of files that are indexed under two ids, and return the warning, if any."""
    if not duplicates:
        return ()
    added, other = next(iter(duplicates.items()))
    message = (
        f"{len(duplicates):,} of the added files {'is' if len(duplicates) == 1 else 'are'} in the collection already, "
        f"under another id: {added!r} is also {other!r}, and searches will find the contents twice. An id begins with "
        "the name of the given folder: give the same folder each time, and delete one of the two (kinsplit delete ID)."
    )
    warnings.warn(DuplicateWarning(message), stacklevel=4)
    return (message,)
