"""`kinsplit index`: index files in a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import typer

from kinsplit.cli.command import exit_code
from kinsplit.cli.derive import from_options
from kinsplit.cli.options import Collection, Config, DryRun, Places, Settings, Store, with_config
from kinsplit.cli.output.index_report import file_line, report_loaded, report_skipped, show_cost, summary, to_dict
from kinsplit.cli.output.progress import Bar, bar
from kinsplit.cli.output.tables import figures
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, inline

if TYPE_CHECKING:
    from kinsplit.index import AddReport, Index
    from kinsplit.indexing.reports import DocumentReport
    from kinsplit.integrations.ray import FoundFiles, StoredReport
    from kinsplit.keywords import AddKeywords
    from kinsplit.loaders import Loaded
    from kinsplit.parsers import Strategy


@from_options("IndexOptions", "AddOptions")
def index(
    paths: Places,
    store: Store = "edge:./kinsplit-data",
    collection: Collection = "default",
    settings: Settings = None,
    config: Config = None,
    *,
    ray: str | None = None,
    dry_run: DryRun = False,
    terminal: Terminal,
    **options: Any,
) -> None:
    """Index files in a collection; a later run embeds only what has changed.

    The line of each file counts its chunks: +added ~updated =unchanged -deleted.

    Args:
        ray ([ADDRESS]): Run on a Ray cluster: auto, the one on this machine or at RAY_ADDRESS; local, one that ends
            with the run; HOST:PORT or ray://HOST:PORT. PATHS may then be s3://, gs:// and hdfs:// addresses and
            patterns, and the store must be a server.
    """
    from kinsplit.index import Index
    from kinsplit.loaders import discover
    from kinsplit.options import AddOptions

    adding, own = AddOptions.part(options)
    made = with_config(own, settings, config)
    if ray is not None and not dry_run:
        raise typer.Exit(
            _index_on_ray(ray, paths, store, terminal, {"collection": collection, **made, **adding.given()})
        )
    if address := next((path for path in paths if "://" in path), None):
        if ray is None:
            rule, remedy = "can't be addresses without --ray", "Add --ray, or copy the files."
        else:
            rule, remedy = "can't be addresses with --dry-run", "Leave out --dry-run, or copy some of the files."
        raise InvalidParameterError("PATHS", rule, address, remedy)
    found = discover(
        paths, subjects=adding.subjects, readers=adding.readers
    )  # Reports wrong paths before a collection is created.
    report_skipped(found.skipped, terminal)
    if dry_run:
        chosen = made["strategy"] or _strategy_of(store, collection, made.get("embedder"))
        failed, done = show_cost(chosen, found.files, terminal, adding.limits)
        raise typer.Exit(exit_code(failed=failed, done=done))
    with Index(store, collection=collection, **made) as opened:
        report = add(opened, paths, terminal, files=len(found.files), **adding.given())
    terminal.outcome(to_dict(report), figures(summary(report)))
    raise typer.Exit(exit_code(failed=len(report.failed), done=len(report.documents)))


def _strategy_of(store: str, collection: str, embedder: object) -> Strategy:
    """Return the strategy of a collection, or the default one if it does not exist yet."""
    from kinsplit.index import Index
    from kinsplit.parsers import default_strategy

    try:
        with Index(store, collection=collection, embedder=embedder, must_exist=True) as opened:
            return opened.strategy
    except CollectionNotFoundError:
        return default_strategy()


def add(
    index: Index, paths: Sequence[str | Path], terminal: Terminal, *, files: int, **options: Unpack[AddKeywords]
) -> AddReport:
    """Add files to an index and show the progress.

    Args:
        index: The index.
        paths: Files and folders.
        terminal: The terminal to write to.
        files: Number of files, for the progress bar.
        **options: See `kinsplit.options.AddOptions`.
    """
    with bar(terminal.screen, "Indexing", files) as moving:
        reporter = _FileReporter(terminal, moving)
        return index.add(
            paths,
            **options,
            progress=reporter.embedded,
            on_file=reporter.file_read,
            on_document=reporter.document_stored,
        )


def _index_on_ray(ray: str, paths: Sequence[str], store: str, terminal: Terminal, options: dict[str, Any]) -> int:
    """Index files on a Ray cluster and return the exit code.

    Args:
        ray: Address of the cluster.
        paths: Files, folders, patterns and addresses.
        store: Address of the store.
        terminal: The terminal to write to.
        options: Further arguments of `kinsplit.integrations.ray.index`.
    """
    from kinsplit.index import AddReport
    from kinsplit.integrations.ray import connected
    from kinsplit.integrations.ray import index as index_on_ray

    reporter = _StoredReporter(terminal)
    # Ray writes to stdout that it runs a lost task again, at the latest when it ends.
    with terminal.own_stdout(), connected(ray), bar(terminal.screen, "Indexing", 0) as moving:
        reporter.bar = moving
        report = index_on_ray(paths, store, on_found=reporter.found, on_stored=reporter.stored, **options)
    documents = tuple(sorted(reporter.documents, key=lambda each: each.source_id))
    whole = AddReport(
        documents, report.failed, report.warnings, report.pruned, report.seconds, report.gone, report.used
    )
    terminal.outcome(to_dict(whole), figures(summary(report)))
    return exit_code(failed=report.failures, done=report.documents)


class _StoredReporter:
    """Writes a line for each file once all its documents are stored, in whatever order they come.

    Attributes:
        bar: Bar of the files.
        documents: Reports of all documents, for `--json` alone.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.bar: Bar | None = None
        self.documents: list[DocumentReport] = []
        self._terminal = terminal
        self._waiting: dict[str, int] = {}
        self._reports: dict[str, list[DocumentReport]] = {}
        self._embedded = 0

    def found(self, found: FoundFiles) -> None:
        report_skipped(found.skipped, self._terminal)
        if self.bar is not None:
            self.bar.expect(len(found.files))

    def stored(self, one: StoredReport) -> None:
        name = one.file or ""
        for warning in one.warnings:
            self._terminal.warning(inline(f"{name}: {warning}"))
        if one.failure is not None:
            self._terminal.error(one.failure.error)
        elif one.report is not None:
            self._embedded += one.report.embedded
            self._reports.setdefault(name, []).append(one.report)
            if self._terminal.as_json:
                self.documents.append(one.report)
        self._waiting[name] = self._waiting.get(name, one.file_documents) - 1
        if self._waiting[name] > 0:
            return
        del self._waiting[name]
        stored = self._reports.pop(name, [])
        if self.bar is not None:
            self.bar.advance()
            self.bar.remark(self._embedded, "texts embedded")
        if stored and not self._terminal.as_json:
            self._terminal.line(file_line(name, stored))


