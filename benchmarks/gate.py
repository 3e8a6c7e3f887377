"""Costs relative to peers, which a release must keep: `make bench-gate`.

    python benchmarks/gate.py              # print each ratio beside the recorded one, and fail if one has grown
    python benchmarks/gate.py --record     # record the ratios for the next release, and write docs/costs.md

Every ratio is of times on one machine in one run, so that it can be compared with another machine's. Processor time is
measured wherever it can be, since other work on the machine hardly changes it. The texts are those that every clone
has. `gate.json` holds the ratios of the last release.
"""

from __future__ import annotations

import gc
import json
import math
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import indexing
import search_cost
import service
import typer
from parsers import console, machine
from rich.table import Table
from scale_model import replaced
from systems import SYSTEMS
from texts import ROOT, Corpus, stand_in

#: Ratios of the last release, and the page that shows them.
RECORD, PAGE = Path(__file__).with_name("gate.json"), ROOT / "docs" / "costs.md"
#: Rounds of each pair, of which the median counts, and seconds of asking the service.
ROUNDS, SECONDS = 7, 10.0
#: Clients that ask the service.
CLIENTS = 8
#: Characters of each text that is indexed.
INDEXED = 20_000

app = typer.Typer(add_completion=False)


class Ratio(NamedTuple):
    """A cost relative to another; lower is better.

    Attributes:
        name: Name in the record.
        what: The two costs, for the table.
        tolerance: Factor by which it may exceed the recorded one. Processor times vary by some 5 %, and what also
            depends on which threads wait for each other by some 20 %.
    """

    name: str
    what: str
    tolerance: float


RATIOS = (
    Ratio("token", "splitting by `token`, beside chonkie's `TokenChunker`", 1.15),
    Ratio("sentence", "splitting by `sentence`, beside chonkie's `SentenceChunker`", 1.15),
    Ratio("structure", "splitting by `structure`, beside chonkie's `RecursiveChunker`", 1.15),
    Ratio("node", "making a chunk a LlamaIndex node, beside an empty `TextNode`", 1.3),
    Ratio("search", "`Index.search`, beside the question's vector alone", 1.15),
    Ratio("service", "a search over HTTP, beside LangChain's retriever", 1.15),
    Ratio("rate", f"LangChain's searches per second with {CLIENTS} clients, beside the service's", 1.5),
    Ratio("idle", "time of indexing in which the model is idle, beside the whole", 2.0),
)


#: Prepares something, and returns the function whose time is measured.
Prepare = Callable[[], Callable[[], object]]


def paired(one: Prepare, other: Prepare, rounds: int = ROUNDS) -> float:
    """Return the ratio of two processor times: the median of rounds, after one that doesn't count."""
    times = [(spent(one), spent(other)) for _ in range(rounds + 1)]
    return statistics.median(first / second for first, second in times[1:])


def spent(prepare: Prepare) -> float:
    """Return the seconds of processor time of a call."""
    function = prepare()
    gc.collect()
    begun = time.process_time()
    result = function()
    seconds = time.process_time() - begun
    # Free the result only now.
    del result
    return seconds


def splitters(texts: Corpus) -> Iterator[tuple[str, float]]:
    """Yield the ratios of strategies to chonkie's splitters, and of what a node costs to a `TextNode`."""
    systems = {system.name: system for system in SYSTEMS}

    def splitting(name: str) -> Prepare:
        # A new splitter each time, so that none is helped by a cache of the same texts.
        return lambda: partial(systems[name].run, systems[name].make(), texts)

    yield "token", paired(splitting("kinsplit token 512/128"), splitting("chonkie token 512/384"))
    yield "sentence", paired(splitting("kinsplit sentence 500/100"), splitting("chonkie sentence 500/100"))
    yield "structure", paired(splitting("kinsplit structure 500"), splitting("chonkie recursive 500"))
    parser, core = splitting("kinsplit node parser character 500/100"), splitting("kinsplit character 500/100")
    number = sum(map(len, core()()))
    nodes = [(spent(parser), spent(core), spent(lambda: partial(_text_nodes, number))) for _ in range(ROUNDS + 1)]
    yield "node", statistics.median((whole - split) / empty for whole, split, empty in nodes[1:])


def _text_nodes(number: int) -> list[object]:
    from llama_index.core.schema import TextNode

    return [TextNode(text="") for _ in range(number)]


def searches() -> Iterator[tuple[str, float]]:
    """Yield the ratios of a search to the question's vector, and of the service to LangChain's retriever."""
    yield "search", search_cost.of_course(ROUNDS)["search / vector"]
    with service.course() as course, service.serving(str(course.folder), collections="course") as (address, process):
        systems = {
            "kinsplit": service.System(service.over_http(address), process),
            "LangChain": service.System(service.langchain(course.chunks)),
        }
        for system in systems.values():
            service.warm(system.ask, course.questions)
        own, peer = service.in_turns(systems, CLIENTS, SECONDS, course.questions, ROUNDS).values()
    yield "service", own.processor / peer.processor
    yield "rate", peer.rate / own.rate


def measure() -> dict[str, float]:
    """Measure all ratios."""
    # Without line breaks, so that peers, which know no headings, make about as many chunks.
    texts = stand_in(one_line=True)
    idle = 1 - indexing.measure("bundled", "headings", INDEXED, texts).share
    return {**dict(splitters(texts)), **dict(searches()), "idle": idle}


def failures(measured: Mapping[str, float], recorded: Mapping[str, float]) -> list[str]:
    """Return the names of the ratios that exceed the recorded ones beyond their tolerance."""
    limits = {each.name: each.tolerance * recorded.get(each.name, math.inf) for each in RATIOS}
    return [name for name, limit in limits.items() if measured[name] > limit]


def table_of(record: Mapping[str, Any]) -> str:
    """Return the recorded ratios as a table for the documentation."""
    rows = [f"| {each.what} | {record['ratios'][each.name]:.2f} | {each.tolerance:g} x |" for each in RATIOS]
    place = f"{record['machine']['cores']} cores, Python {record['machine']['python']}, commit {record['commit']}"
    return "\n".join(["| cost | ratio | fails beyond |", "|---|---:|---:|", *rows, "", f"Measured with {place}."])


@app.command()
def main(
    record: Annotated[bool, typer.Option("--record", help="Record the ratios instead of comparing them.")] = False,
) -> None:
    """Measure costs relative to peers, and compare them with those of the last release."""
    last = json.loads(RECORD.read_text("utf-8"))["ratios"]
    measured = measure()
    table = Table("cost", "ratio", "last release", "fails beyond", title=f"Relative to peers, {os.cpu_count()} cores")
    for each in RATIOS:
        shown = (f"{last[each.name]:.2f}", f"{each.tolerance * last[each.name]:.2f}") if each.name in last else ("", "")
        table.add_row(each.what, f"{measured[each.name]:.2f}", *shown)
    console.print(table)
    if record:
        write(measured)
    elif failed := failures(measured, last):
        console.print(f"Grown beyond the tolerance: {', '.join(failed)}.")
        raise typer.Exit(1)


def write(measured: Mapping[str, float]) -> None:
    """Record ratios with the commit and the machine, and write them into the page."""
    command = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    place = {key: value for key, value in machine().items() if key != "system"}
    made = {"commit": commit, "machine": place, "ratios": {name: round(one, 3) for name, one in measured.items()}}
    RECORD.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(replaced(PAGE.read_text("utf-8"), {"bench gate": table_of(made)}), encoding="utf-8")


if __name__ == "__main__":
    app()
