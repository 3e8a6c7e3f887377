"""Share of the question's words that the chunks contain: `rag_eval`'s faithfulness."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class QueryTerms:
    """The share of the question's words that occur in the text of the first k chunks, also inside other words.

    Words are split at white space, in lower case and with punctuation, as in `rag_eval`. The more text is retrieved,
    the higher the value; it says nothing about the faithfulness of an answer.

    Attributes:
        name: "query_terms", or "query_terms@3" if k was given.
        k: Number of chunks.
    """

    name: str
    k: int

    description = "Share of the question's words in the text of the first k chunks; rag_eval's faithfulness"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without words."""
        del chunking
        asked = set(outcome.question.text.lower().split())
        text = " ".join(chunk.text for chunk in outcome.ranking[: self.k]).lower()
        return sum(word in text for word in asked) / len(asked) if asked else None
