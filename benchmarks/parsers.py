"""Speed of the parsers: `python benchmarks/parsers.py`, with `--scaling` their growth on larger documents, and with
`--modules` the modules of kinsplit in which their time goes.

Every library gets the bundled vocabulary through the fastest tokenizer that it accepts. A kinsplit row is for complete
chunks with offsets, ids and links; a peer's row is for its fastest call, even if that reports no offsets.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import targets
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scaling import MEGABYTES, exponent, grow
from systems import SYSTEMS
from texts import corpus
from timing import Row, measure

from kinsplit.parsers import names

_VERSIONS = ("tokie", "tokenizers", "llama-index-core", "langchain-text-splitters", "chonkie", "semchunk")
_VERSIONS += ("semantic-text-splitter",)

#: Seconds between two samples, and number of modules to show.
_EVERY, _MOST_MODULES = 0.0005, 12

app = typer.Typer(add_completion=False)
# A file or a pipe has no width.
console = Console(width=None if sys.stdout.isatty() else 120)


@app.command()
def main(
    repeat: Annotated[int, typer.Option(min=1, help="Rounds to measure.")] = 7,
    only: Annotated[str, typer.Option(help="Measure only systems or strategies whose name contains this.")] = "",
    scaling: Annotated[bool, typer.Option("--scaling", help="Measure growth from 1 to 64 MB instead.")] = False,
    modules: Annotated[bool, typer.Option("--modules", help="Show in which modules the time goes instead.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
) -> None:
    """Measure kinsplit's parsers, beside other libraries or on documents of growing size."""
    result = measure_growth(only) if scaling else measure_modules(only, repeat) if modules else compare(only, repeat)
    if json_file:
        json_file.write_text(json.dumps({"machine": machine(), **result}, indent=2) + "\n", encoding="utf-8")


def compare(only: str, repeat: int) -> dict[str, Any]:
    """Measure and print all systems, and compare them with the targets."""
    texts = corpus()
    rows = measure([system for system in SYSTEMS if only in system.name], texts, repeat)
    title = f"{texts.origin}, {sum(map(len, texts.texts)):,} characters, {repeat} rounds"
    console.print(_systems_table(title, rows))
    outcomes = targets.outcomes(rows)
    table = Table("wanted", "measured", "limit", "met", title="Against what is wanted")
    for outcome in outcomes:
        table.add_row(outcome.what, outcome.shown, outcome.limit, _met(outcome.met))
    console.print(table)
    return {
        "corpus": texts.origin,
        "systems": [row.as_dict() for row in rows],
        "wanted": [outcome._asdict() for outcome in outcomes],
    }


def _systems_table(title: str, rows: list[Row]) -> Table:
    table = Table("system", title=title)
    for heading in ("min ms", "median ms", "chunks", "offsets exact"):
        table.add_column(heading, justify="right")
    for row in rows:
        if not row.milliseconds:
            table.add_row(row.name, "not built" if row.name.startswith("kinsplit") else "not installed")
            continue
        chunks, offsets = ("", "") if row.chunks is None else (f"{row.chunks:,}", _share(row.exact))
        table.add_row(row.name, f"{row.best:,.1f}", f"{row.median:,.1f}", chunks, offsets)
    return table


def measure_growth(only: str) -> dict[str, Any]:
    """Measure and print the growth of time and memory of each strategy with the document."""
    jobs = [(name, one_line) for name in names() if only in name for one_line in (False, True)]
    table = Table("strategy", "document", title="One document: seconds, and the peak of memory that it takes")
    for heading in (*(f"{size} MB" for size in MEGABYTES), "time ~", "memory ~", f"<= {targets.GROWTH}"):
        table.add_column(heading, justify="right", no_wrap=True)
    result = []
    for name, one_line in track(jobs, "Measuring", transient=True):
        points = grow(name, one_line=one_line)
        grows = {field: exponent(points, field) for field in ("seconds", "memory")}
        met = max(grows.values()) <= targets.GROWTH
        shape = "one line" if one_line else "Markdown"
        cells = [f"{point.seconds:.2f} s {point.memory:,.0f} MB" for point in points]
        cells += ["too slow"] * (len(MEGABYTES) - len(points))
        table.add_row(name, shape, *cells, *(f"n^{value:.2f}" for value in grows.values()), _met(met))
        points_as_dicts = [point._asdict() for point in points]
        result.append({"strategy": name, "document": shape, "points": points_as_dicts, "exponents": grows, "met": met})
    console.print(table)
    return {"scaling": result}


def measure_modules(only: str, repeat: int) -> dict[str, Any]:
    """Sample and print in which modules the calling thread spends its time, also the time in which it waits there."""
    texts = corpus()
    result = {}
    for system in (system for system in SYSTEMS if only in system.name and system.name.startswith("kinsplit")):
        system.run(system.make(), texts)
        found = sample(lambda system=system: system.run(system.make(), texts), repeat)
        table = Table("module", "ms", title=f"{system.name}: {texts.origin}, mean of {repeat} rounds")
        for module, milliseconds in (rows := found.most_common(_MOST_MODULES)):
            table.add_row(module, f"{milliseconds:,.1f}")
        table.add_row("others", f"{found.total() - sum(dict(rows).values()):,.1f}")
        console.print(table)
        result[system.name] = found
    return {"corpus": texts.origin, "modules": result}


def sample(call: Callable[[], object], repeat: int) -> Counter[str]:
    """Return the milliseconds of a call in each module of kinsplit, with what it calls elsewhere."""
    samples: Counter[str] = Counter()

    def note(_: int, frame: FrameType | None) -> None:
        while frame and not frame.f_globals.get("__name__", "").startswith("kinsplit."):
            frame = frame.f_back
        samples[frame.f_globals["__name__"] if frame else "none"] += 1

    before = signal.signal(signal.SIGALRM, note)
    signal.setitimer(signal.ITIMER_REAL, _EVERY, _EVERY)
    begun = time.perf_counter()
    for _ in range(repeat):
        call()
    milliseconds = (time.perf_counter() - begun) * 1e3 / repeat
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    return Counter({name: number * milliseconds / samples.total() for name, number in samples.items()})


def machine() -> dict[str, Any]:
    """Describe the machine, so that readers can compare the numbers with others."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": {name: _version(name) for name in _VERSIONS},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _share(exact: float | None) -> str:
    return "none reported" if exact is None else f"{exact:.1%}"


def _met(met: bool | None) -> str:
    return {True: "[green]yes[/]", False: "[red]NO[/]", None: "not measured"}[met]


if __name__ == "__main__":
    app()
