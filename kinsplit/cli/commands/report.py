"""`kinsplit report`: an HTML report of an evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinsplit.cli.commands.show import ResultsFile
from kinsplit.cli.options import AsJson
from kinsplit.cli.output.terminal import Terminal


def report(
    results: ResultsFile,
    html: Annotated[
        Path, typer.Option(metavar="FILE", help="HTML file; two plots of the chunks are written next to it.")
    ] = Path("report.html"),
    as_json: AsJson = False,
) -> None:
    """Write the results as one self-contained HTML page."""
    from kinsplit.evaluation.report import write_report
    from kinsplit.evaluation.results import Results

    terminal = Terminal(as_json=as_json)
    written = write_report(Results.read(results), html)
    if as_json:
        terminal.document({"files": [str(path) for path in written]})
        return
    for path in written:
        terminal.line(f"Wrote {path}")
