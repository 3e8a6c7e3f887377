"""Cost of a collection by its number of chunks: `python benchmarks/scale.py --sizes 50000,200000,1000000`."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import scale_corpus
import scale_steps
import typer
from parsers import machine
from stores import p50, p95
from targets import Outcome

#: Maximum exponent of growth, maximum ratio of the p95 of searches at the largest size to that at the smallest one,
#: minimum recall, and maximum share of the first run's time in an unchanged one.
EXPONENT, SLOWER, RECALL, AGAIN = 1.05, 5.0, 0.98, 0.05
#: Least number of chunks whose figures are compared; below, what every process costs counts for too much.
LEAST = 50_000
#: Average number of characters per chunk of the default strategy.
CHARACTERS = 500
#: Share of the files that change before the last run.
CHANGED = 0.01

app = typer.Typer(add_completion=False)

#: Figures of one engine by size, and by step; see `scale_steps`.
Figures = dict[int, dict[str, dict[str, Any]]]


@app.command()
def main(
    sizes: Annotated[str, typer.Option(help="Numbers of chunks, with commas between them.")] = "50000,200000",
    engines: Annotated[
        str, typer.Option(help="Engines, with commas between them; ray needs that extra.")
    ] = "edge,postgres",
    embedder: Annotated[
        str, typer.Option(help="Spec of the embedder, or words for one that takes next to no time.")
    ] = scale_steps.WORDS,
    options: Annotated[
        str, typer.Option(help="Options of the Postgres collections, as in an address.")
    ] = "dense_index=ivfflat&maintenance_work_mem=4GB",
    questions: Annotated[int, typer.Option(min=2, help="Questions to ask.")] = 60,
    folder: Annotated[Path | None, typer.Option(help="Folder for the corpus and the engines; a temporary one.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Add the numbers to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables to this file.")] = None,
) -> None:
    """Index, search and index again, at several sizes."""
    names = engines.split(",")
    if unknown := set(names) - set(scale_steps.ENGINES):
        known = ", ".join(scale_steps.ENGINES)
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: choose from {known}.", param_hint="--engines")
    result = read(json_file, embedder)
    for size in map(int, sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="kinsplit", dir=folder) as place:
            scale_corpus.write(Path(place) / "corpus", size * CHARACTERS)
            for name in names:
                steps: dict[str, dict[str, Any]] = {}
                for step, figures in measure(name, Path(place), embedder, questions, options):
                    steps[step] = figures
                    result["engines"].setdefault(name, {})[str(steps["first"]["chunks"])] = steps
                    print(f"{size:,} {name} {step}: {json.dumps(figures)}", file=sys.stderr, flush=True)
                    if json_file:
                        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    text = report(result)
    print(text)
    if markdown:
        markdown.write_text(text, encoding="utf-8")


def read(path: Path | None, embedder: str) -> dict[str, Any]:
    """Return the numbers that a file has from runs with the same embedder, or none."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path and path.is_file() else {}
    known = found["engines"] if found.get("embedder") == embedder else {}
    return {"machine": machine(), "embedder": embedder, "engines": known}


