"""Cost of a collection by its number of chunks: `python benchmarks/scale.py --sizes 50000,200000,1000000`."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scale_corpus
import scale_steps
import typer
from parsers import machine
from targets import Outcome

#: Maximum exponent of growth, maximum ratio of the p95 of searches at the largest size to that at the smallest one,
#: minimum recall, and maximum share of the first run's time in an unchanged one.
EXPONENT, SLOWER, RECALL, AGAIN = 1.05, 5.0, 0.98, 0.05
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
    engines: Annotated[str, typer.Option(help="Engines, with commas between them.")] = ",".join(scale_steps.ENGINES),
    embedder: Annotated[str, typer.Option(help="Spec of the embedder.")] = "hash:384",
    questions: Annotated[int, typer.Option(min=2, help="Questions to ask.")] = 60,
    folder: Annotated[Path | None, typer.Option(help="Folder for the corpus and the engines; a temporary one.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables to this file.")] = None,
) -> None:
    """Index, search and index again, at several sizes."""
    names = engines.split(",")
    if unknown := set(names) - set(scale_steps.ENGINES):
        known = ", ".join(scale_steps.ENGINES)
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: choose from {known}.", param_hint="--engines")
    result: dict[str, Any] = {"machine": machine(), "embedder": embedder, "engines": {name: {} for name in names}}
    for size in sorted(map(int, sizes.split(","))):
        with tempfile.TemporaryDirectory(prefix="kinsplit", dir=folder) as place:
            scale_corpus.write(Path(place) / "corpus", size * CHARACTERS)
            for name in names:
                measured = measure(name, Path(place), embedder, questions)
                result["engines"][name][str(measured["first"]["chunks"])] = measured
                print(f"{name}: {json.dumps(measured)}", file=sys.stderr, flush=True)
                if json_file:
                    json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    text = report(result)
    print(text)
    if markdown:
        markdown.write_text(text, encoding="utf-8")


def measure(engine: str, place: Path, embedder: str, questions: int) -> dict[str, dict[str, Any]]:
    """Run the steps of one engine on a corpus, each in a process of its own."""

    def step(name: str) -> dict[str, Any]:
        command = [sys.executable, scale_steps.__file__, name, engine, str(place), embedder, str(questions)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        figures: dict[str, Any] = json.loads(output.splitlines()[-1])
        return figures

    measured = {"first": step("add"), "search": step("search"), "unchanged": step("add")}
    # Another round for each engine, so that its files differ from those that it has indexed.
    scale_corpus.change(place / "corpus", CHANGED, list(scale_steps.ENGINES).index(engine))
    return {**measured, "changed": step("add")}


def report(result: Mapping[str, Any]) -> str:
    """Return the tables of a run as Markdown."""
    parts = [f"{result['machine']['system']}, {result['machine']['cores']} cores; embedder `{result['embedder']}`."]
    for engine, by_size in result["engines"].items():
        figures: Figures = {int(size): steps for size, steps in by_size.items()}
        if figures:
            parts += [f"### {engine}", _table(figures), "", _wanted(outcomes(figures))]
    return "\n\n".join(parts).replace("\n\n\n\n", "\n\n") + "\n"


def _table(figures: Figures) -> str:
    """Return a table with a row per figure and a column per size."""
    rows: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "documents": lambda s: f"{s['first']['documents']:,}",
        "first run, s": lambda s: f"{s['first']['seconds']:,.0f}",
        "processor time of all processes, s": lambda s: f"{s['first']['processor']:,.0f}",
        "chunks/s": lambda s: f"{s['first']['chunks'] / s['first']['seconds']:,.0f}",
        **{
            f"{stage}, chunks/s": lambda s, stage=stage: _rate(s["first"]["chunks"], s["first"]["stages"][stage])
            for stage in next(iter(figures.values()))["first"]["stages"]
        },
        "close, s": lambda s: f"{s['first']['close']:,.1f}",
        **{
            f"memory while indexing, {process}, MB": lambda s, process=process: f"{s['first']['memory'][process]:,.0f}"
            for process in next(iter(figures.values()))["first"]["memory"]
        },
        "disk, bytes per chunk": lambda s: f"{s['first']['disk'] / s['first']['chunks']:,.0f}",
        "reopen, ms": lambda s: f"{s['search']['reopen']:,.0f}",
        **{
            f"search in {where}, p50 and p95 ms": lambda s, where=where: (
                f"{p50(s['search']['times'][where]):,.1f}, {p95(s['search']['times'][where]):,.1f}"
            )
            for where in next(iter(figures.values()))["search"]["times"]
        },
        "memory while searching, private and mapped, MB": lambda s: " + ".join(
            f"{s['search']['memory'][process]:,.0f}" for process in ("indexer", "mapped files")
        ),
        "recall@10": lambda s: f"{s['search']['recall']:.3f}",
        "unchanged run, s": lambda s: f"{s['unchanged']['seconds']:,.1f}",
        "texts embedded in it": lambda s: f"{s['unchanged']['embedded']:,}",
        "run after 1 % changed, s": lambda s: f"{s['changed']['seconds']:,.1f}",
        "texts embedded in that": lambda s: f"{s['changed']['embedded']:,}",
    }
    lines = ["| | " + " | ".join(f"{size:,}" for size in figures) + " |", "|---|" + "---:|" * len(figures)]
    lines += [
        f"| {name} | " + " | ".join(cell(steps) for steps in figures.values()) + " |" for name, cell in rows.items()
    ]
    return "\n".join(lines)


def _rate(chunks: int, seconds: float) -> str:
    return f"{chunks / seconds:,.0f}" if seconds else ""


def outcomes(figures: Figures) -> list[Outcome]:
    """Compare an engine's figures with what is wanted."""
    small, large = min(figures), max(figures)
    first, last = figures[small], figures[large]
    found = []
    for what, value in {
        "time of the first run": lambda s: s["first"]["seconds"],
        "processor time of the first run": lambda s: s["first"]["processor"],
        "private memory of the first run": lambda s: s["first"]["memory"]["indexer"] + s["first"]["memory"]["server"],
        "bytes on disk": lambda s: s["first"]["disk"],
    }.items():
        slope = exponent({size: value(steps) for size, steps in figures.items()})
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


def p50(times: Sequence[float]) -> float:
    return float(np.percentile(times, 50))


def p95(times: Sequence[float]) -> float:
    return float(np.percentile(times, 95))


if __name__ == "__main__":
    app()
