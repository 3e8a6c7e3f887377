"""Search time: `rag_eval`'s response time."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class Seconds:
    """Wall time of a search, including the embedding of the question."""

    name = "seconds"
    description = "Wall time of a search in seconds; rag_eval's response_time"
    higher_is_better = False

    def score(self, outcome: Outcome, chunking: Chunking) -> float:
        """See `Measure.score`."""
        del chunking
        return outcome.seconds
