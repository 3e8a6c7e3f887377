"""Measures of words, vectors and time, which need no labels; those of `rag_eval` among them."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.measures.protocol import Chunking, Family, Outcome


@dataclass(frozen=True)
class Jaccard:
    """Jaccard index of the question's words and those of the first k chunks together.

    Words are split at white space, in lower case and with punctuation, as in `rag_eval`. The more words are retrieved,
    the lower the value, so it says more about chunk size than about relevance.
    """

    name: str  # "jaccard", or "jaccard@3" if k was given.
    k: int

    description = "Jaccard index of the words of question and first k chunks; rag_eval's relevancy"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None if neither question nor chunks have a word."""
        del chunking
        asked = set(outcome.question.text.lower().split())
        read = {word for chunk in outcome.ranking[: self.k] for word in chunk.text.lower().split()}
        return len(asked & read) / len(asked | read) if asked | read else None


@dataclass(frozen=True)
class QueryTerms:
    """The share of the question's words that occur in the text of the first k chunks, also inside other words.

    Words are split at white space, in lower case and with punctuation, as in `rag_eval`. The more text is retrieved,
    the higher the value; it says nothing about the faithfulness of an answer.
    """

    name: str  # "query_terms", or "query_terms@3" if k was given.
    k: int

    description = "Share of the question's words in the text of the first k chunks; rag_eval's faithfulness"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without words."""
        del chunking
        asked = set(outcome.question.text.lower().split())
        text = " ".join(chunk.text for chunk in outcome.ranking[: self.k]).lower()
        return sum(word in text for word in asked) / len(asked) if asked else None


@dataclass(frozen=True)
class Cosine:
    """Mean cosine between the question and the first k chunks.

    It needs no labels. Smaller chunks have higher cosines, so it can compare rankers but not strategies.
    """

    name: str  # "cosine", or "cosine@3" if k was given.
    k: int

    description = "Mean cosine of the question and the first k chunks"
    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None if nothing was retrieved."""
        del chunking
        cosines = outcome.cosines[: self.k]
        return float(sum(cosines) / len(cosines)) if len(cosines) else None


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


#: The measures for the registry.
FAMILIES = (
    Family("seconds", Seconds.description, lambda _: Seconds()),
    Family("jaccard[@k]", Jaccard.description, lambda asked: Jaccard(asked.name, asked.k)),
    Family("query_terms[@k]", QueryTerms.description, lambda asked: QueryTerms(asked.name, asked.k)),
    Family("cosine[@k]", Cosine.description, lambda asked: Cosine(asked.name, asked.k)),
)
