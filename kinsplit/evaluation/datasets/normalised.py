"""Normalised texts with a map to their sources, to convert spans in both directions.

SC-Qrels labels texts after replacing quotation marks, dashes and white space, so its offsets don't fit the files;
`normalise(text)` recreates such a text and maps its spans back to the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Document, Part
from kinsplit.errors import InvalidParameterError, require
from kinsplit.evaluation.labels import Dataset, Place, Question
from kinsplit.spans import Span

Offsets = NDArray[np.int64]


class Rewritten(NamedTuple):
    """The result of a step."""

    text: str
    starts: Offsets  # Start of each new character's range in the old text, in ascending order.
    ends: Offsets  # End of that range, in ascending order.


Step = Callable[[str], Rewritten]


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


def quotes(text: str) -> Rewritten:
    """Straighten curly quotation marks."""
    return _as_long(text.translate(_QUOTES))


def dashes(text: str) -> Rewritten:
    """Replace en and em dashes by hyphens."""
    return _as_long(text.translate(_DASHES))


def spaces(text: str) -> Rewritten:
    """Replace each run of white space by one space."""
    return _rewritten(text, ((match.start(), match.end(), " ") for match in _SPACES.finditer(text)))


def strip(text: str) -> Rewritten:
    """Remove white space at both ends."""
    kept = text.strip()
    starts = np.arange(len(kept), dtype=np.int64) + text.find(kept)
    return Rewritten(kept, starts, starts + 1)


#: Steps of the SC-Qrels pipeline.
SC_QRELS: tuple[Step, ...] = (quotes, dashes, spaces, strip)
_NAMED = {"sc-qrels": SC_QRELS}


def normalise(text: str, steps: Sequence[Step] = SC_QRELS) -> Normalised:
    """Normalise a text."""
    made = _as_long(text)
    for step in steps:
        new = step(made.text)
        made = Rewritten(new.text, made.starts[new.starts], made.ends[new.ends - 1] if new.text else new.ends)
    return Normalised(text, *made)


def steps_of(name: str) -> tuple[Step, ...]:
    """Return the steps of the normalisation with a name, or raise InvalidParameterError if the name is unknown."""
    if name not in _NAMED:
        raise InvalidParameterError("normalise", "must name a normalisation", name, f"Known: {', '.join(_NAMED)}.")
    return _NAMED[name]


def normalised_document(document: Document, steps: Sequence[Step] = SC_QRELS) -> Document:
    """Return a document with its text normalised, and its pages, times and parts moved accordingly."""
    return _as_document(document, normalise(document.text, steps))


def normalised_dataset(dataset: Dataset, steps: Sequence[Step] = SC_QRELS) -> Dataset:
    """Return a dataset with its documents normalised, and its labels moved accordingly.

    Raises:
        InvalidParameterError: Nothing is left of a label.
    """
    made = {document.id: normalise(document.text, steps) for document in dataset.documents}

    def moved(place: Place, question: Question) -> Place:
        if place.span is None:
            return place
        span = made[place.source_id].from_source(place.span)
        remedy = "Label more than white space."
        require(span is not None, "normalise", "must leave something of every label", question.id, remedy)
        return Place(place.source_id, span)

    documents = tuple(_as_document(document, made[document.id]) for document in dataset.documents)
    questions = tuple(
        replace(
            question,
            labels=tuple(
                replace(label, places=tuple(moved(place, question) for place in label.places))
                for label in question.labels
            ),
        )
        for question in dataset.questions
    )
    return replace(dataset, documents=documents, questions=questions)


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
    )


def _as_long(text: str) -> Rewritten:
    starts = np.arange(len(text), dtype=np.int64)
    return Rewritten(text, starts, starts + 1)


def _rewritten(text: str, changes: Iterator[tuple[int, int, str]]) -> Rewritten:
    """Replace ranges of a text, given in order; each new character maps to the whole range."""
    pieces: list[str] = []
    starts: list[Offsets] = []
    ends: list[Offsets] = []
    reached = 0
    for start, end, new in (*changes, (len(text), len(text), "")):
        kept = np.arange(reached, start, dtype=np.int64)
        pieces += text[reached:start], new
        starts += kept, np.full(len(new), start, np.int64)
        ends += kept + 1, np.full(len(new), end, np.int64)
        reached = end
    return Rewritten("".join(pieces), np.concatenate(starts), np.concatenate(ends))


_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_DASHES = str.maketrans("\u2013\u2014", "--")
# A single space needs no change, so it isn't matched.
_SPACES = re.compile(r"\s{2,}|[^\S ]")
