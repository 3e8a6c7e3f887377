"""Speed of each embedding backend, its accuracy against float32, and its effect on retrieval.

`python benchmarks/embedding.py`, or with `--no-recall` to skip the part that takes minutes.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from backends import DEFAULT, EXACT, FAST, REFERENCE, SYSTEMS, Embed, Starts, Vectors, starts
from labelled import labelled_sets
from parsers import machine
from retrieval import BUDGETS, measure
from rich.console import Console
from rich.progress import track
from rich.table import Table
from texts import Corpus, corpus

from kinsplit.embedding import create as embedder
from kinsplit.evaluation.experiment import rankers
from kinsplit.evaluation.labels import Dataset
from kinsplit.parsers import create, default_strategy
from kinsplit.parsers.units.sentences import sentences as split_sentences

_HEADLINE = BUDGETS.index(1000)
#: Targets: multiples of the reference's speed, mean cosine to it, points of recall, seconds.
DEFAULT_SPEED, DEFAULT_COSINE, FAST_SPEED, RECALL, CONVERSION = 2.5, 0.9999, 4.0, 0.3, 60.0

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 130)


class Row(NamedTuple):
    """The measurement of one system on one kind of text.

    Attributes:
        per_second: Number of texts per second in the best round.
        times: Ratio of the reference's time to the system's; the median over rounds, in which other load on the machine
            affects both.
        mean: Mean cosine to the reference.
        worst: Lowest cosine to the reference.
    """

    per_second: float
    times: float
    mean: float
    worst: float


@app.command()
def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds to measure.")] = 5,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences to embed.")] = 1500,
    chunks: Annotated[int, typer.Option(min=1, help="Chunks of 200 tokens to embed.")] = 240,
    recall: Annotated[bool, typer.Option(help="Measure recall on the labelled set chroma too.")] = True,
    cache: Annotated[Path, typer.Option(help="Folder that keeps vectors for recall.")] = Path(".benchmark-cache"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
) -> None:
    """Measure every backend with the bundled model."""
    texts = corpus()
    kinds = {"sentences": _sample(_sentences(texts), sentences), "chunks": _sample(_chunks(texts), chunks)}
    rows = {kind: compare(kind, given, rounds) for kind, given in kinds.items()}
    title = f"{texts.origin}, chunks of 200 tokens; texts per second in the best of {rounds} rounds, median times"
    console.print(speed_table(title, rows))
    started = {system.name: starts(system.spec) for system in SYSTEMS if system.spec}
    console.print(start_table(started))
    found = next((measured for labelled in _chroma() if (measured := shares(labelled, cache))), {}) if recall else {}
    if found:
        console.print(recall_table(found))
    outcomes = judge(rows, started, found)
    table = Table("wanted", "measured", "met", title="Against what is wanted")
    for wanted, shown, met in outcomes:
        table.add_row(wanted, shown, {True: "[green]yes[/]", False: "[red]NO[/]", None: "not measured"}[met])
    console.print(table)
    if json_file:
        numbers = {
            "machine": machine(),
            "speed": {kind: {name: row._asdict() for name, row in own.items()} for kind, own in rows.items()},
            "starts": {name: own._asdict() for name, own in started.items()},
            "recall": found,
            "wanted": outcomes,
        }
        json_file.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")


def _sentences(texts: Corpus) -> list[str]:
    return [text[start:end] for text in texts.texts for start, end in zip(*split_sentences(text), strict=True)]


def _chunks(texts: Corpus) -> list[str]:
    strategy = create("sentence", chunk_size=200, chunk_overlap=0)
    return [chunk.text for document in texts.documents for chunk in strategy.chunk(document)]


def _sample(pieces: list[str], count: int) -> list[str]:
    """Return that many random pieces that fit in the model's window, since its peer truncates longer ones."""
    whole = [piece for piece, windows in zip(pieces, embedder("bundled").windows(pieces), strict=True) if windows == 1]
    return random.Random(0).sample(whole, min(count, len(whole)))


