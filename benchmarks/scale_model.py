"""Time, space and money of a large collection, from the figures of a scale run: `python benchmarks/scale_model.py`.

`python benchmarks/scale_model.py --write docs/scaling.md` puts the tables into a page, between comments with their
names. Every constant is measured, except for the rate of the model, the prices and the machines, which are options.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import typer

ROOT = Path(__file__).resolve().parents[1]
#: Figures of the run that docs/scaling.md shows.
FIGURES = Path(__file__).with_name("scale.json")
#: Stages that every worker runs, and those of a writer; the model runs between them.
PREPARE, WRITE = ("split", "place chunks", "look up", "terms"), ("write",)
#: Numbers of chunks that the table shows.
SIZES = tuple(10**power for power in range(5, 10))
_HOUR, _MONTH, _GB = 3600.0, 730.0, 1e9
_BLOCK = re.compile(r"(?<=<!-- )(?P<name>(?!end )[a-z ]+)( -->\n)(?P<table>.*?)(?=<!-- end -->)", re.DOTALL)

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Engine:
    """What a chunk costs in one engine, measured at the largest size of a run.

    Attributes:
        name: Name of the engine.
        chunks: The number of chunks of that size.
        per_document: Chunks per document.
        prepare: Seconds of a worker per chunk, without the model.
        write: Seconds of a writer per chunk.
        disk: Bytes on disk per chunk.
        memory: Bytes of memory per chunk, while it is searched, that grow with the collection.
        again: Seconds per chunk of an unchanged run, as a share of `prepare` and `write`.
    """

    name: str
    chunks: int
    per_document: float
    prepare: float
    write: float
    disk: float
    memory: float
    again: float

    @classmethod
    def of(cls, name: str, by_size: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the constants of an engine from the figures of its sizes."""
        sizes = sorted((size for size in by_size if "search" in by_size[size]), key=int)
        steps = by_size[sizes[-1]]
        first, chunks = steps["first"], steps["first"]["chunks"]
        # Stages overlap and wait for one another, so their times are scaled to the processor time of all of them.
        busy = sum(seconds for stage, seconds in first["stages"].items() if stage != "read files")
        used = first["processor"] / busy
        return cls(
            name,
            chunks,
            chunks / first["documents"],
            used * sum(first["stages"][stage] for stage in PREPARE) / chunks,
            used * sum(first["stages"][stage] for stage in WRITE) / chunks,
            first["disk"] / chunks,
            _slope({int(size): sum(by_size[size]["search"]["memory"].values()) * 1e6 for size in sizes}),
            steps["unchanged"]["processor"] / first["processor"] if "unchanged" in steps else math.nan,
        )


def _slope(values: Mapping[int, float]) -> float:
    """Return the growth per chunk; for a single size, its average."""
    if len(values) == 1:
        ((size, value),) = values.items()
        return value / size
    return max(0.0, statistics.linear_regression(list(values), list(values.values())).slope)


@dataclass(frozen=True)
class Assumed:
    """What no benchmark can tell.

    Attributes:
        model: Chunks per second of one copy of the model.
        core: Price of a core for an hour.
        gpu: Price of the machine part that runs one copy of the model for an hour.
        disk: Price of a gigabyte of disk for a month.
        memory: Price of a gigabyte of memory for a month.
        machine: Gigabytes of memory of one machine of the engine.
        days: Days in which everything has to be indexed.
    """

    model: float
    core: float
    gpu: float
    disk: float
    memory: float
    machine: float
    days: float


@app.command()
def main(
    figures: Annotated[Path, typer.Argument(help="File that benchmarks/scale.py --json wrote.")] = FIGURES,
    model: Annotated[float, typer.Option(help="Chunks per second of one copy of the model.")] = 1000.0,
    core: Annotated[float, typer.Option(help="Price of a core for an hour.")] = 0.04,
    gpu: Annotated[float, typer.Option(help="Price of one copy of the model for an hour.")] = 2.0,
    disk: Annotated[float, typer.Option(help="Price of a gigabyte of disk for a month.")] = 0.10,
    memory: Annotated[float, typer.Option(help="Price of a gigabyte of memory for a month.")] = 3.0,
    machine: Annotated[float, typer.Option(help="Gigabytes of memory of one machine of the engine.")] = 64.0,
    days: Annotated[float, typer.Option(help="Days in which everything has to be indexed.")] = 1.0,
    write: Annotated[Path | None, typer.Option(help="Page whose tables are replaced.")] = None,
) -> None:
    """Print the tables, or put them into a page."""
    run = json.loads(figures.read_text(encoding="utf-8"))
    tables = tables_of(run, Assumed(model, core, gpu, disk, memory, machine, days))
    if write is None:
        print("\n\n".join(f"{name}:\n\n{table}" for name, table in tables.items()))
    else:
        write.write_text(replaced(write.read_text(encoding="utf-8"), tables), encoding="utf-8")


