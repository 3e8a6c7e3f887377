"""Normalised texts with a map to their sources, to convert spans in both directions.

SC-Qrels labels texts after replacing quotation marks, dashes and white space, so its offsets don't fit the files;
`normalise(text)` recreates such a text and maps its spans back to the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Document
from kinsplit.errors import require
from kinsplit.evaluation.labels import Dataset, Place, Question
from kinsplit.spans import Part, Span

Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Normalised:
    """A normalised text with a map to its source."""

    source: str
    text: str
    starts: Offsets  # Start of each character's range in the source, shape (characters,).
    ends: Offsets  # End of that range, shape (characters,).

    def to_source(self, span: Span) -> Span:
        """Return the span of the source for a non-empty span of the normalised text."""
        return Span(int(self.starts[span.start]), int(self.ends[span.end - 1]))

    def from_source(self, span: Span) -> Span | None:
        """Return the smallest span that holds all that is left of a span of the source; None if nothing is left."""
        first = int(np.searchsorted(self.ends, span.start, side="right"))
        stop = int(np.searchsorted(self.starts, span.end, side="left"))
        return Span(first, stop) if first < stop else None

    def at(self, offset: int) -> int:
        """Return the offset in the normalised text for an offset in the source."""
        return int(np.searchsorted(self.ends, offset, side="right"))

    def find(self, wanted: str) -> Iterator[Span]:
        """Yield the occurrences of a normalised text, as spans of the source without overlap."""
        at = self.text.find(wanted) if wanted else -1
        while at >= 0:
            yield self.to_source(Span(at, at + len(wanted)))
            at = self.text.find(wanted, at + len(wanted))


# Straight quotation marks for curly ones, and hyphens for en and em dashes.
_PLAIN = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--")
_WHITE_SPACE = np.array([code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32)
#: Names of the known normalisations.
NAMES = ("sc-qrels",)


def check_name(name: str) -> None:
    """Raise InvalidParameterError unless a normalisation has that name."""
    require(name in NAMES, "normalise", "must name a normalisation", name, f"Known: {', '.join(NAMES)}.")


def normalise(text: str) -> Normalised:
    """Normalise a text as SC-Qrels does: quotation marks, dashes, and white space, of which single spaces remain."""
    plain = text.translate(_PLAIN).rstrip()
    is_space = np.isin(np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), dtype=np.uint32), _WHITE_SPACE)
    # The first character of each run of white space stands for the run, except at the beginning.
    starts = np.flatnonzero(~is_space | np.append(False, ~is_space[:-1])[: len(plain)])
    ends = np.append(starts[1:], len(plain))[: len(starts)]
    return Normalised(text, " ".join(plain.split()), starts, ends)


def normalised_document(document: Document) -> Document:
    """Return a document with its text normalised, and its pages, times, voices and parts moved accordingly."""
    return _as_document(document, normalise(document.text))


def normalised_dataset(dataset: Dataset) -> Dataset:
    """Return a dataset with its documents normalised, and its labels moved accordingly.

    Raises:
        InvalidParameterError: Nothing is left of a label.
    """
    made = {document.id: normalise(document.text) for document in dataset.documents}

    def moved(question: Question, place: Place) -> Place:
        if place.span is None:
            return place
        span = made[place.source_id].from_source(place.span)
        remedy = "Label more than white space."
        require(span is not None, "normalise", "must leave something of every label", question.id, remedy)
        return Place(place.source_id, span)

    documents = tuple(_as_document(document, made[document.id]) for document in dataset.documents)
    questions = tuple(with_places(question, partial(moved, question)) for question in dataset.questions)
    return replace(dataset, documents=documents, questions=questions)


def with_places(question: Question, move: Callable[[Place], Place]) -> Question:
    """Return a question with the places of its labels moved."""
    labels = (replace(label, places=tuple(map(move, label.places))) for label in question.labels)
    return replace(question, labels=tuple(labels))


def _as_document(document: Document, made: Normalised) -> Document:
    parts = ((made.from_source(Span(part.start, part.end)), part.title) for part in document.outline)
    headings = (one._replace(start=made.at(one.start), end=made.at(one.end)) for one in document.headings)
    return replace(
        document,
        text=made.text,
        pages=tuple(map(made.at, document.pages)),
        times=tuple(moment._replace(at=made.at(moment.at)) for moment in document.times),
        outline=tuple(Part(*span, title) for span, title in parts if span is not None),
        headings=tuple(headings),
        kind="",  # It has no lines any more.
        voices=tuple(voice._replace(at=made.at(voice.at)) for voice in document.voices),
    )
