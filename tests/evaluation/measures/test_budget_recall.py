"""Recall at a token budget."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Label, Place, Question
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.evaluation.measures.registry import create
from kinsplit.spans import Span
from kinsplit.tokenizers.protocol import IntArray
from tests.evaluation.making import Letters, chunk, chunking, label, outcome, question


def recall(budget: int, asked: Question, ranking: Sequence[Chunk]) -> float | None:
    return create(f"recall@{budget}t").score(outcome(asked, ranking), chunking(ranking))


A, B, C = chunk("a", (0, 100)), chunk("b", (100, 200)), chunk("c", (50, 150))


@pytest.mark.parametrize(
    ("budget", "share"),
    [(1, 0), (110, 0), (120, 0.25), (150, 1), (500, 1)],
)
def test_a_chunk_is_cut_where_the_budget_ends(budget: int, share: float) -> None:
    # Offsets 110 to 150 of the document are the same in the text of A and B.
    assert recall(budget, question(label((110, 150))), [A, B]) == share


def test_text_that_chunks_repeat_costs_its_tokens_again() -> None:
    asked = question(label((100, 150)))
    assert recall(200, asked, [A, B]) == 1
    assert recall(150, asked, [A, C]) == 0
    assert recall(175, asked, [A, C]) == 0.5
    assert recall(300, asked, [A, C, B]) == 1


def test_spans_of_a_question_are_united_before_they_are_counted() -> None:
    asked = question(label((0, 60)), label((40, 100)), label((100, 200)))
    assert recall(100, asked, [A, B]) == 0.5


def test_of_several_places_the_best_covered_one_counts() -> None:
    copies = label((500, 600), (0, 100))
    assert recall(100, question(copies), [A, B]) == 1
    # The copies weigh 100 characters, like the other label.
    assert recall(100, question(copies, label((100, 200))), [A, B]) == 0.5
    # Alternatives of 50 and 150 characters have the same weight.
    assert recall(100, question(label((0, 50), (600, 750)), label((100, 200))), [A, B]) == 0.5


def test_a_document_as_such_is_found_once_any_text_of_it_is_read() -> None:
    other = chunk("o", (0, 10), source="e")
    both = question(label(None), label(None, source="e"))
    assert recall(100, both, [A, other]) == 0.5
    assert recall(101, both, [A, other]) == 1
    assert recall(100, question(label(None), label((100, 200))), [A, other]) == 0.5


def test_a_chunk_of_several_spans_is_cut_in_its_joined_text() -> None:
    gathered = chunk("g", (0, 10), (100, 110))
    asked = question(label((100, 110)))
    # Ten letters, two characters of the separator, then the second span.
    assert recall(12, asked, [gathered]) == 0
    assert recall(17, asked, [gathered]) == 0.5
    assert recall(22, asked, [gathered]) == 1


def test_a_chunk_whose_text_was_rewritten_is_cut_in_proportion() -> None:
    rewritten = chunk("r", (0, 100), (200, 300), document="-" * 50 + " " * 950)
    shorter = Chunk("r", "d", 0, 1, 0, rewritten.spans, "x" * 100, "")
    asked = question(label((0, 100)), label((200, 300)))
    assert recall(75, asked, [shorter]) == 0.75
    assert recall(25, asked, [shorter]) == 0.25


class Doubled(Letters):
    """A tokenizer that counts each letter twice but locates it once, as may happen with a function as a tokenizer."""

    def count(self, texts: Sequence[str]) -> IntArray:
        return 2 * super().count(texts)


def test_a_tokenizer_may_count_more_tokens_than_it_places() -> None:
    counted = Chunking(chunking([A]).dataset, (A,), Doubled())
    found = outcome(question(label((0, 100))), [A])
    assert create("recall@150t").score(found, counted) == 1
    assert create("recall@50t").score(found, counted) == 0.5


def test_a_question_without_labels_has_no_recall() -> None:
    assert recall(100, question(), [A]) is None
    assert recall(100, question(label((0, 10))), []) == 0


spans = st.tuples(st.integers(0, 60), st.integers(1, 30)).map(lambda pair: Span(pair[0], sum(pair)))
places = st.builds(Place, st.sampled_from(["d", "e"]), st.none() | spans)
labels = st.builds(Label, st.lists(places, min_size=1, max_size=3).map(tuple))
questions = st.builds(Question, st.just("q"), st.just("?"), st.lists(labels, min_size=1, max_size=4).map(tuple))
rankings = st.lists(st.tuples(st.sampled_from(["d", "e"]), spans), max_size=6).map(
    lambda found: [chunk(f"c{i}", span, source=source) for i, (source, span) in enumerate(found)]
)


@given(questions, rankings)
def test_recall_never_falls_as_the_budget_grows(asked: Question, ranking: list[Chunk]) -> None:
    shares = [recall(budget, asked, ranking) for budget in (1, 5, 17, 40, 80, 1000)]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)


@given(questions)
def test_all_is_found_by_who_reads_all(asked: Question) -> None:
    everything = [chunk("d", (0, 100)), chunk("e", (0, 100), source="e")]
    assert recall(200, asked, everything) == pytest.approx(1)
