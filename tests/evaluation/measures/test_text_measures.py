"""Chroma's measures of labelled text, with figures calculated by hand from the report's definitions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.measures.registry import create
from tests.evaluation.making import chunk, chunking, label, outcome, question

# 100 characters each, of which the next chunk repeats 50.
CHUNKS = [chunk(f"c{at}", (at, at + 100)) for at in range(0, 500, 50)]
C0, C50, C100, C150, C200, *_ = CHUNKS
NAMES = ("text_recall@5", "text_precision@5", "iou@5", "precision_omega")


def scores(asked: Question, ranking: Sequence[Chunk], chunks: Sequence[Chunk] = CHUNKS) -> list[float | None]:
    return [create(name).score(outcome(asked, ranking), chunking(chunks)) for name in NAMES]


def test_one_chunk_that_holds_half_of_the_label() -> None:
    # Labelled 60 to 140: c0 has 40 of it, c50 80, c100 40.
    assert scores(question(label((60, 140))), [C0]) == pytest.approx([0.5, 0.4, 40 / 140, 80 / 300])


def test_text_that_two_chunks_hold_is_found_once_and_retrieved_twice() -> None:
    assert scores(question(label((60, 140))), [C0, C50]) == pytest.approx([1, 0.4, 0.4, 80 / 300])


def test_labels_that_overlap_are_united() -> None:
    asked = question(label((60, 100)), label((80, 140)))
    assert scores(asked, [C0, C50]) == pytest.approx([1, 0.4, 0.4, 80 / 300])


def test_a_chunk_that_only_touches_the_label_holds_none_of_it() -> None:
    apart = [chunk("a", (0, 100)), chunk("b", (100, 200))]
    assert scores(question(label((100, 200))), apart[:1], apart) == [0, 0, 0, 1]


def test_what_other_documents_give_counts_as_retrieved() -> None:
    other = chunk("o", (0, 100), source="e")
    assert scores(question(label((0, 100))), [other, C0]) == pytest.approx([1, 0.5, 0.5, 150 / 200 * 2 / 3])


def test_only_the_first_chunks_count() -> None:
    ranking = [C150, C200, C0]
    found = outcome(question(label((0, 50))), ranking)
    assert create("text_recall@2").score(found, chunking(CHUNKS)) == 0
    assert create("text_precision@3").score(found, chunking(CHUNKS)) == pytest.approx(50 / 300)


def test_a_copy_suffices_and_the_other_one_is_no_waste() -> None:
    copies = question(label((0, 50), (400, 450)))
    elsewhere = next(own for own in CHUNKS if own.id == "c400")
    assert scores(copies, [elsewhere])[:3] == pytest.approx([1, 0.5, 0.5])
    assert scores(copies, [elsewhere, C0])[:3] == pytest.approx([1, 0.5, 0.5])


def test_characters_of_several_spans_are_those_of_the_spans() -> None:
    gathered = chunk("g", (0, 50), (100, 150))
    assert scores(question(label((100, 200))), [gathered], [gathered]) == pytest.approx([0.5, 0.5, 50 / 150, 0.5])


@pytest.mark.parametrize("asked", [question(), question(label(None), label((0, 9)))])
def test_where_no_text_or_a_whole_document_is_labelled_nothing_is_said(asked: Question) -> None:
    assert scores(asked, [C0]) == [None] * 4


def test_nothing_retrieved_is_nothing_found() -> None:
    assert scores(question(label((60, 140))), [], []) == [0, 0, 0, 0]


spans = st.tuples(st.integers(0, 400), st.integers(1, 90)).map(lambda pair: (pair[0], sum(pair)))


@given(st.lists(spans, min_size=1, max_size=4), st.lists(st.sampled_from(range(10)), max_size=6, unique=True))
def test_shares_are_shares_and_iou_is_the_least(found: list[tuple[int, int]], ranking: list[int]) -> None:
    recall, precision, iou, omega = scores(question(*map(label, found)), [CHUNKS[at] for at in ranking])
    assert 0 <= iou <= min(recall, precision)
    assert max(recall, precision) <= 1
    assert 0 < omega <= 1
