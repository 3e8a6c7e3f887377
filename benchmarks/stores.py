"""Cost of the stores: `python benchmarks/stores.py`, or with `--sizes 50000,200000` also larger ones."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import store_data
import typer
from parsers import machine
from rich.console import Console
from rich.table import Table
from store_engines import ENGINES, measure
from targets import Outcome

#: Names of the timed tasks in the table.
TASKS = {"hybrid": "own hybrid", "dense": "own dense", "whole": "whole search", "expansion": "expansion"}
#: Target speed-up of Edge over the client's local mode, for writing and answering. Of the processor's time of a write,
#: the engine takes two fifths, and converting payloads and vectors to its own values as much again, both under Python's
#: lock. "edge alone" does nothing else, so no client of this engine writes faster; it reaches 12 times the local mode,
#: and less than half of that on a disk without latency, where the local mode doesn't wait for each point.
_FASTER = 20
#: Maximum ratio of a whole search's time to that of the engine's own query.
_SLOWER = 3

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 160)

#: Figures by engine; see `store_engines.write` and `store_engines.ask`.
Figures = dict[str, dict[str, Any]]


@app.command()
def main(
    sizes: Annotated[str, typer.Option(help="Numbers of chunks, with commas between them.")] = "50000",
    engines: Annotated[str, typer.Option(help="Engines, with commas between them.")] = ",".join(ENGINES),
    questions: Annotated[int, typer.Option(min=1, help="Questions to ask.")] = 100,
    patience: Annotated[float, typer.Option(help="Seconds after which an engine may stop to write, or to ask.")] = 300,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
) -> None:
    """Measure what stores cost: writing, reopening, asking, disk and memory."""
    result: dict[str, Any] = {}
    if unknown := set(engines.split(",")) - set(ENGINES):
        raise typer.BadParameter(
            f"{', '.join(sorted(unknown))}: choose from {', '.join(ENGINES)}.", param_hint="--engines"
        )
    for size in map(int, sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="kinsplit") as folder:
            made = store_data.make(Path(folder), size, questions)
            measured = {name: measure(name, Path(folder), patience) for name in engines.split(",")}
        console.print(engines_table(made, measured))
        console.print(times_table(made, questions, measured))
        wanted = outcomes(measured)
        table = Table("wanted", "measured", "limit", "met", title=f"Against what is wanted, {made:,} chunks")
        for outcome in wanted:
            met = {True: "[green]yes[/]", False: "[red]NO[/]", None: "not measured"}[outcome.met]
            table.add_row(outcome.what, outcome.shown, outcome.limit, met)
        console.print(table)
        result[str(made)] = {"engines": measured, "wanted": [outcome._asdict() for outcome in wanted]}
    if json_file:
        json_file.write_text(json.dumps({"machine": machine(), **result}, indent=2) + "\n", encoding="utf-8")


def engines_table(made: int, measured: Figures) -> Table:
    """Return the table of writing, reopening, disk and memory."""
    table = Table("engine", title=f"{made:,} chunks of {store_data.DIMENSION} dimensions, with their parents")
    for heading in ("chunks written", "chunks/s", "reopen ms", "disk MB", "memory MB"):
        table.add_column(heading, justify="right")
    for name, figures in measured.items():
        if not figures:
            table.add_row(name, "not installed")
            continue
        written = figures["written"]
        stopped = "" if written == made else f" (stopped after {figures['seconds']:,.0f} s)"
        cells = (f"{rate(figures):,.0f}", f"{figures['reopen']:,.1f}")
        cells += (f"{figures['disk']:,.0f}", f"{figures['memory']:,.0f}")
        table.add_row(name, f"{written:,}{stopped}", *cells)
    return table


def times_table(made: int, questions: int, measured: Figures) -> Table:
    """Return the table of the times per question."""
    table = Table("engine", title=f"{made:,} chunks: milliseconds per question, p50 and p95")
    for heading in ("questions", *TASKS.values()):
        table.add_column(heading, justify="right")
    for name, figures in measured.items():
        if figures:
            times = figures["times"]
            asked = len(times["dense"])
            stopped = "" if asked == questions else f" of {questions:,} (stopped)"
            cells = (f"{p50(times[task]):,.1f}, {p95(times[task]):,.1f}" if task in times else "" for task in TASKS)
            table.add_row(name, f"{asked:,}{stopped}", *cells)
    return table


def outcomes(measured: Figures) -> list[Outcome]:
    """Compare Edge with the client's local mode, and a whole search with the engine's own query."""
    edge, local = measured.get("edge"), measured.get("qdrant")
    found = []
    for task, name in {"write": "write", **TASKS}.items():
        if task != "expansion":
            ratio = _faster(edge, local, task) if edge and local else None
            met = None if ratio is None else ratio >= _FASTER
            found.append(Outcome(f"edge against local mode: {name}", _times(ratio), f">= {_FASTER} x", met))
    ratio = p50(edge["times"]["whole"]) / p50(edge["times"]["hybrid"]) if edge else None
    met = None if ratio is None else ratio < _SLOWER
    return [*found, Outcome("edge: whole search against own hybrid", _times(ratio), f"< {_SLOWER} x", met)]


def _faster(edge: Mapping[str, Any], local: Mapping[str, Any], task: str) -> float:
    """Return the speed-up of Edge, by rate or by p50."""
    if task == "write":
        return rate(edge) / rate(local)
    return p50(local["times"][task]) / p50(edge["times"][task])


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f} x"


def rate(figures: Mapping[str, Any]) -> float:
    """Return the number of leaves written per second, with their parents and documents."""
    return float(figures["written"] / figures["seconds"])


def p50(times: Sequence[float]) -> float:
    return float(np.percentile(times, 50))


def p95(times: Sequence[float]) -> float:
    return float(np.percentile(times, 95))


if __name__ == "__main__":
    app()
