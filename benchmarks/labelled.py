"""Labelled sets: documents, and questions whose answers are spans of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from texts import SHARED_DATA

from kinsplit.chunk import Document, Span


@dataclass(frozen=True)
class Question:
    """A question with the text that answers it.

    Attributes:
        text: The question.
        docid: The document that answers it.
        spans: Where, without overlap, in order.
    """

    text: str
    docid: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class LabelledSet:
    """Documents that are searched together, and questions about them."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


#: Folders below the shared data that make up one set each: all documents of a set go into one index.
FOLDERS = {
    "chroma": ("chroma/*",),
    "privacy_qa": ("legalbench_rag/privacy_qa",),
    "alice": ("alice",),
    **{f"xquad {language}": (f"xquad/{language}",) for language in ("de", "zh", "ar", "hi", "th")},
}


def labelled_sets(root: Path = SHARED_DATA) -> list[LabelledSet]:
    """Return the labelled sets that are there."""
    sets = []
    for name, patterns in FOLDERS.items():
        folders = [f for pattern in patterns for f in sorted(root.glob(pattern)) if (f / "queries.jsonl").is_file()]
        if folders:
            sets.append(read(name, folders))
    return sets


def read(name: str, folders: list[Path]) -> LabelledSet:
    """Return the documents and questions of some folders as one set."""
    documents = [Document(row["docid"], row["text"]) for f in folders for row in _rows(f / "docs.jsonl")]
    questions = [
        Question(row["query"], row["docid"], union(row["spans"])) for f in folders for row in _rows(f / "queries.jsonl")
    ]
    return LabelledSet(name, tuple(documents), tuple(questions))


def union(spans: list[list[int]] | list[Span]) -> tuple[Span, ...]:
    """Return spans that cover the same text without overlap, in order."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, end))
        else:
            joined.append(Span(start, end))
    return tuple(joined)


def _rows(path: Path) -> list[dict[str, Any]]:
    # Not splitlines, which also cuts at separators that a text may hold.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
