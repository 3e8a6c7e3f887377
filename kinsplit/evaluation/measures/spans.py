"""Measures of labelled spans: what retrieved passages cover of them, and how much else they hold.

Labelled text counts once, and text that several chunks repeat counts each time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.measures.passages import (
    found_share,
    found_text,
    is_text,
    read_chunks,
    read_tokens,
    retrieved_text,
)
from kinsplit.evaluation.measures.protocol import Chunking, Family, Outcome


@dataclass(frozen=True)
class TextMeasure(ABC):
    """Base class of measures of the text of the first k chunks, in characters."""

    k: int

    base: ClassVar[str]
    description: ClassVar[str]
    higher_is_better: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The name, such as "iou@5"."""
        return f"{self.base}@{self.k}"

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without labels, or with a whole document as a label."""
        del chunking
        return self.of(outcome.question, outcome.ranking[: self.k]) if is_text(outcome.question) else None

    @abstractmethod
    def of(self, question: Question, chunks: Sequence[Chunk]) -> float:
        """Return the value for a question all of whose labels are texts."""


class Iou(TextMeasure):
    """Intersection over union of the labelled text and the text of the first k chunks."""

    base = "iou"
    description = "Labelled text in the first k chunks, divided by their text and what they miss; Chroma's IoU"

    def of(self, question: Question, chunks: Sequence[Chunk]) -> float:
        """See `TextMeasure.of`."""
        found, retrieved = found_text(question, read_chunks(chunks)), retrieved_text(question, chunks)
        return retrieved.relevant / (retrieved.all + found.labelled - found.read)


class TextPrecision(TextMeasure):
    """The share of the first k chunks' text that is labelled."""

    base = "text_precision"
    description = "Share of the first k chunks' text that is labelled; Chroma's precision"

    def of(self, question: Question, chunks: Sequence[Chunk]) -> float:
        """See `TextMeasure.of`."""
        return retrieved_text(question, chunks).precision


class TextRecall(TextMeasure):
    """The share of the labelled text that the first k chunks hold.

    Larger chunks hold more text at the same k; recall at a token budget corrects for that.
    """

    base = "text_recall"
    description = "Share of the labelled text that the first k chunks hold; Chroma's recall"

    def of(self, question: Question, chunks: Sequence[Chunk]) -> float:
        """See `TextMeasure.of`."""
        return found_text(question, read_chunks(chunks)).share


class PrecisionOmega:
    """The labelled share of the text of all chunks that hold labelled text.

    A ranker that finds exactly these chunks has this precision, so it measures the cuts and not the ranking.
    """

    name = "precision_omega"
    description = "Labelled share of the text of all chunks that hold labelled text; Chroma's precision omega"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without labels, or with a whole document as a label."""
        if not is_text(outcome.question):
            return None
        chunks = {holding.chunk.id: holding.chunk for _, holding in chunking.alignment.held(outcome.question)}
        return retrieved_text(outcome.question, chunks.values()).precision


@dataclass(frozen=True)
class BudgetRecall:
    """The share of the labelled text within the first N retrieved tokens.

    It compares chunks of any size fairly: fewer large chunks fit in the budget, and repeated text counts each time. A
    chunk is cut where the budget ends. If the ranker returns passages within the budget, these are judged.
    """

    budget: int  # Number of tokens, counted by the evaluation's tokenizer.

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


#: The measures for the registry.
FAMILIES = (
    Family("recall@Nt", BudgetRecall.description, lambda asked: BudgetRecall(asked.k)),
    Family("text_recall@k", TextRecall.description, lambda asked: TextRecall(asked.k)),
    Family("text_precision@k", TextPrecision.description, lambda asked: TextPrecision(asked.k)),
    Family("iou@k", Iou.description, lambda asked: Iou(asked.k)),
    Family("precision_omega", PrecisionOmega.description, lambda _: PrecisionOmega()),
)
