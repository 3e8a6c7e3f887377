"""Mean cosine between the question and the retrieved chunks."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class Cosine:
    """Mean cosine between the question and the first k chunks.

    It needs no labels. Smaller chunks have higher cosines, so it can compare rankers but not strategies.

    Attributes:
        name: "cosine", or "cosine@3" if k was given.
        k: Number of chunks.
    """

    name: str
    k: int

    description = "Mean cosine of the question and the first k chunks"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None if nothing was retrieved."""
        del chunking
        cosines = outcome.cosines[: self.k]
        return float(sum(cosines) / len(cosines)) if len(cosines) else None
