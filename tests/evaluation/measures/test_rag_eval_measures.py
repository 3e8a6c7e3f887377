"""The measures of rag_eval, under kinsplit's names, and the mean cosine."""

from __future__ import annotations

import pytest

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.measures.protocol import Outcome
from kinsplit.evaluation.measures.registry import create
from kinsplit.spans import Span
from tests.evaluation.making import chunking


def score(name: str, asked: str, texts: list[str]) -> float | None:
    chunks = [Chunk(str(i), "d", i, len(texts), 0, (Span(0, 1),), text, "") for i, text in enumerate(texts)]
    cosines = [0.9, 0.5, 0.1][: len(chunks)]
    found = Outcome(Question("q", asked), chunks, cosines, cosines, 0.125)
    return create(name).score(found, chunking(chunks))


def test_response_time_is_the_seconds_of_the_search() -> None:
    assert score("response_time", "?", ["a"]) == 0.125
    assert not create("seconds").higher_is_better


def test_relevancy_is_the_jaccard_similarity_of_words() -> None:
    # The example of rag_eval's guide, which omits the question mark and the dots.
    texts = ["Neural networks use layers", "to learn patterns"]
    assert score("relevancy", "How do neural networks work", texts) == 0.2
    assert score("jaccard", "How do neural networks work?", texts) == 0.2
    assert score("jaccard@1", "How do neural networks work", texts) == pytest.approx(2 / 7)


def test_faithfulness_is_the_share_of_the_questions_words_that_the_text_holds() -> None:
    texts = ["Machine learning applications include", "healthcare diagnosis..."]
    # "what", "the" and "of" don't occur, but "in" does, inside "machine", and "are" inside "healthcare".
    asked = "What are the applications of machine learning in healthcare"
    assert score("faithfulness", asked, texts) == pytest.approx(6 / 9)
    assert score("query_terms@1", asked, texts) == pytest.approx(4 / 9)


def test_words_are_not_joined_across_chunks() -> None:
    assert score("query_terms", "ab", ["xa", "bx"]) == 0


def test_nothing_to_compare_gives_nothing() -> None:
    assert score("jaccard", " ", []) is None
    assert score("query_terms", "", ["a"]) is None
    assert score("query_terms", "a", []) == 0
    assert score("cosine", "a", []) is None


def test_cosine_is_the_mean_of_the_first_chunks() -> None:
    assert score("cosine", "a", ["x", "y", "z"]) == pytest.approx(0.5)
    assert score("cosine@2", "a", ["x", "y", "z"]) == pytest.approx(0.7)
