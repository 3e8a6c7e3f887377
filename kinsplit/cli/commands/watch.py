"""`kinsplit watch`: a folder and its index, kept in step."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from kinsplit.cli.command import report_warnings
from kinsplit.cli.options import (
    AsJson,
    Cache,
    Collection,
    Config,
    FileLimits,
    Model,
    Paths,
    Store,
    Subjects,
    make_strategy,
    parse_limits,
    parse_names,
    read_config,
)
from kinsplit.cli.output.index_report import file_line, tell_loaded, to_dict
from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.index import AddReport
    from kinsplit.indexing.reports import DocumentReport
    from kinsplit.loaders import Loaded


def watch(
    paths: Paths,
    store: Store = "edge:./kinsplit-data",
    collection: Collection = "default",
    subjects: Subjects = None,
    config: Config = None,
    embedder: Model = None,
    limit: FileLimits = None,
    cache: Cache = False,
    settle: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.0, help="How long a file must have rested before it is read."),
    ] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Keep a collection in step with files and folders until Ctrl-C: what comes, changes and goes, a line each.

    A new collection is made as by kinsplit index with the same options.
    """
    from kinsplit.index import Index
    from kinsplit.loaders import discover
    from kinsplit.watch import watch as keep_in_step

    terminal = Terminal(as_json=as_json)
    names, limits = parse_names(subjects), parse_limits(limit)
    configured = read_config(config)
    splitter = None if configured.strategy is None else make_strategy(configured.strategy, None, configured)
    discover(paths, subjects=names)  # Wrong paths are found out before a collection is made.
    with Index(
        store,
        collection=collection,
        strategy=splitter,
        embedder=(configured.embedder or "bundled") if embedder is None else embedder,
        embedding_context=configured.embedding_context,
        language=configured.language,
        vector_cache=cache,
    ) as index:
        lines = _Lines(terminal)
        first = True
        rounds = keep_in_step(
            index,
            [Path(path) for path in paths],
            subjects=names,
            settle=settle,
            limits=limits,
            on_file=lines.file_read,
            on_document=lines.document_stored,
            on_error=terminal.error,
        )
        for report in _each_told(rounds, terminal):
            lines.finish(report)
            if first and not as_json:
                terminal.line(Text("Watching. Ctrl-C ends it.", "dim"))
            first = False


def _each_told(rounds: Iterator[AddReport], terminal: Terminal) -> Iterator[AddReport]:
    """Yield reports, with the warnings of each round told before it, and not when the watching ends."""
    while True:
        with report_warnings(terminal):
            report = next(rounds, None)
        if report is None:
            return
        yield report


class _Lines:
    """Writes a line for each file of which something changed, or a row for each round as JSON."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._file: dict[str, str] = {}
        self._reports: defaultdict[str, list[DocumentReport]] = defaultdict(list)

    def file_read(self, loaded: Loaded) -> None:
        name = loaded.source.source_id
        tell_loaded(loaded, self._terminal)
        self._file.update((document.id, name) for document in loaded.documents)

    def document_stored(self, report: DocumentReport) -> None:
        name = self._file.pop(report.source_id)
        if report.error is not None:
            self._terminal.error(report.error)
        else:
            self._reports[name].append(report)

    def finish(self, report: AddReport) -> None:
        """Write what one round came to."""
        reports, self._reports = self._reports, defaultdict(list)
        if self._terminal.as_json:
            self._terminal.row(to_dict(report))
            sys.stdout.flush()  # Somebody reads along.
            return
        for name, of_file in reports.items():
            if any(each.changes.added or each.changes.updated or each.changes.deleted for each in of_file):
                self._terminal.line(file_line(name, of_file))
        for source_id in report.gone:
            self._terminal.line(f"{source_id}  Gone")
