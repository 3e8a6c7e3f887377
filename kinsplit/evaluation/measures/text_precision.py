"""Chroma's precision: the share of the retrieved text that is labelled."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.label_overlap import is_text, retrieved_text
from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class TextPrecision:
    """The share of the first k chunks' text that is labelled, in characters.

    Labelled text counts once, and text that several chunks repeat counts each time.

    Attributes:
        k: Number of chunks.
    """

    k: int

    description = "Share of the first k chunks' text that is labelled; Chroma's precision"
    higher_is_better = True

    @property
    def name(self) -> str:
        """The name, such as "text_precision@5"."""
        return f"text_precision@{self.k}"

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without labels, or with a whole document as a label."""
        del chunking
        if not is_text(outcome.question):
            return None
        return retrieved_text(outcome.question, outcome.ranking[: self.k]).precision
