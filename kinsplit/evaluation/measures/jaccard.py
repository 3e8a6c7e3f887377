"""Jaccard index of the words of question and chunks: `rag_eval`'s relevancy."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class Jaccard:
    """Jaccard index of the question's words and those of the first k chunks together.

    Words are split at white space, in lower case and with punctuation, as in `rag_eval`. The more words are retrieved,
    the lower the value, so it says more about chunk size than about relevance.

    Attributes:
        name: "jaccard", or "jaccard@3" if k was given.
        k: Number of chunks.
    """

    name: str
    k: int

    description = "Jaccard index of the words of question and first k chunks; rag_eval's relevancy"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None if neither question nor chunks have a word."""
        del chunking
        asked = set(outcome.question.text.lower().split())
        read = {word for chunk in outcome.ranking[: self.k] for word in chunk.text.lower().split()}
        return len(asked & read) / len(asked | read) if asked | read else None
