"""Three courses in one collection, as students ask them: `python benchmarks/courses.py`.

The 60 questions of courses_questions.json were written before anything was measured: acronyms, vague ones in other
words than the text, ones that name a course (and the same without its name), ones on what two courses share, and ones
without an answer. Each quotes the places of its answer. course_statistics was written for this; the other two courses
are the sample course and a real one.

`--others` prints the errors of the verdict on other collections instead, each asked its own questions and those of the
others.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from labelled import labelled_sets, read, sampled, vague_sets
from rich.console import Console
from rich.table import Table
from texts import ROOT, SHARED_DATA

from kinsplit import Document, Index
from kinsplit.spans import Span, overlap

#: Folders of the courses, and the names that a `course.toml` would give them.
COURSES = {
    SHARED_DATA / "course_mit_6.0001": {
        "course": "6.0001",
        "course_title": "Introduction to Computer Science and Programming in Python",
    },
    ROOT / "examples" / "course": {"course": "Introduction to Programming"},
    ROOT / "benchmarks" / "course_statistics": {},
}
RANKINGS = ("kin", "dense", "hybrid")
#: Kind of the questions without an answer, and of those that name a course.
UNANSWERED, NAMED = "unanswered", "named"

#: Other collections by the sets with their questions, and how many questions of each are asked of it and of the others.
OTHERS = {
    "sample course": ("vague course",),
    "articles of Wikipedia on AI": ("vague wikipedia_ai",),
    "Alice in Wonderland": ("alice", "vague alice"),
    "privacy policies": ("privacy_qa",),
    "German articles": ("xquad de",),
}
OWN, STRANGE = 60, 20

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)


@app.command()
def main(others: bool = typer.Option(default=False, help="Errors of the verdict on other collections.")) -> None:
    """Print how many questions of each kind have their answer in the first hit, and the errors of the verdict."""
    if others:
        console.print(other_verdicts())
        return
    documents = {document.id: document for document in courses()}
    questions = json.loads(Path(__file__).with_name("courses_questions.json").read_text(encoding="utf-8"))
    with Index("memory:") as index:
        index.add(documents.values())
        console.print(f"{len(documents)} documents, {index.count()} chunks, {len(questions)} questions")
        console.print(first_hits(index, documents, questions))
        console.print(verdicts(index, questions))


def courses() -> Iterator[Document]:
    """Yield the documents of all courses."""
    if not all(folder.is_dir() for folder in COURSES):
        raise typer.BadParameter(f"There is no course below {SHARED_DATA}.")
    for folder, names in COURSES.items():
        for document in read(folder):
            if not document.id.endswith("SOURCE.md"):  # Says where the files are from, and is no part of the course.
                yield replace(document, metadata={**document.metadata, **names})


def verdicts(index: Index, questions: list[dict[str, Any]]) -> Table:
    """Return a table of the errors of the verdict on questions with and without an answer."""
    table = Table("questions", "number", "wrong", title="Verdict: is a passage close?")
    for name, wanted in (("with an answer", True), ("without", False)):
        rows = [row for row in questions if (row["kind"] != UNANSWERED) is wanted]
        wrong = [row["question"] for row in rows if index.search(row["question"]).is_close is not wanted]
        table.add_row(name, str(len(rows)), str(len(wrong)))
        for question in wrong:
            console.print(f"wrong verdict: {question}", markup=False)
    return table


def other_verdicts() -> Table:
    """Return a table of the errors of the verdict on other collections."""
    known = {dataset.name: sampled(dataset, OWN) for dataset in (*vague_sets(), *labelled_sets())}
    table = Table("collection", "with an answer", "wrong", "without", "wrong", title="Verdict on other collections")
    for name, sets in OTHERS.items():
        strange = [known[other] for others in OTHERS.values() if others != sets for other in others]
        asked = {
            True: [question.text for own in sets for question in known[own].questions],
            False: [question.text for other in strange for question in other.questions[:STRANGE]],
        }
        with Index("memory:") as index:
            index.add(known[sets[0]].documents)
            wrong = {wanted: sum(index.search(q).is_close is not wanted for q in asked[wanted]) for wanted in asked}
        table.add_row(name, *(str(each) for wanted in asked for each in (len(asked[wanted]), wrong[wanted])))
    return table


def first_hits(index: Index, documents: Mapping[str, Document], questions: list[dict[str, Any]]) -> Table:
    """Return a table of the questions whose first hit overlaps a place of the answer, by kind and ranking."""
    table = Table("kind", "questions", *RANKINGS, title="Answer in the first hit")
    kinds = {row["kind"]: [other for other in questions if other["kind"] == row["kind"]] for row in questions}
    del kinds[UNANSWERED]
    plain = [{**row, "question": row["plain"]} for row in kinds[NAMED]]
    for kind, rows in {**kinds, f"{NAMED}, without the name": plain}.items():
        found = [sum(is_first(index, documents, row, ranking) for row in rows) for ranking in RANKINGS]
        table.add_row(kind, str(len(rows)), *map(str, found))
    return table


def is_first(index: Index, documents: Mapping[str, Document], row: Mapping[str, Any], ranking: str) -> bool:
    """Return whether the first hit of a question overlaps a place that answers it; a miss is printed."""
    hit = index.search(row["question"], top_k=1, ranking=ranking)[0].best.chunk
    places = [
        place["document"] == hit.source_id and overlap(hit.spans, [_span(documents, place)]) > 0
        for place in row["places"]
    ]
    if not any(places) and ranking == RANKINGS[0]:
        console.print(f"missed: {row['question']} {hit.source_id} {hit.text[:60]!r}", markup=False)
    return any(places)


def _span(documents: Mapping[str, Document], place: Mapping[str, str]) -> Span:
    """Return the place of a quotation, which its document has once; ValueError if not."""
    quotation = r"\s+".join(map(re.escape, place["quotation"].split()))
    (match,) = re.finditer(quotation, documents[place["document"]].text)
    return Span(*match.span())


if __name__ == "__main__":
    app()
