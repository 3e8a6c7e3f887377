"""Chroma's precision omega: the precision of a perfect ranker."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.label_overlap import is_text, retrieved_text
from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class PrecisionOmega:
    """The labelled share of the text of all chunks that hold labelled text.

    A ranker that finds exactly these chunks has this precision, so it measures the cuts and not the ranking. Labelled
    text counts once, and text that several chunks repeat counts each time.
    """

    name = "precision_omega"
    description = "Labelled share of the text of all chunks that hold labelled text; Chroma's precision omega"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without labels, or with a whole document as a label."""
        if not is_text(outcome.question):
            return None
        held = (holding.chunk for _, holding in chunking.alignment.held(outcome.question))
        chunks = {chunk.id: chunk for chunk in held}
        return retrieved_text(outcome.question, chunks.values()).precision
