"""Labelled sets for measuring retrieval: folders below the shared data, as datasets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
from texts import ROOT, SHARED_DATA

from kinsplit.chunk import Document
from kinsplit.evaluation.datasets import load
from kinsplit.evaluation.labels import Dataset, Label, Place, Question
from kinsplit.loaders import discover, load_files
from kinsplit.spans import Span

#: Languages of XQuAD.
XQUAD = ("de", "zh", "ar", "hi", "th", "el", "en", "es", "ro", "ru", "tr", "vi")
#: Folders below the shared data for each set, whose documents all go into one index.
FOLDERS = {
    "chroma": ("chroma/*",),
    "privacy_qa": ("legalbench_rag/privacy_qa",),
    "alice": ("alice",),
    **{f"xquad {language}": (f"xquad/{language}",) for language in XQUAD},
}
#: Folders of the course below the shared data.
COURSE_FOLDERS = ("lectures", "psets", "pages_md")

#: Folders of sets whose questions name their documents.
NAMED = {"maud": ("legalbench_rag/maud",), "maudcut": ("legalbench_rag/maudcut",)}


def labelled_sets(root: Path = SHARED_DATA) -> list[Dataset]:
    """Return the labelled sets that are available."""
    return _sets(FOLDERS, root)


def named_sets(root: Path = SHARED_DATA) -> list[Dataset]:
    """Return sets whose questions name their documents, and some whose documents have the name of another."""
    known = {dataset.name: dataset for dataset in (*_sets(NAMED, root), *labelled_sets(root))}
    found = [known[name] for name in ("privacy_qa", *NAMED) if name in known]
    titles = [titled(known["xquad de"])] if "xquad de" in known else []
    return [*found, *titles, *(rotated(dataset) for dataset in found if dataset.name != "maud")]


def titled(dataset: Dataset) -> Dataset:
    """Return a set of German questions, each of which begins with the name of the article that answers it."""
    questions = tuple(
        replace(question, text=f'Betrachte den Artikel "{question.labels[0].places[0].source_id}"; {question.text}')
        for question in dataset.questions
    )
    return replace(dataset, name=f"{dataset.name}, titled", questions=questions)


def rotated(dataset: Dataset) -> Dataset:
    """Return a set in which each document has the name of the next one."""
    ids = [document.id for document in dataset.documents]
    names = dict(zip(ids, [*ids[1:], *ids[:1]], strict=True))
    documents = tuple(
        replace(document, id=names[document.id], metadata={**document.metadata, "title": names[document.id]})
        for document in dataset.documents
    )
    questions = tuple(
        replace(
            question,
            labels=tuple(
                replace(label, places=tuple(p._replace(source_id=names[p.source_id]) for p in label.places))
                for label in question.labels
            ),
        )
        for question in dataset.questions
    )
    return replace(dataset, name=f"{dataset.name}, wrong names", documents=documents, questions=questions)


def _sets(named: Mapping[str, Sequence[str]], root: Path) -> list[Dataset]:
    sets = []
    for name, patterns in named.items():
        folders = [f for pattern in patterns for f in sorted(root.glob(pattern)) if (f / "queries.jsonl").is_file()]
        if folders:
            sets.append(load(folders, format="kinsplit", name=name))
    return sets


def read(*folders: Path) -> Iterator[Document]:
    """Yield the documents below some folders, each with its path below the folder's parent as its id."""
    # Texts that another program extracted from the PDFs are not part of the course.
    kept = [file for file in discover(folders).files if not file.path.name.endswith((".pdf.txt", ".json"))]
    for loaded in load_files(kept):
        yield from loaded.documents


def vague_sets(root: Path = SHARED_DATA) -> list[Dataset]:
    """Return the available sets of vague questions, which ask in other words than the text that answers them.

    vague_questions.json names the document that answers each question, and quotes the place.

    Raises:
        ValueError: A quotation isn't found exactly once in its document.
    """
    rows = json.loads(Path(__file__).with_name("vague_questions.json").read_text(encoding="utf-8"))
    sets = []
    for name, questions in groupby(rows, lambda row: str(row["set"])):
        documents = _vague_documents(root, name)
        if documents:
            asked = tuple(_vague_question(row, documents) for row in questions)
            sets.append(Dataset(f"vague {name}", tuple(documents.values()), asked))
    return sets


def _vague_documents(root: Path, name: str) -> dict[str, Document]:
    course, wikipedia = root / "course_mit_6.0001", root / "wikipedia_ai" / "txt"
    folders = {"course": [ROOT / "examples" / "course"], "wikipedia_ai": [wikipedia]}
    folders["course_mit_6.0001"] = [course / folder for folder in COURSE_FOLDERS]
    if name not in folders:
        found = load([root / name], format="kinsplit", name=name).documents if (root / name).is_dir() else ()
    else:
        found = tuple(read(*folders[name])) if all(folder.is_dir() for folder in folders[name]) else ()
    return {document.id: document for document in found}


def _vague_question(row: dict[str, str], documents: dict[str, Document]) -> Question:
    quotation = r"\s+".join(map(re.escape, row["quotation"].split()))
    places = [Span(*match.span()) for match in re.finditer(quotation, documents[row["document"]].text)]
    if len(places) != 1:
        raise ValueError(f"{row['document']} must contain {row['quotation']!r} once, not {len(places)} times.")
    return Question(row["question"], row["question"], (Label((Place(row["document"], places[0]),)),))


def sampled(dataset: Dataset, number: int) -> Dataset:
    """Return a set with a random sample of at most so many of its questions, in their order.

    Every tenth question would be the same one of each paragraph, which has five in some sets.
    """
    size = len(dataset.questions)
    places = np.random.default_rng(0).choice(size, min(number, size), replace=False)
    return replace(dataset, questions=tuple(dataset.questions[place] for place in sorted(places.tolist())))
