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
    """Text of chunks, in characters of their documents.

    Attributes:
        relevant: Number of labelled characters, each counted once.
        all: Number of all characters; text that several chunks repeat counts each time.
    """

    relevant: int
    all: int

    @property
    def precision(self) -> float:
        """The labelled share of the text; 0 without text."""
        return self.relevant / self.all if self.all else 0.0


def is_text(question: Question) -> bool:
    """Return whether a question has labels and all of them are texts, so that characters can be counted."""
    return bool(question.labels) and all(has_text(label) for label in question.labels)


def retrieved_text(question: Question, chunks: Iterable[Chunk]) -> Retrieved:
    """Return how much of the text of some chunks is labelled.

    Args:
        question: A question for which `is_text` is true; every place of a label counts as labelled text.
        chunks: The chunks.
    """
    chunks = list(chunks)
    places = (place for label in question.labels for place in label.places)
    labelled = read_spans((place.source_id, place.span) for place in places if place.span is not None)
    read = read_chunks(chunks)
    relevant = sum(overlap(spans, read.get(source_id, ())) for source_id, spans in labelled.items())
    return Retrieved(relevant, sum(length(chunk.spans) for chunk in chunks))
