"""Recall at a token budget: the share of the labelled text that the first N retrieved tokens hold."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.evaluation.measures.budget_recall import BudgetRecall
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.tokenizers import BUNDLED, resolve

BUDGETS = (250, 500, 1000, 2000)


class Meter:
    """Measures rankings of the chunks of a labelled set.

    Args:
        labelled: The set.
    """

    def __init__(self, labelled: Dataset) -> None:
        self._labelled, self._tokenizer = labelled, resolve(BUNDLED)

    def found(self, question: Question, ranking: Iterable[Chunk]) -> list[float]:
        """Return the share of a question's labelled text within each budget."""
        chunking = Chunking(self._labelled, tuple(ranking), self._tokenizer)
        nothing = [0.0] * len(chunking.chunks)
        outcome = Outcome(question, chunking.chunks, nothing, nothing, 0.0)
        return [BudgetRecall(budget).score(outcome, chunking) or 0.0 for budget in BUDGETS]


def interval(values: NDArray[np.float64], resamples: int = 10_000) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean over questions (percentiles, seeded)."""
    random = np.random.default_rng(0)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(resamples)]
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)
