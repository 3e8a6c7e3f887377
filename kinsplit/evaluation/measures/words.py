"""Measures of words, vectors and time, which need no labels; those of `rag_eval` among them."""

from __future__ import annotations

from collections.abc import Iterable

from kinsplit.evaluation.measures.protocol import Asked, Chunking, Outcome, family


def jaccard_of(question: str, texts: Iterable[str]) -> float | None:
    """Return the Jaccard index of the words of a question and of texts together; None without words."""
    own = set(question.lower().split())
    read = {word for text in texts for word in text.lower().split()}
    return len(own & read) / len(own | read) if own | read else None


def query_terms_of(question: str, texts: Iterable[str]) -> float | None:
    """Return the share of a question's words that occur in texts, also inside other words; None without words."""
    own, text = set(question.lower().split()), " ".join(texts).lower()
    return sum(word in text for word in own) / len(own) if own else None


def jaccard(outcome: Outcome, _: Chunking, asked: Asked) -> float | None:
    """Return the Jaccard index of the question's words and those of the first k chunks together; None without words.

    Words are split at white space, in lower case and with punctuation, as in `rag_eval`. The more words are retrieved,
    the lower the value, so it says more about chunk size than about relevance.
    """
    return jaccard_of(outcome.question.text, (chunk.text for chunk in outcome.ranking[: asked.k]))


def query_terms(outcome: Outcome, _: Chunking, asked: Asked) -> float | None:
    """Return the share of the question's words that occur in the text of the first k chunks, also inside other words.

    Words are split at white space, in lower case and with punctuation, as in `rag_eval`. The more text is retrieved,
    the higher the value; it says nothing about the faithfulness of an answer. None for a question without words.
    """
    return query_terms_of(outcome.question.text, (chunk.text for chunk in outcome.ranking[: asked.k]))


def cosine(outcome: Outcome, _: Chunking, asked: Asked) -> float | None:
    """Return the mean cosine between the question and the first k chunks; None if nothing was retrieved.

    It needs no labels. Smaller chunks have higher cosines, so it can compare rankers but not strategies.
    """
    cosines = outcome.cosines[: asked.k]
    return float(sum(cosines) / len(cosines)) if len(cosines) else None


#: The measures for the registry.
FAMILIES = (
    family(
        "seconds",
        "Wall time of a search in seconds; rag_eval's response_time",
        lambda outcome, *_: outcome.seconds,  # Includes the embedding of the question.
        higher_is_better=False,
    ),
    family("jaccard[@k]", "Jaccard index of the words of question and first k chunks; rag_eval's relevancy", jaccard),
    family(
        "query_terms[@k]",
        "Share of the question's words in the text of the first k chunks; rag_eval's faithfulness",
        query_terms,
    ),
    family("cosine[@k]", "Mean cosine of the question and the first k chunks", cosine),
)
