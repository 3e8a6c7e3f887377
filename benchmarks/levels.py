"""Share of the labelled text that a search finds on leaves and on all levels at once: `python benchmarks/levels.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from labelled import labelled_sets
from numpy.typing import NDArray
from texts import SHARED_DATA

from kinsplit import Index, Passage
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.significance import estimate
from kinsplit.spans import overlap, unite

BUDGETS = (250, 500, 1000, 2000)
STRATEGIES = ("hierarchical", "multigranular")
SETS = ("alice", "chroma")

app = typer.Typer(add_completion=False)


@app.command()
def main(
    data: Annotated[Path, typer.Option(help="Folder of the labelled sets.")] = SHARED_DATA,
    only: Annotated[list[str] | None, typer.Option(help="Name of a set; repeatable.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder that keeps vectors between runs.")] = None,
) -> None:
    """Print recall (%) within each budget on leaves, and what all levels add in points, with 95 % intervals."""
    print("| set | strategy | search |", " | ".join(f"{budget:,} tokens" for budget in BUDGETS), "|")
    print("|---|---|---|", "---:|" * len(BUDGETS))
    for dataset in labelled_sets(data):
        if dataset.name not in (only or SETS):
            continue
        questions = [question for question in dataset.questions if question.labels]
        for strategy in STRATEGIES:
            with Index("memory:", strategy=strategy, vector_cache=cache or False) as index:
                index.add(dataset.documents)
                leaves = _shares(index, questions, 0)
                difference = _shares(index, questions, "all") - leaves
            print(f"| {dataset.name} | {strategy} | leaves |", " | ".join(f"{m:.1f}" for m in leaves.mean(axis=0)), "|")
            found = [estimate(column.tolist()) for column in difference.T]
            added = (f"{each.mean:+.1f} ({each.low:+.1f} to {each.high:+.1f})" for each in found)
            print("| | | all levels |", " | ".join(added), "|", flush=True)


def _shares(index: Index, questions: Sequence[Question], level: Literal[0, "all"]) -> NDArray[np.float64]:
    """Return the share (%) of each question's labelled text in the passages, shape (questions, budgets)."""
    return np.array(
        [
            [_share(index.search(question.text, level=level, budget=budget), question) for budget in BUDGETS]
            for question in questions
        ]
    )


def _share(passages: Sequence[Passage], question: Question) -> float:
    """Return the share (%) of a question's labelled text in passages; of a text with several places the best one."""
    found = total = 0
    for label in question.labels:
        best = 0
        for place in label.places:
            found_there = [passage for passage in passages if passage.source_id == place.source_id]
            spans = unite(span for passage in found_there for span in passage.spans)
            best = max(best, overlap([place.span], spans) if place.span else 0)
        found += best
        total += max(place.span.end - place.span.start for place in label.places if place.span)
    return 100 * found / total


if __name__ == "__main__":
    app()
