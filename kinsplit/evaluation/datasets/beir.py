"""The format of BEIR (https://github.com/beir-cellar/beir): whole documents are labels, with grades.

```
corpus.jsonl      {"_id": "d1", "title": "...", "text": "..."}
queries.jsonl     {"_id": "q1", "text": "..."}
qrels/test.tsv    query-id  corpus-id  score
```

A title becomes the first line of its document, as in BEIR's own search. Only the queries of the split `test` are read;
to read another split, name its file as the questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kinsplit.chunk import Document
from kinsplit.errors import LoadError
from kinsplit.evaluation.datasets.format import (
    DatasetFormat,
    FileRow,
    Given,
    Problems,
    checked,
    lines,
    read_text,
    shown,
)
from kinsplit.evaluation.datasets.verification import StatedLabel, StatedPlace, StatedQuestion, verified
from kinsplit.evaluation.labels import Dataset

_CORPUS, _QUERIES, _QRELS, _SPLIT = "corpus.jsonl", "queries.jsonl", "qrels", "test.tsv"


def _find(given: Given) -> Given | None:
    path = given.documents[0]
    corpus = path / _CORPUS if path.is_dir() else path
    if len(given.documents) > 1 or corpus.name != _CORPUS or not corpus.is_file():
        return None
    queries = next((file for file in given.questions if file.name == _QUERIES), corpus.parent / _QUERIES)
    judged = [file for file in given.questions if file != queries] or _split(corpus.parent / _QRELS)
    if not queries.is_file() or len(judged) != 1 or judged[0].suffix != ".tsv":
        return None
    return Given((corpus,), (queries, judged[0]))


def _split(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.tsv"))
    if len(files) > 1 and folder / _SPLIT not in files:
        names = ", ".join(file.name for file in files)
        raise LoadError(folder, f"has no {_SPLIT} but {names}. Name one of them as the file with the questions.")
    return [folder / _SPLIT] if folder / _SPLIT in files else files


def _read(given: Given, name: str) -> Dataset:
    queries, judged = given.questions
    dataset = Dataset(name, _documents(given.documents[0]), ())
    problems = Problems(judged)
    labels: dict[str, list[StatedLabel]] = defaultdict(list)
    places: dict[str, FileRow] = {}
    for row in _judgements(judged, problems):
        query_id, grade = row.value["query-id"], row.value["score"]
        places.setdefault(query_id, row)
        if grade > 0:
            place = StatedPlace("corpus-id", row.value["corpus-id"], None, row=row)
            labels[query_id].append(StatedLabel([place], grade=grade))
    asked = list(lines(queries))
    known = {row.value.get("_id") for row in asked}
    for query_id in (each for each in places if each not in known):
        remedy = f"Add it to {queries.name}, or drop its rows."
        problems.add(places[query_id], query_id, "query-id", f"must be that of a query in {queries}", query_id, remedy)
    stated = [
        StatedQuestion(row, row.value["_id"], row.value.get("text"), labels[row.value["_id"]], field="text")
        for row in asked
        if row.value.get("_id") in places
    ]
    return replace(dataset, questions=verified(stated, dataset, problems))


def _documents(path: Path) -> tuple[Document, ...]:
    documents: dict[str, Document] = {}
    for row in lines(path):
        id_, title, text = (_string(row, field) for field in ("_id", "title", "text"))
        if not id_.strip() or id_ in documents:
            rule = "is in an earlier line too" if id_ in documents else "must be a string of visible text"
            raise LoadError(path, f"{row.place}: _id {rule} (got {id_!r}). Give every row its own.")
        title = " ".join(title.split())
        documents[id_] = Document(id_, f"{title}\n\n{text}" if title else text, {"title": title} if title else {})
    return checked(list(documents.values()), path)


def _string(row: FileRow, field: str) -> str:
    value = row.value.get(field, "" if field == "title" else None)
    if not isinstance(value, str):
        raise LoadError(row.path, f"{row.place}: {field} must be a string (got {shown(value)}).")
    return value


# Number of digits of a 64-bit number; Python refuses to parse very long numbers.
_DIGITS = 18


def _judgements(path: Path, problems: Problems) -> Iterator[FileRow]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        cells = line.rstrip("\r").split("\t")
        if not line.strip() or (number == 1 and cells[:1] == ["query-id"]):
            continue
        place = FileRow(path, f"line {number}", {})
        grade = cells[2].strip() if len(cells) == 3 else ""
        if not grade.lstrip("-").isdecimal() or len(grade) > _DIGITS:
            rule = "must have a query-id, a corpus-id and a whole score between tabs"
            problems.add(place, cells[0], "row", rule, line, "See docs/datasets.md.")
            continue
        yield place._replace(value={"query-id": cells[0], "corpus-id": cells[1], "score": int(grade)})


FORMAT = DatasetFormat("beir", "a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv", _find, _read)
