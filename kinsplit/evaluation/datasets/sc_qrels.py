"""The annotations of SC-Qrels: spans of normalised documents, combined by AND and OR.

```
documents/*.json     {"docid": "a", "title": "...", "text": "..."}
questions*.json      [{"qid": "q1", "question": "...", "docid": "a"}, ...]
annotations*.json    [{"qid": "q1", "docid": "a", "start": 0, "end": 5, "text": "...", "logic": "AND", "group": "g1"}]
```

Offsets refer to the text after SC-Qrels' normalisation (`kinsplit.evaluation.datasets.normalised`); the labels
of the dataset refer to the stored documents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kinsplit.errors import LoadError
from kinsplit.evaluation.datasets import verification
from kinsplit.evaluation.datasets.format import (
    DatasetFormat,
    FileRow,
    Given,
    Problems,
    load_documents,
    object_row,
    read_json,
    rows_file,
)
from kinsplit.evaluation.datasets.normalised import Normalised, normalise, with_places
from kinsplit.evaluation.datasets.verification import StatedQuestion
from kinsplit.evaluation.labels import Dataset, Place, Question


def _fields(path: Path) -> frozenset[str]:
    value = read_json(path) if path.suffix.lower() == ".json" and path.is_file() else None
    return frozenset(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else frozenset()


def _find(given: Given) -> Given | None:
    files = given.questions
    if not files and len(given.documents) == 1:
        folder = given.documents[0]
        files = (*sorted(folder.glob("annotations*.json")), *sorted(folder.glob("questions*.json")))
    fields = {file: _fields(file) for file in files}
    marked = [file for file in files if {"qid", "start", "end"} <= fields[file]]
    asked = [file for file in files if {"qid", "question"} <= fields[file]]
    if not marked or len(marked) + len(asked) != len(files):
        return None
    if len(marked) > 1:
        several = ", ".join(file.name for file in marked)
        raise LoadError(marked[0], f"is one of several files of annotations ({several}). Name one, with its questions.")
    asked = asked or sorted(marked[0].parent.glob("questions*.json"))
    if not asked:
        raise LoadError(marked[0], "has no questions*.json beside it. Name the file with the questions too.")
    return Given(given.documents_in("documents"), (marked[0], *asked))


def _read(given: Given, name: str) -> Dataset:
    files = [file for path in given.documents for file in (_json_files(path) or [path])]
    dataset = load_documents(files, given.questions, name)
    questions = _rows(given.questions[1:])
    problems = Problems(given.questions[0])
    stated = _stated(questions, _rows(given.questions[:1]), problems)
    normalised = {document.id: normalise(document.text) for document in dataset.documents}
    plainer = tuple(replace(document, text=normalised[document.id].text) for document in dataset.documents)
    before = problems.count
    try:
        found = verification.verified(stated, replace(dataset, documents=plainer), problems)
    except LoadError:
        if not before:
            with suppress(LoadError):  # The annotations may have been made on the texts as they are stored.
                return replace(dataset, questions=verification.verified(stated, dataset, Problems(given.questions[0])))
        raise
    return replace(dataset, questions=tuple(_to_source(question, normalised) for question in found))


def _stated(questions: list[FileRow], annotations: list[FileRow], problems: Problems) -> list[StatedQuestion]:
    marks: dict[object, list[verification.AnnotatedSpan]] = defaultdict(list)
    known = {str(row.value.get("qid")) for row in questions}
    for row in annotations:
        value = row.value
        qid, logic = str(value.get("qid")), value.get("logic", verification.ALONE)
        if qid not in known:
            problems.add(row, qid, "qid", "must be that of a question", qid, "Add the question, or drop the row.")
        elif logic not in verification.LOGIC:
            rule = f"must be one of {', '.join(verification.LOGIC)}"
            problems.add(row, qid, "logic", rule, logic, "Take one of them.")
        else:
            span = (value.get("start"), value.get("end"))
            place = verification.StatedPlace("start, end or text", value.get("docid"), span, value.get("text"), row)
            marks[qid].append(verification.AnnotatedSpan([place], logic, str(value.get("group") or "g1")))
    labels = ((row, row.value.get("qid"), verification.labels_of(marks[row.value.get("qid")])) for row in questions)
    return [StatedQuestion(row, qid, row.value.get("question"), own, field="question") for row, qid, own in labels]


def _to_source(question: Question, normalised: dict[str, Normalised]) -> Question:
    def moved(place: Place) -> Place:
        assert place.span is not None, "an annotation has a span"  # noqa: S101
        return place._replace(span=normalised[place.source_id].to_source(place.span))

    return with_places(question, moved)


def _json_files(path: Path) -> list[Path]:
    return sorted(path.glob("*.json")) if path.is_dir() and rows_file(path) is None else []


def _rows(paths: Sequence[Path]) -> list[FileRow]:
    values = ((path, number, value) for path in paths for number, value in enumerate(read_json(path), 1))
    return [object_row(path, f"row {number}", value) for path, number, value in values]


_SHAPE = "annotations*.json, questions*.json and a folder documents of JSON files"
FORMAT = DatasetFormat("sc-qrels", _SHAPE, _find, _read)
