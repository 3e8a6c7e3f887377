"""The labelled sets that retrieval is measured on: folders below the shared data, as datasets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from texts import SHARED_DATA

from kinsplit.chunk import Span
from kinsplit.evaluation.datasets import load
from kinsplit.evaluation.labels import Dataset, Question

#: Folders below the shared data that make up one set each: all documents of a set go into one index.
FOLDERS = {
    "chroma": ("chroma/*",),
    "privacy_qa": ("legalbench_rag/privacy_qa",),
    "alice": ("alice",),
    **{f"xquad {language}": (f"xquad/{language}",) for language in ("de", "zh", "ar", "hi", "th")},
}


def labelled_sets(root: Path = SHARED_DATA) -> list[Dataset]:
    """Return the labelled sets that are there."""
    sets = []
    for name, patterns in FOLDERS.items():
        folders = [f for pattern in patterns for f in sorted(root.glob(pattern)) if (f / "queries.jsonl").is_file()]
        if folders:
            sets.append(load(folders, format="kinsplit", name=name))
    return sets


def answer(question: Question) -> tuple[str, tuple[Span, ...]]:
    """Return the one document that answers a question, and all that is labelled in it, without overlap."""
    places = [place for label in question.labels for place in label.places]
    (source_id,) = {place.source_id for place in places}
    return source_id, union(place.span for place in places if place.span is not None)


def union(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans that cover the same text without overlap, in order."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, end))
        else:
            joined.append(Span(start, end))
    return tuple(joined)
