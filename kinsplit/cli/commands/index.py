"""`kinsplit index`: index files in a collection."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import typer

from kinsplit.cli.command import exit_code
from kinsplit.cli.derive import from_options
from kinsplit.cli.options import STORE, Paths, with_strategy
from kinsplit.cli.output.index_report import (
    describe_courses,
    file_line,
    report_loaded,
    report_skipped,
    show_cost,
    summary,
    to_dict,
)
from kinsplit.cli.output.progress import Bar, bar
from kinsplit.cli.output.tables import counted, figures
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import CollectionNotFoundError, require

if TYPE_CHECKING:
    from kinsplit.index import AddReport, Index
    from kinsplit.indexing.contexts import ContextWriter
    from kinsplit.indexing.reports import AddEvent, DocumentReport
    from kinsplit.keywords import AddKeywords
    from kinsplit.parsers import Strategy


@from_options()
def index(
    paths: Paths,
    store: str = STORE,
    collection: str = "default",
    settings: list[str] | None = None,
    config: Path | None = None,
    *,
    ray: str | None = None,
    dry_run: bool = False,
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
    made = with_strategy(own, settings, config)
    if ray is not None and not dry_run:
        given = {"collection": collection, **made, **adding.given()}
        raise typer.Exit(_index_on_ray(ray, paths, store, terminal, given))
    rule, remedy = "can't be addresses without --ray", "Add --ray, or copy the files."
    if ray is not None:
        rule, remedy = "can't be addresses with --dry-run", "Leave out --dry-run, or copy some of the files."
    address = next((path for path in paths if "://" in path), None)
    require(address is None, "PATHS", rule, address, remedy)
    # Reports wrong paths before a collection is created.
    found = discover(paths, subjects=adding.subjects, readers=adding.readers)
    report_skipped(found.skipped, terminal)
    if dry_run:
        chosen, writer = _makers(store, collection, made)
        failed, done = show_cost(chosen, found.files, terminal, adding.limits, writer)
        raise typer.Exit(exit_code(failed=failed, done=done))
    with Index(store, collection=collection, **made) as opened:
        report, documents = add(opened, paths, terminal, files=len(found.files), **adding.given())
    raise typer.Exit(_show(report, documents, terminal))


def _makers(store: str, collection: str, options: dict[str, Any]) -> tuple[Strategy, ContextWriter | None]:
    """Return the strategy and the writer of contexts that are given, or else those of the collection, if it exists."""
    from kinsplit.index import Index
    from kinsplit.indexing.contexts import ContextWriter
    from kinsplit.parsers import default_strategy

    strategy, model = options["strategy"], options.get("context_model")
    if strategy is None or model is None:
        try:
            with Index(store, collection=collection, embedder=options.get("embedder"), must_exist=True) as opened:
                strategy, model = strategy or opened.strategy, model or opened.context_model
        except CollectionNotFoundError:
            strategy = strategy or default_strategy()
    return strategy, None if model in (None, "none") else ContextWriter(model)


def add(
    index: Index, paths: Sequence[str | Path], terminal: Terminal, *, files: int, **options: Unpack[AddKeywords]
) -> tuple[AddReport, list[DocumentReport]]:
    """Add a number of files to an index with a progress bar; return the report, and for `--json` the documents'."""
    # A download has a bar of its own, which would not be seen below another one.
    getattr(index.embedder, "fetch", lambda: None)()
    with bar(terminal.screen, "Indexing", files) as moving:
        reporter = _FileReporter(terminal, moving)
        try:
            return index.add(paths, on_event=reporter, **options), reporter.documents
        except KeyboardInterrupt:
            raise KeyboardInterrupt(reporter.goes_on) from None


def _index_on_ray(ray: str, paths: Sequence[str], store: str, terminal: Terminal, options: dict[str, Any]) -> int:
    """Index files on a Ray cluster, with further arguments of its `index`, and return the exit code."""
    from kinsplit.integrations.ray import connected
    from kinsplit.integrations.ray import index as index_on_ray

    # Ray writes to stdout that it runs a lost task again, at the latest when it ends.
    with terminal.own_stdout(), connected(ray), bar(terminal.screen, "Indexing", 0) as moving:
        reporter = _FileReporter(terminal, moving)
        report = index_on_ray(paths, store, on_event=reporter, **options)
    return _show(report, sorted(reporter.documents, key=lambda each: each.source_id), terminal)


def _show(report: AddReport, documents: Sequence[DocumentReport], terminal: Terminal) -> int:
    terminal.outcome(to_dict(report, documents), figures(summary(report)), *describe_courses(report.courses))
    return exit_code(failed=report.failures, done=report.documents)


class _FileReporter:
    """Writes a line for each file once all its documents are stored, in whatever order they come.

    Attributes:
        documents: Reports of the stored documents, for `--json` alone.
    """

    def __init__(self, terminal: Terminal, moving: Bar) -> None:
        self.documents: list[DocumentReport] = []
        self._terminal, self._bar = terminal, moving
        self._waiting: Counter[str] = Counter()
        self._reports: defaultdict[str, list[DocumentReport]] = defaultdict(list)
        self._read = self._inputs = self._asked = self._stored = 0

    @property
    def goes_on(self) -> str:
        """Note for an interrupted run: the documents already stored, and how to resume."""
        are = "is" if self._stored == 1 else "are"
        return f"{counted(self._stored, 'document')} {are} stored; the same command goes on with the others."

    def __call__(self, event: AddEvent) -> None:
        from kinsplit.indexing.reports import ContextsWritten, DocumentReport, FileRead, FilesFound

        if isinstance(event, FilesFound):
            report_skipped(event.skipped, self._terminal)
            self._bar.expect(event.files)
        elif isinstance(event, FileRead):
            self._read += 1
            if not self._inputs:
                self._bar.remark(self._read, "read")
            report_loaded(event, self._terminal)
            self._count(event.source_id, event.documents)
        elif isinstance(event, DocumentReport):
            name = event.file or ""
            if event.error is not None:
                self._terminal.error(event.error)
            else:
                self._stored += 1
                (self.documents if self._terminal.as_json else self._reports[name]).append(event)
            self._count(name, -1)
        elif isinstance(event, ContextsWritten):
            self._bar.remark(self._asked + event.done, "contexts asked for")
            if event.done == event.total:
                self._asked += event.total
        else:
            self._bar.remark(self._inputs + event.done, "windows embedded")
            if event.done == event.total:
                self._inputs += event.total

    def _count(self, name: str, documents: int) -> None:
        self._waiting[name] += documents
        if not self._waiting[name]:
            del self._waiting[name]
            self._bar.advance()
            if stored := self._reports.pop(name, None):
                self._terminal.detail(file_line(name, stored))
