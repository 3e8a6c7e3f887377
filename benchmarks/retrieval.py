"""Share of the labelled text that retrieval finds within a token budget: `python benchmarks/retrieval.py`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from labelled import labelled_sets, named_sets, sampled
from numpy.typing import NDArray
from peers import with_file_names
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit.embedding import Embedder
from kinsplit.evaluation import Experiment
from kinsplit.evaluation.experiment import rankers
from kinsplit.evaluation.experiment.rankers import Ranker
from kinsplit.evaluation.experiment.strategy_run import Step
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.significance import estimate, estimates
from kinsplit.evaluation.splitters.specs import from_spec
from kinsplit.options import NO_KIN, KinWeights
from kinsplit.parsers import Strategy, create, default_strategy

BUDGETS = (250, 500, 1000, 2000)
#: Target shares (%) of the default within 1,000 tokens.
WANTED = {"chroma": 91.0, "privacy_qa": 50.0}
#: Maximum deficit of the default against its variant without kin, in points within 1,000 tokens.
TOLERANCE = 0.5
#: Maximum deficit of passages against the ranking, in points within each budget.
FRONT_DOOR_TOLERANCE = 0.5
_HEADLINE = BUDGETS.index(1000)
_MEASURES = tuple(f"recall@{budget}t" for budget in BUDGETS)

#: The default of kin scoring, and its variants without kin, or without one of the weights.
KIN_RANKERS = {
    "without kin": rankers.kin(NO_KIN),
    "without siblings": rankers.kin(KinWeights(siblings=0)),
    "without parent": rankers.kin(KinWeights(parent=0)),
    "without document": rankers.kin(KinWeights(document=0)),
    "without best chunk": rankers.kin(KinWeights(best_chunk=0)),
    "without searching inside the best documents": rankers.kin(KinWeights(best_documents=0)),
    "default": rankers.kin(),
}
#: What readers get from the default: the passages of `Index.search` and of an answer.
FRONT_DOOR = {"front door": rankers.search(), "front door of ask": rankers.ask()}
#: Rankers to compare late chunking with headings by.
LATE_RANKERS = {"dense": rankers.create("dense"), "default": rankers.kin()}
#: Rankers of the peers: cosine, and the hybrid retrieval of both frameworks.
PEER_RANKERS = {"dense": rankers.create("dense"), "dense + BM25 (RRF)": rankers.create("hybrid")}
PEERS = (
    "LangChain recursive 200/0=langchain:RecursiveCharacterTextSplitter:chunk_size=200,chunk_overlap=0",
    "LangChain recursive 1000/200=langchain:RecursiveCharacterTextSplitter:chunk_size=1000,chunk_overlap=200",
    "LlamaIndex sentence 1024/200=llama-index:SentenceSplitter:chunk_size=1024,chunk_overlap=200",
    "LlamaIndex sentence 256/20=llama-index:SentenceSplitter:chunk_size=256,chunk_overlap=20",
)

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)

#: Shares (%) by pipeline and ranking, shape (questions, budgets).
Shares = dict[tuple[str, str], NDArray[np.float64]]


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Measure only sets whose name contains this.")] = "",
    peers: Annotated[bool, typer.Option(help="Measure the peers' pipelines too.")] = True,
    chunk_size: Annotated[int | None, typer.Option(help="Tokens of kinsplit's chunks instead of the default.")] = None,
    weights: Annotated[
        list[str] | None, typer.Option(metavar="A=X,B=Y", help="Also try these weights; may be repeated.")
    ] = None,
    late: Annotated[bool, typer.Option("--late", help="Also measure late chunking.")] = False,
    named: Annotated[
        bool, typer.Option("--named", help="Measure sets whose questions name their documents instead.")
    ] = False,
    questions: Annotated[int | None, typer.Option(help="Sample at most so many questions of each set.")] = None,
    cache: Annotated[Path, typer.Option(help="Folder that keeps the vectors between runs.")] = Path(".benchmark-cache"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write the tables of docs/kin-scoring.md here.")] = None,
) -> None:
    """Measure kinsplit's default, with each weight of kin scoring switched off in turn, beside peers' pipelines."""
    sets = [labelled for labelled in (named_sets() if named else labelled_sets()) if only in labelled.name]
    if not sets:
        raise typer.BadParameter(f"There is no labelled set below {SHARED_DATA} whose name contains {only!r}.")
    strategy = default_strategy() if chunk_size is None else create("sentence", chunk_size=chunk_size, chunk_overlap=0)
    parameters = ", ".join(f"{key}={value}" for key, value in strategy.parameters.items())
    console.print(f"kinsplit's strategy: {strategy.name} ({parameters})")
    results, outcomes, tables = {}, [], []
    for labelled in sets if questions is None else [sampled(labelled, questions) for labelled in sets]:
        shares: Shares = {}
        if peers:
            splitters = dict(map(from_spec, PEERS))
            shares |= measure(labelled, splitters, PEER_RANKERS, cache)
            if named:
                first = {f"{label}, file name first": with_file_names(each) for label, each in splitters.items()}
                # Not cached, since these strategies describe themselves as those that they are copies of.
                shares |= measure(labelled, first, PEER_RANKERS, cache=False)
        shares |= measure(
            labelled, {"kinsplit": strategy}, {**KIN_RANKERS, **FRONT_DOOR, **tried(weights or ())}, cache
        )
        if late:
            for context in ("headings", "late"):
                named = {f"kinsplit, {context}": strategy}
                shares |= measure(labelled, named, LATE_RANKERS, cache, embedding_context=context)
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


def tried(weights: Sequence[str]) -> dict[str, Ranker]:
    """Return rankers with further weights, each such as "siblings=0.2,parent=1"."""
    pairs = {other: [part.partition("=") for part in other.split(",")] for other in weights}
    return {
        name: rankers.kin(KinWeights(**{key: float(value) for key, _, value in parts})) for name, parts in pairs.items()
    }


def measure(
    labelled: Dataset,
    strategies: Mapping[str, Strategy],
    ways: Mapping[str, Ranker],
    cache: Path | bool,
    embedder: str | Embedder = "bundled",
    embedding_context: str = "headings",
) -> Shares:
    """Return the share found for each question, by strategy and ranker."""
    shares: Shares = {}
    for name, ranker in ways.items():
        experiment = Experiment(
            labelled,
            strategies,
            embedder=embedder,
            ranker=ranker,
            measures=_MEASURES,
            embedding_context=embedding_context,
            cache=cache,
        )
        with console.status("") as status:

            def told(step: Step, name: str = name) -> None:
                status.update(f"{labelled.name}: {step.label}, {name}, {step.stage} {step.done}/{step.total}")

            results = experiment.run(told)
        for label in strategies:
            own = [result.measures for result in results.results if result.strategy == label]
            shares[label, name] = 100 * np.array([[found[measure] for measure in _MEASURES] for found in own])
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
        own, beyond = estimate(found[:, _HEADLINE]), estimate(found[:, _HEADLINE] - base)
        difference = f"{beyond.mean:+.1f} [{beyond.low:+.1f}, {beyond.high:+.1f}]"
        means = (f"{mean:.1f}" for mean in found.mean(axis=0))
        shown = difference if pipeline == "kinsplit" else ""
        table.add_row(pipeline, ranking, *means, f"{own.low:.1f} to {own.high:.1f}", shown)
    return table


def as_markdown(labelled: Dataset, shares: Shares) -> str:
    """Return the table of one set for the docs, with 95 % intervals."""
    lines = [
        f"### {labelled.name}: {len(labelled.documents)} documents, {len(labelled.questions)} questions",
        "",
        f"| pipeline | {' | '.join(f'{budget:,} tokens' for budget in BUDGETS)} |",
        f"|---|{'---:|' * len(BUDGETS)}",
    ]
    for (pipeline, ranking), found in shares.items():
        cells = (f"{own.mean:.1f} ({own.low:.1f}–{own.high:.1f})" for own in estimates(found) if own)
        lines.append(f"| {pipeline}, {ranking} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def summary(found: NDArray[np.float64]) -> dict[str, Any]:
    """Return means and intervals by budget."""
    return {str(budget): own.model_dump() for budget, own in zip(BUDGETS, estimates(found), strict=True) if own}


def judge(name: str, shares: Shares) -> list[tuple[str, str, bool]]:
    """Return the targets of the default, the measured figures, and whether they are met."""
    means = {key: float(found[:, _HEADLINE].mean()) for key, found in shares.items()}
    own, alone = means["kinsplit", "default"], means["kinsplit", "without kin"]
    outcomes = [(f"at least without kin - {TOLERANCE}", f"{own:.1f} against {alone:.1f}", own >= alone - TOLERANCE)]
    for way in FRONT_DOOR:
        missing = (shares["kinsplit", way] - shares["kinsplit", "default"]).mean(axis=0)
        at_least = f"{way} at least the ranking - {FRONT_DOOR_TOLERANCE}, at all of {', '.join(map(str, BUDGETS))}"
        measured = ", ".join(f"{points:+.1f}" for points in missing)
        outcomes.append((at_least, measured, bool((missing >= -FRONT_DOOR_TOLERANCE).all())))
    others = {key: mean for key, mean in means.items() if not key[0].startswith("kinsplit")}
    if others:
        best = max(others, key=lambda key: others[key])
        measured = f"{own:.1f} against {others[best]:.1f} ({', '.join(best)})"
        outcomes.append(("more than the best peer", measured, own > others[best]))
    if name in WANTED:
        outcomes.append((f"at least {WANTED[name]:g}", f"{own:.1f}", own >= WANTED[name]))
    return outcomes


if __name__ == "__main__":
    app()
