"""Coverage of labelled text by the text that was read."""

from __future__ import annotations

from typing import NamedTuple

from kinsplit.evaluation.labels import Label, Place, Question
from kinsplit.evaluation.measures.read_text import Read
from kinsplit.spans import Span, length, overlap, unite


class Found(NamedTuple):
    """How much of what is labelled was read.

    Attributes:
        read: How much of it, in characters of labelled text; or labels, where documents as such are labelled.
        labelled: All of it.
    """

    read: float
    labelled: float

    @property
    def share(self) -> float:
        """The share that was read."""
        return self.read / self.labelled


def coverage(place: Place, read: Read) -> float:
    """Return the share of a place that was read; a document as such is read once any of its text is."""
    found = read.get(place.source_id, ())
    if place.span is None:
        return float(bool(found))
    return overlap([place.span], found) / (place.span.end - place.span.start)


def best_coverage(label: Label, read: Read) -> float:
    """Return the coverage of the label's place that was read best."""
    return max(coverage(place, read) for place in label.places)


def found_text(question: Question, read: Read) -> Found:
    """Return how much of the text that answers a question was read.

    Spans are united before they are counted. A label with several places counts with the one that was read best, and
    weighs what its places are long on average; the texts of such labels are not united, so that nobody who reads on
    finds less.

    Args:
        question: With labels, each of which has a span in each of its places.
        read: What was read.
    """
    only: dict[str, list[Span]] = {}
    total = covered = 0.0
    for label in question.labels:
        spans = [place.span for place in label.places if place.span is not None]
        if len(spans) == 1:
            only.setdefault(label.places[0].source_id, []).append(spans[0])
        else:
            weight = length(spans) / len(spans)
            total += weight
            covered += weight * best_coverage(label, read)
    for source_id, spans in only.items():
        united = unite(spans)
        total += length(united)
        covered += overlap(united, read.get(source_id, ()))
    return Found(covered, total)


def found_share(question: Question, read: Read) -> float | None:
    """Return the share of what answers a question that was read.

    Where the label is a document and no text of it, it counts as one label, found or not; and if a question has labels
    of both kinds, its texts together weigh as much as there are labels with text.

    Args:
        question: The question.
        read: What was read.

    Returns:
        From 0 to 1; None for a question without labels.
    """
    if not question.labels:
        return None
    texts = tuple(label for label in question.labels if has_text(label))
    whole = [label for label in question.labels if not has_text(label)]
    found = sum(best_coverage(label, read) for label in whole)
    if texts:
        only_texts = Question(question.id, question.text, texts)
        found += len(texts) * found_text(only_texts, read).share
    return found / len(question.labels)


def has_text(label: Label) -> bool:
    """Return whether each of a label's places is a text, and none a document as such."""
    return all(place.span is not None for place in label.places)
