"""All strategies and peers on all labelled sets, all else equal: `make bench-quality` writes docs/quality.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from labelled import labelled_sets, sampled
from quality_page import Measured, page
from rich.console import Console
from texts import SHARED_DATA

from kinsplit.errors import KinsplitError
from kinsplit.evaluation import Experiment
from kinsplit.evaluation.experiment.strategy_run import Step
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.splitters.specs import LabelledStrategy, from_spec

#: Strategies to compare, as specs for `kinsplit evaluate --strategy`. The first is the baseline.
SPECS = (
    "kinsplit's default=default",
    # The strategies of the registry, with the defaults of the systems that kinsplit replaces.
    *("character", "word", "token", "sentence", "structure", "semantic", "cluster", "hierarchical", "multigranular"),
    "llm, by rules=llm:model=none",
    # At the size of the default, to compare the cuts and not the sizes.
    "token, 160 tokens=token:chunk_size=160,stride=160",
    "structure, 160 tokens=structure:unit=token,chunk_size=160",
    "semantic, 160 tokens=semantic:unit=token,chunk_size=160",
    # Other libraries with their defaults, and with their usual small sizes.
    "LangChain recursive 1000/200=langchain:RecursiveCharacterTextSplitter:chunk_size=1000,chunk_overlap=200",
    "LangChain recursive 200/0=langchain:RecursiveCharacterTextSplitter:chunk_size=200,chunk_overlap=0",
    "LlamaIndex sentence 1024/200=llama-index:SentenceSplitter",
    "LlamaIndex sentence 256/20=llama-index:SentenceSplitter:chunk_size=256,chunk_overlap=20",
    "chonkie recursive 512=chonkie:RecursiveChunker:chunk_size=512",
    "chonkie sentence 160=chonkie:SentenceChunker:chunk_size=160,chunk_overlap=0",
    "semchunk 160=python:peers:semchunk_160",
)
#: Rankers: kinsplit's, and that of a plain vector store.
RANKERS = ("kin", "dense")
BUDGETS = (250, 500, 1000, 2000)
HEADLINE = "recall@1000t"
MEASURES = (*(f"recall@{budget}t" for budget in BUDGETS), "text_precision@5")
#: Maximum number of questions of a set; the intervals show that this is enough.
QUESTIONS = 600

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Measure only sets whose name contains this.")] = "",
    output: Annotated[Path | None, typer.Option(help="Write the page here.")] = None,
    json_folder: Annotated[Path | None, typer.Option("--json", help="Write each set's results here.")] = None,
    cache: Annotated[Path, typer.Option(help="Keeps vectors and outcomes: a stopped run goes on.")] = Path(
        ".benchmark-cache/quality"
    ),
) -> None:
    """Compare strategies on labelled sets, by the labelled text found within a token budget."""
    sets = [sampled(dataset, QUESTIONS) for dataset in labelled_sets() if only in dataset.name]
    if not sets:
        raise typer.BadParameter(f"There is no labelled set below {SHARED_DATA} whose name contains {only!r}.")
    strategies = list(available(SPECS))
    measured = [Measured(one, dict(_results(one, strategies, cache, json_folder))) for one in sets]
    text = page(measured, HEADLINE, BUDGETS, QUESTIONS)
    if output is None:
        console.print(text, markup=False, highlight=False)
    else:
        output.write_text(text, encoding="utf-8")


def available(specs: Iterable[str]) -> Iterable[LabelledStrategy]:
    """Yield the strategies that are installed, and print which are not."""
    for spec in specs:
        try:
            yield from_spec(spec)
        except KinsplitError as error:
            console.print(f"left out: {error}", markup=False)


def _results(
    dataset: Dataset, strategies: Sequence[LabelledStrategy], cache: Path, folder: Path | None
) -> Iterable[tuple[str, Results]]:
    for ranker in RANKERS:
        with console.status("") as status:

            def told(step: Step, ranker: str = ranker) -> None:
                status.update(f"{dataset.name}, {ranker}: {step.label}, {step.stage} {step.done}/{step.total}")

            experiment = Experiment(
                dataset, dict(strategies), ranker=ranker, measures=MEASURES, headline=HEADLINE, cache=cache
            )
            results = experiment.run(told)
        best = max(results.strategies, key=lambda one: one.measures[HEADLINE].mean)
        console.print(f"{dataset.name}, {ranker}: best is {best.label}, {100 * best.measures[HEADLINE].mean:.1f}")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{dataset.name.replace(' ', '-')}-{ranker}.json"
            file.write_text(json.dumps(results.to_json(), ensure_ascii=False), encoding="utf-8")
        yield ranker, results


if __name__ == "__main__":
    app()
