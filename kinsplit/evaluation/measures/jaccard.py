"""Jaccard index of the words of question and chunks: `rag_eval`'s relevancy."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class Jaccard:
    """Jaccard similarity of the question's words and those of the first k chunks together.

    Words are what white space separates, in lower case and with their punctuation, as `rag_eval` has them. The value
    falls with the number of words that are retrieved, so it says more of chunk size than of relevance.

    Attributes:
        name: "jaccard", or "jaccard@3" where k was asked for.
        k: Chunks.
    """

    name: str
    k: int

    description = "Words shared by question and first k chunks, of all words of both; rag_eval's relevancy"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None if neither question nor chunks have a word."""
        del chunking
        asked = set(outcome.question.text.lower().split())
        read = {word for chunk in outcome.ranking[: self.k] for word in chunk.text.lower().split()}
        return len(asked & read) / len(asked | read) if asked | read else None
