"""Late interaction after kin scoring, with several weights of the earlier score: `python benchmarks/reranking.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit.chunk import Chunk, embedded_text
from kinsplit.embedding import create as embedder
from kinsplit.evaluation import Experiment
from kinsplit.evaluation.datasets import load
from kinsplit.evaluation.measures.protocol import Outcome
from kinsplit.evaluation.significance import estimate
from kinsplit.parsers import default_strategy
from kinsplit.retrieval import ItemReader, LateInteractionReranker, rerank

#: Number of reranked chunks, as in the course search that kinsplit replaces.
CANDIDATES = 30
SETS = ("alice", "chroma/wikitexts", "legalbench_rag/privacy_qa")
MEASURES = ("recall@250t", "recall@1000t", "text_recall@1", "text_recall@3")
#: Weights of the earlier score; 0 is late interaction alone.
WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0)

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 120)

#: A chunk and its score.
Item = tuple[Chunk, float]
READING = ItemReader[Item](
    lambda item: embedded_text(item[0]), lambda item: item[1], lambda item, score: (item[0], score)
)


class Remembering:
    """An embedder that keeps the token vectors of texts, so that none is embedded twice."""

    def __init__(self) -> None:
        self._model = embedder("bundled")
        self._known: dict[str, NDArray[np.float16]] = {}

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, (v.astype(np.float16) for v in self._model.embed_tokens(new)), strict=True))
        return [self._known[text].astype(np.float32) for text in texts]


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Measure only sets whose name contains this.")] = "",
    cache: Annotated[Path, typer.Option(help="Folder that keeps what kin scoring found.")] = Path(".benchmark-cache"),
) -> None:
    """Rerank the first 30 chunks of kin scoring."""
    for name in SETS:
        if only in name and (SHARED_DATA / name).is_dir():
            console.print(table(name, cache))


def table(name: str, cache: Path) -> Table:
    dataset = load(SHARED_DATA / name, format="kinsplit")
    experiment = Experiment(dataset, {"kinsplit": default_strategy()}, measures=MEASURES, cache=cache)
    ((_, evidence),) = experiment.evidence()
    model = Remembering()
    shown = Table("ranking", *MEASURES, title=f"{name}: {len(dataset.questions)} questions, %")
    ways = {"kin": list(evidence.outcomes)}
    for weight in WEIGHTS:
        reranker = LateInteractionReranker(model, earlier=weight)
        label = f"late, earlier score times {weight:g}" if weight else "late alone"
        ways[label] = [reranked(outcome, reranker) for outcome in evidence.outcomes]
    for label, outcomes in ways.items():
        cells = []
        for measure in experiment.setup.measures:
            values = [measure.score(outcome, evidence.profile.chunking) for outcome in outcomes]
            own = estimate([value for value in values if value is not None])
            cells.append(f"{100 * own.mean:.1f} [{100 * own.low:.1f}, {100 * own.high:.1f}]")
        shown.add_row(label, *cells)
    return shown


def reranked(outcome: Outcome, reranker: LateInteractionReranker) -> Outcome:
    items = list(zip(outcome.ranking, outcome.scores, strict=True))
    best = rerank(reranker, outcome.question.text, items[:CANDIDATES], READING)
    ranking = [chunk for chunk, _ in (*best, *items[CANDIDATES:])]
    return replace(outcome, ranking=ranking, scores=list(falling(len(ranking))))


def falling(number: int) -> Iterator[float]:
    """Yield descending scores for a ranking; measures only use their order."""
    return (float(-rank) for rank in range(number))


if __name__ == "__main__":
    app()
