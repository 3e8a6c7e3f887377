"""`kinsplit watch`: keep a collection in sync with its folders."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from kinsplit.cli.command import report_warnings
from kinsplit.cli.derive import from_options
from kinsplit.cli.options import STORE, Paths, with_strategy
from kinsplit.cli.output.index_report import file_line, report_loaded, to_dict
from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.index import AddReport
    from kinsplit.indexing.reports import AddEvent, DocumentReport


@from_options()
def watch(
    paths: Paths,
    store: str = STORE,
    collection: str = "default",
    settings: list[str] | None = None,
    config: Path | None = None,
    *,
    settle: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.0, max=3600.0, help="Time without changes after which a file is read."),
    ] = 1.0,
    terminal: Terminal,
    **options: Any,
) -> None:
    """Keep a collection in sync with files and folders until Ctrl-C, with a line for each change.

    A new collection is created as by kinsplit index with the same options.
    """
    from kinsplit.index import Index
    from kinsplit.loaders import discover
    from kinsplit.options import AddOptions
    from kinsplit.watch import watch as watch_paths

    adding, own = AddOptions.part(options)
    made = with_strategy(own, settings, config)
    # Reports wrong paths before a collection is created.
    discover(paths, subjects=adding.subjects, readers=adding.readers)
    with Index(store, collection=collection, **made) as index:
        reporter = _RoundReporter(terminal)
        first = True
        rounds = watch_paths(
            index,
            [Path(path) for path in paths],
            settle=settle,
            on_event=reporter,
            on_error=terminal.error,
            **adding.given(),
        )
        for report in _with_warnings(rounds, terminal):
            reporter.finish(report)
            if first and not terminal.as_json:
                terminal.line(Text("Watching. Ctrl-C to stop.", "dim"))
            first = False


def _with_warnings(rounds: Iterator[AddReport], terminal: Terminal) -> Iterator[AddReport]:
    """Yield reports, and write the warnings of each round before its report."""
    while True:
        with report_warnings(terminal):
            report = next(rounds, None)
        if report is None:
            return
        yield report


class _RoundReporter:
    """Writes a line for each changed file, or one JSON object per round."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._reports: defaultdict[str, list[DocumentReport]] = defaultdict(list)

    def __call__(self, event: AddEvent) -> None:
        from kinsplit.indexing.reports import DocumentReport, FileRead

        if isinstance(event, FileRead):
            report_loaded(event, self._terminal)
        elif isinstance(event, DocumentReport):
            if event.error is not None:
                self._terminal.error(event.error)
            else:
                self._reports[event.file or ""].append(event)

    def finish(self, report: AddReport) -> None:
        """Write the result of one round."""
        reports, self._reports = self._reports, defaultdict(list)
        if self._terminal.as_json:
            self._terminal.row(to_dict(report, list(chain(*reports.values()))))
            sys.stdout.flush()  # For a reader of the pipe.
            return
        for name, of_file in reports.items():
            if any(each.changes.added or each.changes.updated or each.changes.deleted for each in of_file):
                self._terminal.line(file_line(name, of_file))
        for source_id in report.gone:
            self._terminal.line(f"{source_id}  Removed")
