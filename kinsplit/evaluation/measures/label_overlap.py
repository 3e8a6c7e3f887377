"""Overlap of chunks and labels, after "Evaluating Chunking Strategies for Retrieval" (Chroma, 2024)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.measures.passages import has_text
from kinsplit.evaluation.measures.read_text import read_chunks, read_spans
from kinsplit.spans import length, overlap


class Retrieved(NamedTuple):
    """What chunks hold, in characters of their documents.

    Attributes:
        relevant: Labelled text, each place once.
        all: All of their text, as often as chunks hold it.
    """

    relevant: int
    all: int

    @property
    def precision(self) -> float:
        """The share of the text that is labelled; 0 where there is none."""
        return self.relevant / self.all if self.all else 0.0


def is_text(question: Question) -> bool:
    """Return whether a question has labels and each is a text, so that characters can be counted."""
    return bool(question.labels) and all(has_text(label) for label in question.labels)


def retrieved_text(question: Question, chunks: Iterable[Chunk]) -> Retrieved:
    """Return how much of what some chunks hold is labelled.

    Args:
        question: A question of which `is_text` holds; every place of a label is labelled text.
        chunks: The chunks.
    """
    chunks = list(chunks)
    places = (place for label in question.labels for place in label.places)
    labelled = read_spans((place.source_id, place.span) for place in places if place.span is not None)
    read = read_chunks(chunks)
    relevant = sum(overlap(spans, read.get(source_id, ())) for source_id, spans in labelled.items())
    return Retrieved(relevant, sum(length(chunk.spans) for chunk in chunks))
