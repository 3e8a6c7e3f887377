"""Processor time of a search beside what it can't do without: `python benchmarks/search_cost.py [--characters N]`.

Each question goes in turn to the model alone, to the engine alone (the best 100 chunks by cosine and by words, without
payloads) and to `Index.search`, so that other load on the machine affects all alike. The time is that of all threads of
this process, and the median of several rounds.

With a number of characters, a made corpus of that size is indexed as well, by vectors of words that take no time. The
time of the bundled model's vector is added to that of its searches.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated

import qdrant_edge as qe
import scale_corpus
import typer
from scale_steps import WordVectors

from kinsplit import Index
from kinsplit.embedding import Embedder, create
from kinsplit.retrieval import SearchQuestion
from kinsplit.stores.engines.edge.points import to_request
from kinsplit.stores.engines.edge.store import EdgeStore

EXAMPLES = Path(__file__).parents[1] / "examples"
#: Largest ratios that are wanted: of a small collection's search to the vector, and of a large one's to both.
SMALL, LARGE = 2.0, 1.5
#: Chunks to take from each of the engine's own rankings.
_POOL = 100
#: Searches before any is measured, and chunks for each further one: then the collection is copied into memory.
_BEFORE, _PER_SEARCH = 150, 20


def main(
    characters: Annotated[int, typer.Option(help="Size of a made corpus; 26,700,000 make 57,000 chunks.")] = 0,
    rounds: Annotated[int, typer.Option(min=1, help="Number of times that each question is asked.")] = 5,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the ratios to this file.")] = None,
) -> None:
    """Print the ratios of the sample course's searches, and of a made corpus."""
    print(f"{'':28}{'chunks':>8}{'vector':>10}{'engine':>10}{'search':>10}{'/ vector':>10}{'/ both':>10}   ms")
    ratios = {"course": of_course(rounds)}
    if characters:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder, "corpus")
            scale_corpus.write(corpus, characters)
            questions = [asked.text for asked in scale_corpus.questions(corpus, 40)]
            ratios["corpus"] = measure(corpus, create("bundled"), WordVectors(), questions, rounds)
    print(f"\nwanted: course / vector {SMALL}" + f", corpus / both {LARGE}" * bool(characters))
    if json_file:
        json_file.write_text(json.dumps(ratios, indent=2) + "\n", encoding="utf-8")


def of_course(rounds: int) -> dict[str, float]:
    """Return the ratios of searches in the sample course; see `measure`."""
    rows = json.loads((EXAMPLES / "course_questions.json").read_text("utf-8"))
    model = create("bundled")
    return measure(EXAMPLES / "course", model, model, [row["question"] for row in rows], rounds)


def measure(
    source: Path, model: Embedder, embedder: Embedder, questions: Sequence[str], rounds: int
) -> dict[str, float]:
    """Index a folder, print the times of one search in it, and return their ratios."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Index(f"edge:{folder}", collection=source.name, embedder=embedder) as index,
    ):
        index.add(source)

        def rank(question: str) -> None:
            asked = SearchQuestion.of(question, embedder.embed_query(question), index.bm25)
            requests = [to_request(asked.by_meaning(0, _POOL)), to_request(asked.by_terms(0, _POOL))]
            assert isinstance(index.store, EdgeStore)
            with index.store._engine() as shard:
                shard.query_batch(qe.QueryBatchRequest(requests))

        tasks: list[Callable[[str], object]] = [model.embed_query, embedder.embed_query, rank, index.search]
        for question in islice(cycle(questions), _BEFORE + index.count() // _PER_SEARCH):
            index.search(question)
        for thread in threading.enumerate():
            if thread.name == "kinsplit-copy":
                thread.join()
        times = [[[_seconds(task, question) for task in tasks] for _ in range(rounds)] for question in questions]
        medians = [[statistics.median(task) for task in zip(*of_question, strict=True)] for of_question in times]
        vector, own, ranked, searched = (statistics.mean(column) * 1e3 for column in zip(*medians, strict=True))
        engine, search = ranked - own, searched - own + vector
        print(
            f"{source.name:28}{index.count():8,}{vector:10.2f}{engine:10.2f}{search:10.2f}"
            f"{search / vector:10.2f}{search / (vector + engine):10.2f}",
            flush=True,
        )
    return {"search / vector": search / vector, "search / (vector + engine)": search / (vector + engine)}


def _seconds(task: Callable[[str], object], question: str) -> float:
    begun = time.process_time()
    task(question)
    return time.process_time() - begun


if __name__ == "__main__":
    typer.run(main)
