"""Share of the question's words that the chunks hold: `rag_eval`'s faithfulness."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.protocol import Chunking, Outcome


@dataclass(frozen=True)
class QueryTerms:
    """The share of the question's words that the text of the first k chunks holds anywhere, also inside words.

    Words are what white space separates, in lower case and with their punctuation, as `rag_eval` has them. It rises
    with the amount of text that is retrieved, and says nothing of whether an answer is faithful to it.

    Attributes:
        name: "query_terms", or "query_terms@3" where k was asked for.
        k: Chunks.
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
