"""Recall at a token budget: the share of the labelled text within the first N retrieved tokens."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.passages import found_share
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.measures.read_text import read_tokens


@dataclass(frozen=True)
class BudgetRecall:
    """The share of the labelled text within the first N retrieved tokens.

    It compares chunks of any size fairly: fewer large chunks fit in the budget, and repeated text counts each time. A
    chunk is cut where the budget ends. If the ranker returns passages within the budget, these are judged.

    Attributes:
        budget: Number of tokens, counted by the evaluation's tokenizer.
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