def compare(kind: str, texts: list[str], rounds: int) -> dict[str, Row]:
    """Time the systems, A B C A B C, after a warm-up round whose vectors are compared."""
    loaded: dict[str, Embed] = {}
    vectors: dict[str, Vectors] = {}
    for system in track(SYSTEMS, f"Warming up: {kind}", console=console, transient=True):
        loaded[system.name] = system.make()
        vectors[system.name] = loaded[system.name](texts)
    seconds: dict[str, list[float]] = {name: [] for name in loaded}
    for _ in track(range(rounds), f"Measuring: {kind}", console=console, transient=True):
        for name, embed in loaded.items():
            seconds[name].append(_time(embed, texts))
    base, reference = np.array(seconds[REFERENCE]), vectors[REFERENCE]
    rows = {}
    for name, own in seconds.items():
        lengths = np.linalg.norm(vectors[name], axis=1) * np.linalg.norm(reference, axis=1)
        cosines = (vectors[name] * reference).sum(axis=1) / lengths
        times = float(np.median(base / np.array(own)))
        rows[name] = Row(len(texts) / min(own), times, float(cosines.mean()), float(cosines.min()))
    return rows


def _time(embed: Embed, texts: list[str]) -> float:
    begin = time.perf_counter()
    embed(texts)
    return time.perf_counter() - begin


def _chroma() -> list[Dataset]:
    return [labelled for labelled in labelled_sets() if labelled.name == "chroma"]


def shares(labelled: Dataset, cache: Path) -> dict[str, dict[str, float]]:
    """Return the share (%) of the labelled text within 1,000 tokens, by system and ranking."""
    ways = {"default": rankers.kin(), "dense alone": rankers.create("dense")}
    found = {}
    for name, spec in _recalled():
        means = measure(labelled, {"kinsplit": default_strategy()}, ways, cache, spec)
        found[name] = {ranking: float(share[:, _HEADLINE].mean()) for (_, ranking), share in means.items()}
    return found


def _recalled() -> list[tuple[str, str]]:
    compared = (EXACT, DEFAULT, FAST)
    return [(system.name, system.spec) for system in SYSTEMS if system.spec and system.name in compared]


def speed_table(title: str, rows: dict[str, dict[str, Row]]) -> Table:
    """Return the table of speeds and cosines."""
    table = Table("backend", title=title)
    for kind in rows:
        for heading in (f"{kind}/s", "times", "mean cosine", "worst"):
            table.add_column(heading, justify="right")
    for name in next(iter(rows.values())):
        cells = [
            (f"{row.per_second:,.0f}", f"{row.times:.2f}", f"{row.mean:.6f}", f"{row.worst:.5f}")
            for row in (own[name] for own in rows.values())
        ]
        table.add_row(name, *(cell for four in cells for cell in four))
    return table


def start_table(started: dict[str, Starts]) -> Table:
    """Return the table of start-up times."""
    table = Table("backend", title="From the start of Python to the vector of a question, in seconds")
    for heading in ("first use, converting", "afterwards"):
        table.add_column(heading, justify="right")
    for name, seconds in started.items():
        table.add_row(name, f"{seconds.first:.1f}", f"{seconds.next:.2f}")
    return table


def recall_table(found: dict[str, dict[str, float]]) -> Table:
    """Return the table of recall."""
    table = Table("backend", title="chroma: labelled text found (%) within 1,000 tokens")
    for ranking in next(iter(found.values())):
        table.add_column(ranking, justify="right")
    for name, own in found.items():
        table.add_row(name, *(f"{share:.2f}" for share in own.values()))
    return table


def judge(
    rows: dict[str, dict[str, Row]], started: dict[str, Starts], found: dict[str, dict[str, float]]
) -> list[tuple[str, str, bool | None]]:
    """Return the targets, the measured figures, and whether they are met; None if not measured."""
    outcomes: list[tuple[str, str, bool | None]] = []
    for name, least in ((DEFAULT, DEFAULT_SPEED), (FAST, FAST_SPEED)):
        for kind, own in rows.items():
            times = own[name].times
            outcomes.append((f"{name}, {kind}: >= {least:g} times", f"{times:.2f}", times >= least))
    for kind, own in rows.items():
        mean = own[DEFAULT].mean
        outcomes.append((f"{DEFAULT}, {kind}: mean cosine >= {DEFAULT_COSINE}", f"{mean:.6f}", mean >= DEFAULT_COSINE))
    for name in (DEFAULT, FAST):
        first = started[name].first
        outcomes.append((f"{name}: first use <= {CONVERSION:g} s", f"{first:.1f} s", first <= CONVERSION))
        wanted = f"{name}: recall within {RECALL} points of float32"
        if not found:
            outcomes.append((wanted, "", None))
            continue
        change = {ranking: found[name][ranking] - found[EXACT][ranking] for ranking in found[name]}
        shown = ", ".join(f"{ranking} {points:+.2f}" for ranking, points in change.items())
        outcomes.append((wanted, shown, abs(change["default"]) <= RECALL))
    return outcomes


if __name__ == "__main__":
    app()