def measure(
    engine: str, place: Path, embedder: str, questions: int, options: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run the steps of one engine on a corpus, each in a process of its own, and yield the figures of each."""

    def run(step: str) -> dict[str, Any]:
        values = [step, engine, str(place), embedder, str(questions), options]
        command = [sys.executable, scale_steps.__file__, *values]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        figures: dict[str, Any] = json.loads(output.splitlines()[-1])
        return figures

    yield "first", run("add")
    yield "search", run("search")
    yield "unchanged", run("add")
    # Another round for each engine, so that its files differ from those that it has indexed.
    scale_corpus.change(place / "corpus", CHANGED, list(scale_steps.ENGINES).index(engine))
    yield "changed", run("add")


def report(result: Mapping[str, Any]) -> str:
    """Return the tables of a run as Markdown."""
    parts = [f"{result['machine']['system']}, {result['machine']['cores']} cores; embedder `{result['embedder']}`."]
    for engine, by_size in result["engines"].items():
        if figures := complete(by_size):
            parts += [f"### {engine}", table(by_size), ""]
        if large := {size: steps for size, steps in figures.items() if size >= LEAST}:
            parts += [_wanted(outcomes(large))]
    return "\n\n".join(parts).replace("\n\n\n\n", "\n\n") + "\n"


def complete(by_size: Mapping[str, Mapping[str, Any]]) -> Figures:
    """Return the sizes whose steps have all been run, in order."""
    return {int(size): dict(by_size[size]) for size in sorted(by_size, key=int) if "changed" in by_size[size]}


def table(by_size: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with a row per figure and a column per size."""
    figures = complete(by_size)
    columns = [_column(steps) for steps in figures.values()]
    lines = ["| | " + " | ".join(f"{size:,}" for size in figures) + " |", "|---|" + "---:|" * len(figures)]
    lines += [f"| {name} | " + " | ".join(column[name] for column in columns) + " |" for name in columns[0]]
    return "\n".join(lines)


def _column(steps: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the figures of one size by name, as the table shows them."""
    first, search, again, changed = (steps[step] for step in ("first", "search", "unchanged", "changed"))
    chunks, memory = first["chunks"], search["memory"]
    return {
        "documents": f"{first['documents']:,}",
        "first run, s": f"{first['seconds']:,.0f}",
        "processor time of all processes, s": f"{first['processor']:,.0f}",
        "chunks/s": _rate(chunks, first["seconds"]),
        **{
            f"chunks/s while busy, {stage}": _rate(chunks, seconds)
            for stage, seconds in first["stages"].items()
            if stage != "count windows"  # A model that takes no time counts no windows.
        },
        "close, s": f"{first['close']:,.1f}",
        **{f"peak memory, {process}, MB": f"{peak:,.0f}" for process, peak in first["memory"].items()},
        "disk, bytes per chunk": f"{first['disk'] / chunks:,.0f}",
        "reopen, ms": f"{search['reopen']:,.0f}",
        **{
            f"search in {where}, p50 and p95 ms": f"{p50(times):,.1f}, {p95(times):,.1f}"
            for where, times in search["times"].items()
        },
        "processor time of a search, ms": f"{search['processor']:,.1f}" if "processor" in search else "",
        "private memory while searching, and the server's, MB": f"{memory['indexer']:,.0f} + {memory['server']:,.0f}",
        "recall@10": f"{search['recall']:.3f}",
        "unchanged run, s": f"{again['seconds']:,.1f}",
        "texts embedded in it": f"{again['embedded']:,}",
        f"run after {CHANGED:.0%} of the files changed, s": f"{changed['seconds']:,.1f}",
        "texts embedded in that one": f"{changed['embedded']:,}",
    }


def _rate(chunks: int, seconds: float) -> str:
    return f"{chunks / seconds:,.0f}" if seconds else ""


def outcomes(figures: Figures) -> list[Outcome]:
    """Compare an engine's figures with what is wanted."""
    small, large = min(figures), max(figures)
    first, last = figures[small], figures[large]
    found = []
    for what, values in {
        "time of the first run": {size: steps["first"]["seconds"] for size, steps in figures.items()},
        "processor time of the first run": {size: steps["first"]["processor"] for size, steps in figures.items()},
        "memory of the first run": {size: sum(steps["first"]["memory"].values()) for size, steps in figures.items()},
        "bytes on disk": {size: steps["first"]["disk"] for size, steps in figures.items()},
    }.items():
        slope = exponent(values)
        shown = "" if slope is None else f"{slope:.2f}"
        found.append(Outcome(f"exponent of the {what}", shown, f"<= {EXPONENT}", _met(slope, most=EXPONENT)))
    ratio = p95(last["search"]["times"]["all"]) / p95(first["search"]["times"]["all"]) if small < large else None
    shown = "" if ratio is None else f"{ratio:.1f} x"
    found.append(
        Outcome("p95 of searches, largest against smallest", shown, f"<= {SLOWER:g} x", _met(ratio, most=SLOWER))
    )
    recall = min(steps["search"]["recall"] for steps in figures.values())
    found.append(Outcome("recall@10", f"{recall:.3f}", f">= {RECALL}", recall >= RECALL))
    again = max(steps["unchanged"]["seconds"] / steps["first"]["seconds"] for steps in figures.values())
    found.append(Outcome("unchanged run, of the first one's time", f"{again:.1%}", f"<= {AGAIN:.0%}", again <= AGAIN))
    texts = sum(steps["unchanged"]["embedded"] for steps in figures.values())
    return [*found, Outcome("texts embedded in an unchanged run", f"{texts}", "0", not texts)]


def _met(value: float | None, *, most: float) -> bool | None:
    return None if value is None else value <= most


def _wanted(found: Sequence[Outcome]) -> str:
    met = {True: "yes", False: "**no**", None: "not measured"}
    rows = [f"| {one.what} | {one.shown} | {one.limit} | {met[one.met]} |" for one in found]
    return "\n".join(["| wanted | measured | limit | met |", "|---|---:|---:|---|", *rows])


def exponent(values: Mapping[int, float]) -> float | None:
    """Return the slope of the least-squares line through the logarithms; None for a single size."""
    if len(values) < 2:
        return None
    sizes = [math.log(size) for size in values]
    return statistics.linear_regression(sizes, [math.log(max(value, 1e-3)) for value in values.values()]).slope


if __name__ == "__main__":
    app()
