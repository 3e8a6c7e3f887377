"""Chroma's precision omega: the precision of a perfect ranker."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.label_overlap import is_text, retrieved_text
from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class PrecisionOmega:
    """The share that is labelled of the text of all chunks that hold labelled text.

    It is what a ranker could reach that finds all of it, so it judges where the chunks are cut and not how they are
    ranked. Labelled text counts once, and the chunks' text as often as they repeat it.
    """

    name = "precision_omega"
    description = "Share that is labelled of the text of all chunks that hold labelled text; Chroma's precision omega"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without labels, or with a document as such as one."""
        if not is_text(outcome.question):
            return None
        held = (holding.chunk for _, holding in chunking.alignment.held(outcome.question))
        chunks = {chunk.id: chunk for chunk in held}
        return retrieved_text(outcome.question, chunks.values()).precision
