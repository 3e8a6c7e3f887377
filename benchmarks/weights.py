"""Weights of kin scoring, chosen on some sets and confirmed on another: `python benchmarks/weights.py`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from labelled import labelled_sets, sampled
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit.evaluation.tuning.trial import CHOICES, WeightBench, choose
from kinsplit.options import NO_KIN, KinWeights
from kinsplit.parsers import default_strategy

_MEASURE = "recall@1000t"

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)


class Benches:
    """The labelled sets with their rankings; the recall of weights is computed once."""

    def __init__(self, benches: dict[str, WeightBench]) -> None:
        self.benches = benches
        self.recall = functools.cache(self._recall)

    def _recall(self, name: str, weights: str) -> float:
        return 100 * self.benches[name].recall(KinWeights.model_validate_json(weights))

    def mean(self, names: Sequence[str], weights: KinWeights) -> float:
        """Return the mean over families of sets, so that five languages of one set don't count five times."""
        families: dict[str, list[float]] = {}
        for name in names:
            families.setdefault(family(name), []).append(self.recall(name, weights.model_dump_json()))
        return float(np.mean([np.mean(found) for found in families.values()]))


@app.command()
def main(
    questions: Annotated[int, typer.Option(help="Maximum number of questions of a set, a random sample.")] = 150,
    only: Annotated[str, typer.Option(help="Take only sets whose name contains this.")] = "",
    cache: Annotated[Path, typer.Option(help="Folder that keeps the vectors between runs.")] = Path(".benchmark-cache"),
    markdown: Annotated[Path | None, typer.Option(help="Also write the tables of docs/kin-scoring.md here.")] = None,
) -> None:
    """Choose weights on all families of sets but one, and measure them on that one."""
    sets = [sampled(labelled, questions) for labelled in labelled_sets() if only in labelled.name]
    if not sets:
        raise typer.BadParameter(f"There is no labelled set below {SHARED_DATA} whose name contains {only!r}.")
    with console.status("Fetching the rankings"):
        found = {each.name: WeightBench.of(each, default_strategy(), _MEASURE, cache=cache) for each in sets}
    benches = Benches(found)
    tables = [ranges(benches), left_out(benches)]
    for table in tables:
        console.print(table)
    if markdown:
        markdown.write_text("\n".join(map(as_markdown, tables)), encoding="utf-8")


def family(name: str) -> str:
    return name.split()[0]


def left_out(benches: Benches) -> Table:
    """Return the table of each set with weights that were chosen without its family."""
    table = Table("set", "without kin", "default", "chosen on the others", "weights chosen", title="Leave one out")
    names = list(benches.benches)
    for one in dict.fromkeys(map(family, names)):
        others = [name for name in names if family(name) != one]
        if not others:
            break
        with console.status(f"Choosing weights without {one}"):
            chosen = choose(lambda weights, others=others: benches.mean(others, weights) / 100)  # type: ignore[misc]
        changed = ", ".join(f"{key} {value:g}" for key, value in chosen.model_dump(exclude_defaults=True).items())
        for name in (name for name in names if family(name) == one):
            values = (benches.mean([name], weights) for weights in (NO_KIN, KinWeights(), chosen))
            table.add_row(name, *(f"{value:.1f}" for value in values), changed or "the default")
    return table


def ranges(benches: Benches) -> Table:
    """Return the table of each weight's values, all others at their defaults."""
    names = list(benches.benches)
    table = Table("weight", "value", *names, "mean", title="One weight at a time")
    for key, values in CHOICES.items():
        for value in values:
            weights = KinWeights(**{key: value})
            with console.status(f"{key} {value:g}"):
                cells = [f"{benches.mean([name], weights):.1f}" for name in names]
                table.add_row(key, f"{value:g}", *cells, f"{benches.mean(names, weights):.1f}")
    return table


def as_markdown(table: Table) -> str:
    columns = [list(column.cells) for column in table.columns]
    heads = [str(column.header) for column in table.columns]
    rows = zip(*columns, strict=True)
    lines = [heads, ["---"] * len(heads), *([str(cell) for cell in row] for row in rows)]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), ""])


if __name__ == "__main__":
    app()
