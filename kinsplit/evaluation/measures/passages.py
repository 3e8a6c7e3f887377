"""Coverage of the labelled text by the text that was read."""

from __future__ import annotations

from typing import NamedTuple

from kinsplit.evaluation.labels import Label, Place, Question
from kinsplit.evaluation.measures.read_text import Read
from kinsplit.spans import Span, length, overlap, unite


class Found(NamedTuple):
    """Labelled text that was read.

    Attributes:
        read: Amount that was read, in characters; in labels where whole documents are labelled.
        labelled: Amount of all labelled text.
    """

    read: float
    labelled: float

    @property
    def share(self) -> float:
        """The share that was read."""
        return self.read / self.labelled


def coverage(place: Place, read: Read) -> float:
    """Return the share of a place that was read; a whole document counts as read once any of its text is."""
    found = read.get(place.source_id, ())
    if place.span is None:
        return float(bool(found))
    return overlap([place.span], found) / (place.span.end - place.span.start)


def best_coverage(label: Label, read: Read) -> float:
    """Return the highest coverage of a label's places."""
    return max(coverage(place, read) for place in label.places)


def found_text(question: Question, read: Read) -> Found:
    """Return how much of the text that answers a question was read.

    Overlapping labels count once. A label with several places counts with its best coverage, weighted by the mean
    length of its places; such labels are not merged with others, so that reading on never lowers the share.

    Args:
        question: Question whose labels have spans in all places.
        read: Text that was read.
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
    """Return the share of a question's labels that was read.

    A whole document as a label is either found or not. If a question has labels of both kinds, the weight of its
    texts is their number.

    Args:
        question: The question.
        read: Text that was read.

    Returns:
        A share from 0 to 1; None for a question without labels.
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
    """Return whether all places of a label are texts, not whole documents."""
    return all(place.span is not None for place in label.places)
