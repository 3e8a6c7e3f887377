"""Measures of labelled spans: what retrieved passages cover of them, and how much else they hold."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.passages import (
    found_share,
    found_text,
    is_text,
    read_chunks,
    read_tokens,
    retrieved_text,
)
from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class Iou:
    """Intersection over union of the labelled text and the text of the first k chunks, in characters.

    Labelled text counts once, and text that several chunks repeat counts each time.
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


@dataclass(frozen=True)
class TextPrecision:
    """The share of the first k chunks' text that is labelled, in characters.

    Labelled text counts once, and text that several chunks repeat counts each time.
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


@dataclass(frozen=True)
class TextRecall:
    """The share of the labelled text that the first k chunks hold, in characters.

    Larger chunks hold more text at the same k; recall at a token budget corrects for that.
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


@dataclass(frozen=True)
class BudgetRecall:
    """The share of the labelled text within the first N retrieved tokens.

    It compares chunks of any size fairly: fewer large chunks fit in the budget, and repeated text counts each time. A
    chunk is cut where the budget ends. If the ranker returns passages within the budget, these are judged.
    """

    budget: int

    description = "Share of the labelled text within the first N retrieved tokens"
    higher_is_better = True

    @property
    def name(self) -> str:
        """The name, such as "recall@1000t"."""
        return f"recall@{self.budget}t"

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without labels."""
        read = outcome.read.get(self.budget)
        if read is None:
            read = read_tokens(outcome.ranking, self.budget, chunking)
        return found_share(outcome.question, read)
