"""Chroma's recall: the share of the labelled text that is retrieved."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.label_overlap import is_text
from kinsplit.evaluation.measures.passages import found_text
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.measures.read_text import read_chunks


@dataclass(frozen=True)
class TextRecall:
    """The share of the labelled text that the first k chunks hold, in characters.

    Larger chunks hold more text at the same k; recall at a token budget corrects for that.

    Attributes:
        k: Number of chunks.
    """

    k: int

    description = "Share of the labelled text that the first k chunks hold; Chroma's recall"
    higher_is_better = True

    @property
    def name(self) -> str:
        """The name, such as "text_recall@5"."""
        return f"text_recall@{self.k}"

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without labels, or with a whole document as a label."""
        del chunking
        if not is_text(outcome.question):
            return None
        return found_text(outcome.question, read_chunks(outcome.ranking[: self.k])).share
