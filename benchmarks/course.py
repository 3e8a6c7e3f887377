"""Course search, compared with one vector for each document: `python benchmarks/course.py`.

The questions are in course_questions.json, with the files of a real course that answer them. For a 10-K filing, with
the questions of another system, filing_questions.json has patterns of the passages that answer them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer
from labelled import COURSE_FOLDERS, read
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit import Index
from kinsplit.chunk import Document
from kinsplit.embedding import create as embedder
from kinsplit.evaluation.significance import compare, estimate
from kinsplit.retrieval import Passage

COURSE, FILING = SHARED_DATA / "course_mit_6.0001", SHARED_DATA / "tesla_10k"
#: Targets: share of hits at rank 1 and among the first 3, reranked in two stages as in the course search that kinsplit
#: replaces; number of answered questions of the filing.
AT_1, AT_3, ANSWERED = 0.90, 1.0, 4
#: Number of questions that were known when the targets were set; the others were written before they were asked.
FIRST = 33
_HERE = Path(__file__).parent

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)

#: Function from a question to the sources of its first results, best first.
Search = Callable[[str], Sequence[str]]


class Ranked(NamedTuple):
    """The rank of the right file for each question, from 1; 0 if it is not among the results."""

    name: str
    ranks: list[int]

    def at(self, k: int, number: int | None = None) -> list[float]:
        """Return 1 for each question, or each of the first ones, whose rank is at most k, and 0 for the others."""
        return [float(0 < rank <= k) for rank in self.ranks[:number]]


@app.command()
def main() -> None:
    """Ask the course's questions and the filing's."""
    if not COURSE.is_dir():
        raise typer.BadParameter(f"There is no course below {SHARED_DATA}.")
    documents = list(read(*(COURSE / folder for folder in COURSE_FOLDERS)))
    questions = json.loads((_HERE / "course_questions.json").read_text(encoding="utf-8"))
    console.print(f"{len(documents)} documents, {len(questions)} questions")
    with Index("memory:") as index:
        index.add(documents)
        systems = {
            "one vector for each document": whole_documents(documents),
            "kinsplit, chunks by cosine alone": lambda text: chunks_alone(index, text),
            "kinsplit": lambda text: [passage.source_id for passage in index.search(text, top_k=3)],
            "kinsplit, reranked twice (late)": lambda text: [
                passage.source_id for passage in index.search(text, top_k=3, rerank="late")
            ],
        }
        rows = [
            Ranked(name, [rank(search(q["question"]), q["files"]) for q in questions])
            for name, search in systems.items()
        ]
    console.print(table(rows))
    for question, found in zip(questions, rows[-1].ranks, strict=True):
        if found != 1:
            console.print(f"rank {found or 'none'}: {question['question']}", markup=False)
    values = {row.name: row.at(1) for row in rows}
    for one in compare("hit@1", rows[0].name, values):
        console.print(f"{one.strategy}: {100 * one.difference.mean:+.0f} points at rank 1, p = {one.p_value:.4f}")
    found = filing() if FILING.is_dir() else None
    verdict(rows[-1], found)


def whole_documents(documents: Sequence[Document]) -> Search:
    """Return a search without chunks: one vector for each document, the mean of its windows."""
    model = embedder("bundled")
    vectors = model.embed([document.text for document in documents])

    def search(text: str) -> list[str]:
        order = np.argsort(-(vectors @ model.embed_query(text)), kind="stable")
        return [documents[position].id for position in order[:3]]

    return search


def chunks_alone(index: Index, text: str) -> list[str]:
    """Return the distinct sources of the nearest chunks."""
    from kinsplit.retrieval import SearchQuestion
    from kinsplit.stores import Query

    question = SearchQuestion(index.embedder.embed_query(text), index.bm25.embed_query(text))
    (found,) = index.store.rank([Query("dense", question.dense, 50)])
    return list(dict.fromkeys(entry.source_id for entry, _ in found))[:3]


def rank(found: Sequence[str], wanted: Sequence[str]) -> int:
    return next((position for position, source in enumerate(found, 1) if source in wanted), 0)


def table(rows: Sequence[Ranked]) -> Table:
    shown = Table("search", "hit@1", "95 %", "hit@3", "95 %", title="The right file")
    for row in rows:
        cells = []
        for k in (1, 3):
            own = estimate(row.at(k))
            cells += [f"{100 * own.mean:.0f} %", f"{100 * own.low:.0f} to {100 * own.high:.0f}"]
        shown.add_row(row.name, *cells)
    return shown


def filing() -> list[int]:
    """Return the rank of the first passage that answers each question about the filing; 0 for none of three."""
    queries = json.loads((FILING / "seed" / "queries.json").read_text(encoding="utf-8"))["queries"]
    wanted = {row["id"]: row["evidence"] for row in json.loads((_HERE / "filing_questions.json").read_text())}
    with Index("memory:") as index:
        index.add(FILING / "fy2024" / "tsla-20241231-gen.pdf")
        found = [answered(index.search(query["question"], top_k=3), wanted[query["id"]]) for query in queries]
    shown = Table("question", "rank of the passage", title="10-K filing of the fiscal year 2024")
    for query, position in zip(queries, found, strict=True):
        shown.add_row(query["question"][:100], str(position or "none"))
    console.print(shown)
    return found


def answered(passages: Sequence[Passage], evidence: Sequence[str]) -> int:
    texts = [" ".join(passage.text.split()) for passage in passages]
    return next((n for n, text in enumerate(texts, 1) if any(re.search(e, text) for e in evidence)), 0)


def verdict(own: Ranked, found: list[int] | None) -> None:
    outcomes = [
        (f"hit@{k} of {number or 'all'} questions >= {least}", float(np.mean(own.at(k, number))), least)
        for number in (FIRST, None)
        for k, least in ((1, AT_1), (3, AT_3))
    ]
    if found is not None:
        outcomes.append((f"filing: >= {ANSWERED} answered", float(sum(map(bool, found))), ANSWERED))
    shown = Table("wanted", "measured", "met", title="Against what is wanted")
    for wanted, measured, least in outcomes:
        shown.add_row(wanted, f"{measured:.2f}", "[green]yes[/]" if measured >= least else "[red]no[/]")
    console.print(shown)


if __name__ == "__main__":
    app()
