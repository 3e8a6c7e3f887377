"""Questions without labels, as `rag_eval` and the 10-K project write them, about any documents.

```
queries.json   ["What is a loop?", ...]   or   {"queries": [{"id": "1", "question": "..."}, ...]}
```
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kinsplit.evaluation.datasets import rows
from kinsplit.evaluation.datasets.files import FileRow, Problems, object_row, read_json
from kinsplit.evaluation.datasets.format import DatasetFormat, Given, load_documents
from kinsplit.evaluation.datasets.verification import verified
from kinsplit.evaluation.labels import Dataset

_FILE = "queries.json"
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


def _find(given: Given) -> Given | None:
    questions = given.questions or tuple(path / _FILE for path in given.documents if path.is_dir())
    if not questions or not all(_is_plain(path) for path in questions):
        return None
    if given.questions:
        return given
    inside = (path / _DOCUMENTS for path in given.documents)
    return Given(tuple(a if a.is_dir() else b for a, b in zip(inside, given.documents, strict=True)), questions)


def _read(given: Given, name: str) -> Dataset:
    dataset = load_documents(given.documents, given.questions, name)
    found = [
        _row(path, number, entry)
        for path in given.questions
        for number, entry in enumerate(_entries(read_json(path)) or (), 1)
    ]
    problems = Problems(given.questions[0])
    stated = [rows.stated_question(row, number, problems) for number, row in enumerate(found, 1)]
    return replace(dataset, questions=verified(stated, dataset, problems))


def _row(path: Path, number: int, entry: object) -> FileRow:
    value = {"query": entry} if isinstance(entry, str) else entry
    return object_row(path, f"entry {number}", value)


FORMAT = DatasetFormat(
    "queries", 'documents, and a queries.json with a list of questions or {"queries": [...]}', _find, _read
)
