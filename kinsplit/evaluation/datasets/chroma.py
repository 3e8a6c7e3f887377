"""The CSV format of Chroma (https://github.com/brandonstarxel/chunking_evaluation): excerpts of text files as labels.

```
questions_df.csv     question,references,corpus_id      references: [{"content", "start_index", "end_index"}, ...]
corpora/*.md         one document each; its name without the suffix is its corpus_id
```
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Any

from kinsplit.chunk import Document
from kinsplit.errors import LoadError
from kinsplit.evaluation.datasets.format import DatasetFormat, FileRow, Given, Problems, checked, read_text
from kinsplit.evaluation.datasets.verification import StatedLabel, StatedPlace, StatedQuestion, verified
from kinsplit.evaluation.labels import Dataset

_FILE, _CORPORA = "questions_df.csv", "corpora"
_COLUMNS = {"question", "references", "corpus_id"}
_SUFFIXES = (".md", ".txt")


def _find(given: Given) -> Given | None:
    questions = given.questions or tuple(path / _FILE for path in given.documents)
    if not all(path.suffix.lower() == ".csv" and path.is_file() for path in questions):
        return None
    if any(not set(_table(path).fieldnames or ()) >= _COLUMNS for path in questions):
        return None
    texts = [file for path in given.documents for file in _texts(path)]
    return Given(tuple(texts), questions) if texts else None


def _texts(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    folder = path / _CORPORA if (path / _CORPORA).is_dir() else path
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES)


def _table(path: Path) -> csv.DictReader[str]:
    # Keep line endings, since a question may contain one.
    return csv.DictReader(StringIO(read_text(path), newline=""))


def _read(given: Given, name: str) -> Dataset:
    dataset = Dataset(name, _documents(given.documents), ())
    problems = Problems(given.questions[0])
    numbers: Counter[str] = Counter()
    stated = []
    for path in given.questions:
        for row in _rows(path):
            # A generated set names the file by its path, in the notation of the generating system.
            corpus = PurePosixPath(str(row.value["corpus_id"]).replace("\\", "/"))
            id_ = corpus.stem if corpus.suffix in _SUFFIXES else corpus.name
            query_id = f"{id_}-{numbers[id_]:03}"
            numbers[id_] += 1
            labels = _labels(row, id_, query_id, problems)
            stated.append(StatedQuestion(row, query_id, row.value["question"], labels, field="question"))
    return replace(dataset, questions=verified(stated, dataset, problems))


def _documents(paths: Sequence[Path]) -> tuple[Document, ...]:
    texts: dict[str, Path] = {}
    for path in paths:
        other = texts.setdefault(path.stem, path)
        if other != path:
            raise LoadError(path, f"would be the corpus {path.stem!r} like {other}. Rename one of them.")
    # A byte order mark counts as a character in Chroma's offsets.
    documents = [Document(id_, read_text(path, keep_mark=True), {"title": id_}) for id_, path in texts.items()]
    return checked(documents, paths[0])


def _rows(path: Path) -> list[FileRow]:
    try:
        return [FileRow(path, f"row {number}", value) for number, value in enumerate(_table(path), 1)]
    except csv.Error as error:
        raise LoadError(path, f"is not valid CSV: {error}.") from error


def _labels(row: FileRow, source_id: str, query_id: str, problems: Problems) -> list[StatedLabel]:
    remedy = 'It looks like [{"content": "...", "start_index": 0, "end_index": 3}].'
    stated: Any = row.value["references"]
    try:
        references = json.loads(stated)
    except (TypeError, ValueError, RecursionError):
        references = None
    if not isinstance(references, list) or not all(isinstance(each, dict) for each in references):
        problems.add(row, query_id, "references", "must be a JSON list of objects", stated, remedy)
        return []
    places = (
        StatedPlace(f"references[{i}]", source_id, (one.get("start_index"), one.get("end_index")), one.get("content"))
        for i, one in enumerate(references)
    )
    return [StatedLabel([place]) for place in places]


_SHAPE = "questions_df.csv with question, references and corpus_id, and corpora/*.md"
FORMAT = DatasetFormat("chroma", _SHAPE, _find, _read)
