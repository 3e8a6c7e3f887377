"""What `Index.add` is given -> documents, and what became of the files that they are from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kinsplit.chunk import Document
from kinsplit.display import inline
from kinsplit.errors import KinsplitWarning
from kinsplit.indexing.indexer import check_documents
from kinsplit.indexing.reports import DocumentReport, Failure
from kinsplit.indexing.sources import check_same, checked_rows, gone, twins, with_paths
from kinsplit.loaders import Discovery, Limits, Loaded, SourceFile, discover, load_files
from kinsplit.stores import ChunkStore


class TwinWarning(KinsplitWarning):
    """A file is indexed under two ids."""


class Adding:
    """One run over files, folders and documents.

    Args:
        store: Holds the documents so far.
        fingerprint: The strategy's fingerprint.
        items: Files, folders and documents.
        subjects: Names of sub-folders of the given folders; only these are read.
        known: Tells which files are indexed as they are, and needn't be read.
        limits: How much a file may cost; None takes the defaults.
        on_file: Told of each file once it is read, or couldn't be.

    Attributes:
        reports: A report of each document that was stored.
        failed: What couldn't be loaded or split.
        warnings: What was decided or lost while loading.

    Raises:
        LoadError: A path doesn't exist, a folder holds nothing to load, or a file would replace another one.
        InvalidParameterError: Given documents share an id, or have metadata that can't be stored.
    """

    def __init__(
        self,
        store: ChunkStore,
        fingerprint: str,
        items: str | Path | Document | Iterable[str | Path | Document],
        *,
        subjects: Sequence[str],
        known: Callable[[SourceFile], bool] | None,
        limits: Limits | None,
        on_file: Callable[[Loaded], None] | None,
    ) -> None:
        given = [items] if isinstance(items, str | Path | Document) else list(items)
        self._documents = [item for item in given if isinstance(item, Document)]
        check_documents(self._documents)
        paths = [item for item in given if not isinstance(item, Document)]
        self._found = discover(paths, subjects=subjects) if paths else Discovery()
        check_same(store, fingerprint, self._found.files)
        self._to_read = [source for source in self._found.files if known is None or not known(source)]
        self._store, self._fingerprint, self._limits, self._on_file = store, fingerprint, limits, on_file
        self._read: list[Loaded] = []
        self.reports: list[DocumentReport] = []
        self.failed: list[Failure] = []
        self.warnings: list[str] = []
        self._tell_twins(twins(store, fingerprint, self._to_read))

    def _tell_twins(self, found: dict[str, str]) -> None:
        if not found:
            return
        added, other = next(iter(found.items()))
        told = (
            f"{len(found):,} of the files added {'is' if len(found) == 1 else 'are'} in the collection already, under "
            f"another id: {added!r} is also {other!r}, and what it holds will be found twice. An id begins with the "
            "name of the given folder: give the same folder each time, and delete one of the two (kinsplit delete ID)."
        )
        self.warnings.append(told)
        warnings.warn(TwinWarning(told), stacklevel=4)

    def documents(self) -> Iterator[Document]:
        """Yield the given documents and those of the files, which are read as they are asked for."""
        yield from self._documents
        files = {source.resolved for source in self._found.files}
        for file in load_files(self._to_read, self._limits):
            loaded = checked_rows(self._store, self._fingerprint, file, files)
            if self._on_file is not None:
                self._on_file(loaded)
            if loaded.error is None:
                self._read.append(replace(loaded, documents=()))
            else:
                self.failed.append(Failure(loaded.source.source_id, loaded.error))
            self.warnings.extend(inline(f"{loaded.path}: {warning}") for warning in loaded.warnings)
            yield from with_paths(loaded)

    def report(self, report: DocumentReport) -> None:
        """Take note of what became of a document."""
        if report.error is None:
            self.reports.append(report)
        else:
            self.failed.append(Failure(report.source_id, report.error))

    def gone(self) -> list[str]:
        """Return the indexed documents that were in the files or folders and are no longer there."""
        kept = {report.source_id for report in self.reports} | {failure.source_id for failure in self.failed}
        kept |= {source.source_id for source in self._found.files} - {source.source_id for source in self._to_read}
        return gone(self._store, self._fingerprint, self._found, self._read, kept)