def tables_of(run: Mapping[str, Any], assumed: Assumed) -> dict[str, str]:
    """Return the tables by name, as Markdown."""
    import scale

    # On Ray the stages run in other processes, each as long as here.
    engines = [Engine.of(name, by_size) for name, by_size in run["engines"].items() if by_size and name != "ray"]
    found = {"constants": _constants(engines)}
    found |= {f"plan of {engine.name}": _plan(engine, assumed) for engine in engines}
    return found | {f"run of {name}": scale.table(by_size) for name, by_size in run["engines"].items() if by_size}


def _constants(engines: Sequence[Engine]) -> str:
    rows = {
        "measured with chunks": lambda e: f"{e.chunks:,}",
        "chunks per document": lambda e: f"{e.per_document:.0f}",
        "preparing a chunk, ms of a core": lambda e: f"{e.prepare * 1e3:.2f}",
        "writing a chunk, ms of a core": lambda e: f"{e.write * 1e3:.2f}",
        "disk per chunk, kB": lambda e: f"{e.disk / 1e3:.1f}",
        "memory per chunk while searching, kB": lambda e: f"{e.memory / 1e3:.1f}",
        "processor time of an unchanged run, of the first one's": lambda e: f"{e.again:.0%}",
    }
    lines = ["| | " + " | ".join(engine.name for engine in engines) + " |", "|---|" + "---:|" * len(engines)]
    lines += [f"| {what} | " + " | ".join(cell(engine) for engine in engines) + " |" for what, cell in rows.items()]
    return "\n".join(lines)


@dataclass(frozen=True)
class Plan:
    """Machines, time and money for a number of chunks.

    Attributes:
        cores: Cores that prepare chunks.
        models: Copies of the model.
        writers: Writers.
        disk: Gigabytes on disk.
        memory: Gigabytes of memory.
        shards: Machines of the engine, by their memory.
        once: Price of indexing.
        monthly: Price of disk and memory for a month.
    """

    cores: int
    models: int
    writers: int
    disk: float
    memory: float
    shards: int
    once: float
    monthly: float

    @classmethod
    def of(cls, engine: Engine, assumed: Assumed, chunks: int) -> Self:
        """Return the fewest machines that index so many chunks in time."""
        seconds = assumed.days * 24 * _HOUR
        preparing, embedding, writing = chunks * engine.prepare, chunks / assumed.model, chunks * engine.write
        disk, memory = chunks * engine.disk / _GB, chunks * engine.memory / _GB
        return cls(
            *(math.ceil(work / seconds) for work in (preparing, embedding, writing)),
            disk,
            memory,
            math.ceil(memory / assumed.machine),
            ((preparing + writing) * assumed.core + embedding * assumed.gpu) / _HOUR,
            disk * assumed.disk + memory * assumed.memory,
        )


def _plan(engine: Engine, assumed: Assumed) -> str:
    plans = {size: Plan.of(engine, assumed, size) for size in SIZES}
    rows = {
        "documents": [f"{size / engine.per_document:,.0f}" for size in SIZES],
        "cores that prepare": [f"{plan.cores:,}" for plan in plans.values()],
        "copies of the model": [f"{plan.models:,}" for plan in plans.values()],
        "writers": [f"{plan.writers:,}" for plan in plans.values()],
        "disk, GB": [f"{plan.disk:,.0f}" for plan in plans.values()],
        "memory, GB": [f"{plan.memory:,.1f}" for plan in plans.values()],
        f"machines of {assumed.machine:g} GB": [f"{plan.shards:,}" for plan in plans.values()],
        "indexing, once": [f"{plan.once:,.2f}" for plan in plans.values()],
        "per million chunks": [f"{plan.once / size * 1e6:,.2f}" for size, plan in plans.items()],
        "disk and memory, a month": [f"{plan.monthly:,.0f}" for plan in plans.values()],
    }
    lines = ["| chunks | " + " | ".join(f"{size:,}" for size in SIZES) + " |", "|---|" + "---:|" * len(SIZES)]
    return "\n".join([*lines, *(f"| {what} | " + " | ".join(cells) + " |" for what, cells in rows.items())])


def replaced(page: str, tables: Mapping[str, str]) -> str:
    """Return a page with its tables replaced, each between a comment with its name and one that says "end"."""

    def fill(found: re.Match[str]) -> str:
        table = tables.get(found["name"])
        return found[0] if table is None else f"{found['name']}{found[2]}{table}\n"

    return _BLOCK.sub(fill, page)


if __name__ == "__main__":
    app()
