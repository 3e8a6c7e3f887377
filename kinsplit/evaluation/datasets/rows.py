"""kinsplit's own format: rows with a question and the spans that answer it.

```
docs.jsonl     {"docid": "a", "title": "optional", "text": "..."}
queries.jsonl  {"query_id": "q1", "query": "...", "docid": "a", "spans": [[0, 5], [9, 12]], "answers": ["...", "..."]}
```

The documents may also be any files that kinsplit.loaders reads; `docid` is then the id that the loader assigns.

And questions without labels, as `rag_eval` and the 10-K project write them, about any documents.

```
queries.json   ["What is a loop?", ...]   or   {"queries": [{"id": "1", "question": "..."}, ...]}
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kinsplit.chunk import Document
from kinsplit.evaluation.datasets import verification
from kinsplit.evaluation.datasets.format import (
    DatasetFormat,
    FileRow,
    Given,
    Problems,
    first_line,
    lines,
    load_documents,
    object_row,
    read_json,
    rows_file,
)
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.spans import Span

_FILE = "queries.jsonl"
_IDS, _TEXTS = ("query_id", "id", "qid"), ("query", "question")


def stated_question(row: FileRow, number: int, problems: Problems) -> verification.StatedQuestion:
    """Parse a row into a question, with its number as the id where it has none."""
    value = row.value
    id_ = next((value[key] for key in _IDS if key in value), f"q{number:04}")
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = str(id_)
    field = next((key for key in _TEXTS if key in value), _TEXTS[0])
    labels = verification.labels_of(_Marks(row, id_, problems).read())
    return verification.StatedQuestion(row, id_, value.get(field), labels, value.get("answer") or "", field)


def to_row(question: Question, sources: Mapping[str, Document]) -> dict[str, Any]:
    """Return the row of a question whose labels are spans of grade 1."""
    placed = [[(place.source_id, place.span) for place in label.places if place.span] for label in question.labels]
    docid = placed[0][0][0] if placed else None

    def written(source_id: str, span: Span) -> list[Any]:
        return [*span] if source_id == docid else [source_id, *span]

    row: dict[str, Any] = {"query_id": question.id, "query": question.text}
    if question.answer:
        row["answer"] = question.answer
    if placed:
        firsts = [places[0] for places in placed]
        row |= {
            "docid": docid,
            "spans": [written(*first) for first in firsts],
            "answers": [sources[source_id].text[span.start : span.end] for source_id, span in firsts],
        }
    if any(len(places) > 1 for places in placed):
        row["occurrences"] = [[written(*place) for place in places] for places in placed]
    if any(label.group for label in question.labels):
        row["logic"] = [verification.TOGETHER if label.group else verification.ALONE for label in question.labels]
        row["groups"] = [label.group for label in question.labels]
    return row


class _Marks:
    def __init__(self, row: FileRow, id_: object, problems: Problems) -> None:
        self._row, self._id, self._problems = row, id_, problems

    def read(self) -> list[verification.AnnotatedSpan]:
        spans = self._list("spans", None)
        if not spans:
            return []
        answers = self._list("answers", len(spans)) or [None] * len(spans)
        copies = self._list("occurrences", len(spans)) or [()] * len(spans)
        groups = self._list("groups", len(spans)) or [""] * len(spans)
        logic = self._list("logic", len(spans)) or [self._match()] * len(spans)
        marks = []
        for i, span in enumerate(spans):
            if logic[i] not in verification.LOGIC:
                self._wrong(f"logic[{i}]", f"must be one of {', '.join(verification.LOGIC)}", logic[i])
                continue
            if not isinstance(groups[i], str):
                self._wrong(f"groups[{i}]", "must be a string", groups[i])
                continue
            if not isinstance(copies[i], list | tuple):
                self._wrong(f"occurrences[{i}]", "must be a list of spans", copies[i])
                continue
            places = [self._place(f"spans[{i}]", span, answers[i])]
            places += [self._place(f"occurrences[{i}][{j}]", copy, None) for j, copy in enumerate(copies[i])]
            # Marks that answer together need a group name even if the row gives none.
            group = groups[i] or ("" if logic[i] == verification.ALONE else "g1")
            marks.append(verification.AnnotatedSpan([place for place in places if place is not None], logic[i], group))
        return [mark for mark in marks if mark.places]

    def _match(self) -> str:
        match = self._row.value.get("match", "all")
        if match not in ("all", "any"):
            self._wrong("match", "must be 'all' or 'any'", match)
        return verification.INSTEAD if match == "any" else verification.ALONE

    def _place(self, field: str, span: object, text: object) -> verification.StatedPlace | None:
        if not isinstance(span, list) or len(span) not in (2, 3):
            self._wrong(field, "must be [start, end] or [docid, start, end]", span)
            return None
        source_id, start, end = (self._row.value.get("docid"), *span)[-3:]
        return verification.StatedPlace(field, source_id, (start, end), text)

    def _list(self, field: str, length: int | None) -> list[Any]:
        value = self._row.value.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            self._wrong(field, "must be a list", value)
            return []
        if length is not None and len(value) != length:
            self._wrong(field, f"must have one entry for each of the {length} spans", value)
            return []
        return value

    def _wrong(self, field: str, rule: str, value: object) -> None:
        self._problems.add(self._row, self._id, field, rule, value, "See docs/datasets.md for the shape of rows.")


def _is_own(path: Path) -> bool:
    if path.suffix.lower() != ".jsonl" or not path.is_file():
        return False
    row = first_line(path)
    return row is None or any(key in row.value for key in _TEXTS)


def _find(given: Given) -> Given | None:
    if not given.questions and not all(path.is_dir() for path in given.documents):
        return None
    questions = given.questions or tuple(path / _FILE for path in given.documents)
    if not all(_is_own(path) for path in questions):
        return None
    return Given(tuple(rows_file(path) or path for path in given.documents), questions)


def _read(rows_of: Callable[[Path], Iterable[FileRow]], given: Given, name: str) -> Dataset:
    dataset = load_documents(given.documents, given.questions, name)
    problems = Problems(given.questions[0])
    rows = [row for path in given.questions for row in rows_of(path)]
    stated = [stated_question(row, number, problems) for number, row in enumerate(rows, 1)]
    return replace(dataset, questions=verification.verified(stated, dataset, problems))


_SHAPE = "documents, or a docs.jsonl, and a queries.jsonl whose rows have query, docid and spans"
FORMAT = DatasetFormat("kinsplit", _SHAPE, _find, partial(_read, lines))


_LIST = "queries.json"
#: Folder next to the file, where rag_eval looks for the documents.
_DOCUMENTS = "docs"


def _entries(value: Any) -> list[Any] | None:
    """Return the questions of a file, or None if it has another format."""
    entries = value.get("queries") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        return None
    first = next(iter(entries), "")
    named = isinstance(first, dict) and ("query" in first or "question" in first)
    return entries if named or isinstance(first, str) else None


def _is_plain(path: Path) -> bool:
    return path.suffix.lower() == ".json" and path.is_file() and _entries(read_json(path)) is not None


def _find_list(given: Given) -> Given | None:
    questions = given.questions or tuple(path / _LIST for path in given.documents if path.is_dir())
    if not questions or not all(_is_plain(path) for path in questions):
        return None
    return given if given.questions else Given(given.documents_in(_DOCUMENTS), questions)


def _listed(path: Path) -> Iterator[FileRow]:
    for number, entry in enumerate(_entries(read_json(path)) or (), 1):
        yield object_row(path, f"entry {number}", {"query": entry} if isinstance(entry, str) else entry)


_LIST_SHAPE = 'documents, and a queries.json with a list of questions or {"queries": [...]}'
LIST_FORMAT = DatasetFormat("queries", _LIST_SHAPE, _find_list, partial(_read, _listed))
