"""Chroma's intersection over union of labelled and retrieved text."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.label_overlap import is_text, retrieved_text
from kinsplit.evaluation.measures.passages import found_text
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.measures.read_text import read_chunks


@dataclass(frozen=True)
class Iou:
    """Intersection over union of the labelled text and the text of the first k chunks, in characters.

    Labelled text counts once, and text that several chunks repeat counts each time.

    Attributes:
        k: Number of chunks.
    """

    k: int

    description = "Labelled text in the first k chunks, divided by their text and what they miss; Chroma's IoU"
    higher_is_better = True

    @property
    def name(self) -> str:
        """The name, such as "iou@5"."""
        return f"iou@{self.k}"

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without labels, or with a whole document as a label."""
        del chunking
        if not is_text(outcome.question):
            return None
        chunks = outcome.ranking[: self.k]
        found = found_text(outcome.question, read_chunks(chunks))
        retrieved = retrieved_text(outcome.question, chunks)
        return retrieved.relevant / (retrieved.all + found.labelled - found.read)
