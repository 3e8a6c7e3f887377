"""Rerankers after kin scoring, in both stages of a search: `python benchmarks/reranking.py`.

`late` is measured with several numbers of characters to read, and without the earlier score. `--rerank
cross-encoder:FOLDER` adds a cross-encoder: no package of the index has one's weights inside (November 2026).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from course import COURSE, FOLDERS, read
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit import Index
from kinsplit.chunk import Document
from kinsplit.embedding import create as embedder
from kinsplit.evaluation.datasets import load
from kinsplit.evaluation.labels import Place
from kinsplit.evaluation.significance import estimate
from kinsplit.options import Reranker
from kinsplit.retrieval import LateInteractionReranker, Passage

SETS = ("alice", "chroma/wikitexts", "legalbench_rag/privacy_qa")
#: Number of passages, and of questions that are timed.
TOP_K, TIMED = 5, 10
#: Options of late interaction, by row.
LATE: dict[str, dict[str, float]] = {
    "late?characters=3000": {"characters": 3000},
    "late?characters=6000": {"characters": 6000},
    "late?characters=12000": {"characters": 12_000},
    "late": {},
    "late alone": {"earlier": 0.0},
}

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)


class Asked(NamedTuple):
    """A question, and the places that answer each of its labels; a place without a span is a whole document."""

    text: str
    labels: Sequence[Sequence[Place]]


class Remembering:
    """An embedder that keeps the token vectors of texts, so that the rows of a table embed each text once."""

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
    questions: Annotated[int, typer.Option(help="Number of questions of each labelled set, drawn at random.")] = 50,
    rerank: Annotated[list[str] | None, typer.Option(help="Further reranker to measure.")] = None,
) -> None:
    """Search with each reranker, and without one."""
    for name, documents, asked in sets(only):
        drawn = np.random.default_rng(0).permutation(len(asked))[:questions] if name in SETS else range(len(asked))
        with Index("memory:") as index:
            index.add(documents)
            chosen = [asked[number] for number in sorted(drawn)]
            console.print(table(f"{name}: {len(chosen)} questions", index, chosen, rerank or []))


def sets(only: str) -> Iterator[tuple[str, Sequence[Document], Sequence[Asked]]]:
    """Yield the name, the documents and the questions of each set; of the course, any file that answers counts."""
    if COURSE.is_dir() and only in "course":
        rows = json.loads(Path(__file__).with_name("course_questions.json").read_text(encoding="utf-8"))
        yield "course", read(COURSE, FOLDERS), [Asked(q["question"], [[Place(f) for f in q["files"]]]) for q in rows]
    for name in SETS:
        if only in name and (SHARED_DATA / name).is_dir():
            dataset = load(SHARED_DATA / name, format="kinsplit")
            asked = [Asked(q.text, [label.places for label in q.labels]) for q in dataset.questions if q.labels]
            yield name, dataset.documents, asked


def table(title: str, index: Index, asked: Sequence[Asked], more: Sequence[str]) -> Table:
    columns = ("MRR, %", "recall@1, %", f"recall@{TOP_K}, %", "processor, ms", "asked again", "wall, ms", "asked again")
    shown = Table("reranker", *columns, title=title)
    index.search(asked[0].text, rerank="late")  # Load everything.
    model = Remembering()
    rows: dict[str, tuple[str | Reranker, Callable[[], str | Reranker]]] = {"none": ("none", lambda: "none")}
    for label, options in LATE.items():
        fresh = lambda options=options: LateInteractionReranker(index.embedder, **options)  # type: ignore[misc]  # noqa: E731
        rows[label] = (LateInteractionReranker(model, **options), fresh)
    rows |= {name: (name, lambda name=name: name) for name in more}  # type: ignore[misc]
    for label, (reranker, fresh) in rows.items():
        judged = np.array([judge(index.search(q.text, top_k=TOP_K, rerank=reranker), q.labels) for q in asked])
        cells = [estimate(list(values)) for values in 100 * judged.T]
        times = np.mean([timed(index, q.text, fresh()) for q in asked[:TIMED]], axis=0)
        quality = (f"{own.mean:.1f} [{own.low:.1f}, {own.high:.1f}]" for own in cells)
        shown.add_row(label, *quality, *(f"{1000 * one:.0f}" for one in times))
        print(label, file=sys.stderr)
    return shown


def judge(passages: Sequence[Passage], labels: Sequence[Sequence[Place]]) -> tuple[float, float, float]:
    """Return the reciprocal rank of the first passage with a labelled place, and the labels found in one and in all."""
    found = [{n for n, places in enumerate(labels) if any(within(passage, p) for p in places)} for passage in passages]
    rank = next((1 / number for number, own in enumerate(found, 1) if own), 0.0)
    return rank, len(found[0]) / len(labels), len(set().union(*found)) / len(labels)


def within(passage: Passage, place: Place) -> bool:
    """Return whether a passage overlaps a place."""
    span = place.span or (passage.start, passage.end)
    return passage.source_id == place.source_id and passage.start < span[1] and span[0] < passage.end


def timed(index: Index, text: str, reranker: str | Reranker) -> tuple[float, float, float, float]:
    """Return the processor's time and the wall's of a search, each for candidates that are new and for known ones."""
    times = []
    for _ in range(2):
        wall, processor = time.perf_counter(), time.process_time()
        index.search(text, top_k=TOP_K, rerank=reranker)
        times.append((time.process_time() - processor, time.perf_counter() - wall))
    (new, new_wall), (again, again_wall) = times
    return new, again, new_wall, again_wall


if __name__ == "__main__":
    app()
