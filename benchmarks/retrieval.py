"""How much of the labelled text retrieval finds within a token budget: `python benchmarks/retrieval.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from found import BUDGETS, Meter, interval
from labelled import labelled_sets
from numpy.typing import NDArray
from pipelines import PEERS, CachedEmbedder, Pipeline, ask, fresh_store, kinsplit
from rich.console import Console
from rich.progress import track
from rich.table import Table
from texts import SHARED_DATA

from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.evaluation.labels import Dataset
from kinsplit.index import default_strategy
from kinsplit.parsers import Strategy, create

#: Shares (%) within 1,000 tokens that the default is to reach.
WANTED = {"chroma": 91.0, "privacy_qa": 50.0}
#: Most that the default may stay below its own variant without kin, in points within 1,000 tokens.
TOLERANCE = 0.5
_HEADLINE = BUDGETS.index(1000)

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)

#: Shares by pipeline and ranking, shape (questions, budgets).
Shares = dict[tuple[str, str], NDArray[np.float64]]


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Measure only sets whose name contains this.")] = "",
    peers: Annotated[bool, typer.Option(help="Measure the peers' pipelines too.")] = True,
    chunk_size: Annotated[int | None, typer.Option(help="Tokens of kinsplit's chunks instead of the default.")] = None,
    weights: Annotated[
        list[str] | None, typer.Option(metavar="A=X,B=Y", help="Also try these weights; may be repeated.")
    ] = None,
    cache: Annotated[Path, typer.Option(help="Folder that keeps the vectors between runs.")] = Path(".benchmark-cache"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write the tables of docs/kin-scoring.md here.")] = None,
) -> None:
    """Measure kinsplit's default, with each weight of kin scoring switched off in turn, beside peers' pipelines."""
    sets = [labelled for labelled in labelled_sets() if only in labelled.name]
    if not sets:
        raise typer.BadParameter(f"There is no labelled set below {SHARED_DATA} whose name contains {only!r}.")
    embedder = CachedEmbedder(cache)
    strategy = default_strategy() if chunk_size is None else create("sentence", chunk_size=chunk_size, chunk_overlap=0)
    parameters = ", ".join(f"{key}={value}" for key, value in strategy.parameters.items())
    console.print(f"kinsplit's strategy: {strategy.name} ({parameters})")
    results, outcomes, tables = {}, [], []
    for labelled in sets:
        shares = measure(labelled, [*(PEERS if peers else ()), kinsplit(strategy, weights or ())], strategy, embedder)
        console.print(set_table(labelled, shares))
        tables.append(as_markdown(labelled, shares))
        results[labelled.name] = {f"{p}, {r}": summary(found) for (p, r), found in shares.items()}
        outcomes += [(labelled.name, *outcome) for outcome in judge(labelled.name, shares)]
    table = Table("set", "wanted", "measured", "met", title="Against what is wanted, within 1,000 tokens")
    for name, wanted, measured, met in outcomes:
        table.add_row(name, wanted, measured, "[green]yes[/]" if met else "[red]no[/]")
    console.print(table)
    if markdown:
        markdown.write_text("\n".join(tables), encoding="utf-8")
    if json_file:
        json_file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def measure(labelled: Dataset, pipelines: list[Pipeline], strategy: Strategy, embedder: CachedEmbedder) -> Shares:
    """Return what each ranking of each pipeline finds for each question."""
    bm25, meter = Bm25Embedder(), Meter(labelled)
    asked = [ask(question, embedder, bm25) for question in labelled.questions]
    shares: Shares = {}
    for pipeline in pipelines:
        with fresh_store(embedder, bm25, strategy.fingerprint) as store:
            pipeline.fill(store, labelled, embedder)
            for name, rank in pipeline.rankers.items():
                pairs = track(
                    list(zip(labelled.questions, asked, strict=True)),
                    f"{labelled.name}: {pipeline.name}, {name}",
                    console=console,
                    transient=True,
                )
                found = [meter.found(question, rank(store, form)) for question, form in pairs]
                shares[pipeline.name, name] = 100 * np.array(found)
    return shares


def set_table(labelled: Dataset, shares: Shares) -> Table:
    """Return the table of one set."""
    title = f"{labelled.name}: {len(labelled.documents)} documents, {len(labelled.questions)} questions"
    table = Table("pipeline", "ranking", title=f"{title}; labelled text found (%) within N tokens")
    for budget in BUDGETS:
        table.add_column(f"{budget:,}", justify="right")
    table.add_column("95 % at 1,000", justify="right")
    table.add_column("beyond without kin", justify="right")
    base = shares["kinsplit", "without kin"][:, _HEADLINE]
    for (pipeline, ranking), found in shares.items():
        low, high = interval(found[:, _HEADLINE])
        difference = found[:, _HEADLINE] - base
        beyond = f"{difference.mean():+.1f} [{', '.join(f'{x:+.1f}' for x in interval(difference))}]"
        means = (f"{mean:.1f}" for mean in found.mean(axis=0))
        table.add_row(pipeline, ranking, *means, f"{low:.1f} to {high:.1f}", beyond if pipeline == "kinsplit" else "")
    return table


def as_markdown(labelled: Dataset, shares: Shares) -> str:
    """Return the table of one set for the docs, each share with its 95 % interval."""
    lines = [
        f"### {labelled.name}: {len(labelled.documents)} documents, {len(labelled.questions)} questions",
        "",
        f"| pipeline | {' | '.join(f'{budget:,} tokens' for budget in BUDGETS)} |",
        f"|---|{'---:|' * len(BUDGETS)}",
    ]
    for (pipeline, ranking), found in shares.items():
        cells = (f"{c.mean():.1f} ({interval(c)[0]:.1f}–{interval(c)[1]:.1f})" for c in found.T)
        lines.append(f"| {pipeline}, {ranking} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def summary(found: NDArray[np.float64]) -> dict[str, Any]:
    """Return means and intervals by budget."""
    return {
        str(budget): {"mean": float(column.mean()), "interval": interval(column)}
        for budget, column in zip(BUDGETS, found.T, strict=True)
    }


def judge(name: str, shares: Shares) -> list[tuple[str, str, bool]]:
    """Return what is wanted of the default, what was measured, and whether that is met."""
    means = {key: float(found[:, _HEADLINE].mean()) for key, found in shares.items()}
    own, alone = means["kinsplit", "default"], means["kinsplit", "without kin"]
    outcomes = [(f"at least without kin - {TOLERANCE}", f"{own:.1f} against {alone:.1f}", own >= alone - TOLERANCE)]
    others = {key: mean for key, mean in means.items() if key[0] != "kinsplit"}
    if others:
        best = max(others, key=lambda key: others[key])
        measured = f"{own:.1f} against {others[best]:.1f} ({', '.join(best)})"
        outcomes.append(("more than the best peer", measured, own > others[best]))
    if name in WANTED:
        outcomes.append((f"at least {WANTED[name]:g}", f"{own:.1f}", own >= WANTED[name]))
    return outcomes


if __name__ == "__main__":
    app()