class _FileReporter:
    """Writes a line for each file once all its documents are stored."""

    def __init__(self, terminal: Terminal, moving: Bar) -> None:
        self._terminal, self._bar = terminal, moving
        self._file: dict[str, str] = {}
        self._waiting: Counter[str] = Counter()
        self._reports: dict[str, list[DocumentReport]] = {}
        self._read = self._inputs = 0

    def file_read(self, loaded: Loaded) -> None:
        name = loaded.source.source_id
        self._read += 1
        if not self._inputs:
            self._bar.remark(self._read, "read")
        report_loaded(loaded, self._terminal)
        self._file.update((document.id, name) for document in loaded.documents)
        self._waiting[name] = len(loaded.documents)
        if not loaded.documents:
            self._bar.advance()

    def document_stored(self, report: DocumentReport) -> None:
        name = self._file.pop(report.source_id)
        if report.error is not None:
            self._terminal.error(report.error)
        else:
            self._reports.setdefault(name, []).append(report)
        self._waiting[name] -= 1
        if not self._waiting[name]:
            self._bar.advance()
            stored = self._reports.pop(name, [])
            if stored and not self._terminal.as_json:
                self._terminal.line(file_line(name, stored))

    def embedded(self, done: int, total: int) -> None:
        self._bar.remark(self._inputs + done, "windows embedded")
        if done == total:
            self._inputs += total
