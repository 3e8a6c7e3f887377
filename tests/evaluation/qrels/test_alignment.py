"""Relevant chunks by labels."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.qrels import SC_QRELS, Alignment, tune_thresholds, unjudged
from kinsplit.options import SpanRule
from tests.evaluation.making import chunk, label, question


def relevant(asked: Question, *chunks: Chunk, rule: SpanRule = SC_QRELS) -> dict[str, int]:
    return Alignment(chunks).relevant(asked, rule)


@pytest.mark.parametrize(
    ("span", "found"),
    [
        ((0, 100), True),
        ((15, 115), True),  # The chunk holds 85 of 100 characters.
        ((16, 116), False),
        ((50, 100), True),  # The label fills half of the chunk.
        ((51, 100), False),
        ((100, 200), False),  # Adjacent spans share no text.
    ],
)
def test_both_thresholds_are_reached_at_their_value(span: tuple[int, int], found: bool) -> None:
    assert relevant(question(label(span)), chunk("c", (0, 100))) == ({"c": 1} if found else {})


def test_any_place_of_any_label_makes_a_chunk_relevant_by_the_highest_grade() -> None:
    chunks = [chunk("a", (0, 50)), chunk("b", (50, 100)), chunk("e", (0, 50), source="e")]
    asked = question(label((0, 50), (50, 100), grade=2), label((50, 98), grade=3), label((0, 50), source="e"))
    assert relevant(asked, *chunks) == {"a": 2, "b": 3, "e": 1}


def test_every_chunk_of_a_labelled_document_is_relevant() -> None:
    chunks = [chunk("a", (0, 50)), chunk("b", (50, 100)), chunk("e", (0, 50), source="e")]
    assert relevant(question(label(None, grade=2)), *chunks) == {"a": 2, "b": 2}
    assert relevant(question(label(None, source="absent")), *chunks) == {}


def test_spans_of_a_chunk_count_together() -> None:
    gathered = chunk("g", (0, 50), (60, 110))
    assert relevant(question(label((0, 110))), gathered) == {"g": 1}
    assert relevant(question(label((0, 49))), gathered) == {}


def test_levels_add_degrees_to_a_grade() -> None:
    rule = SpanRule(span_coverage=0.25, chunk_coverage=0, coverage_levels=(0.5, 1.0))
    chunks = [chunk(name, (0, end)) for name, end in [("a", 24), ("b", 25), ("c", 50), ("d", 200)]]
    assert relevant(question(label((0, 100), grade=2)), *chunks, rule=rule) == {"b": 2, "c": 4, "d": 6}


@pytest.mark.parametrize(
    "values",
    [
        {"span_coverage": 0},
        {"span_coverage": 1.5},
        {"chunk_coverage": -0.1},
        {"coverage_levels": (0.5,)},
        {"coverage_levels": (0.9, 0.9)},
        {"coverage_levels": (1.1,)},
        {"coverage": 1},
    ],
)
def test_a_rule_that_means_nothing_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(values))):
        SpanRule(**values)


def test_questions_without_a_relevant_chunk_are_told() -> None:
    starved, judged, silent = question(label((0, 9)), name="a"), question(label((0, 99)), name="b"), question(name="c")
    qrels = Alignment([chunk("c", (0, 100))]).qrels([starved, judged, silent], SC_QRELS)
    assert qrels == {"b": {"c": 1}}
    assert unjudged([starved, judged, silent], qrels) == [starved]


pairs = st.tuples(st.integers(0, 80), st.integers(1, 40)).map(lambda pair: (pair[0], sum(pair)))
apart = st.sets(st.integers(0, 120), min_size=2, max_size=6).map(
    lambda bounds: list(zip(sorted(bounds)[::2], sorted(bounds)[1::2], strict=False))
)
many = st.lists(st.tuples(apart, st.sampled_from("de")), max_size=8).map(
    lambda found: [chunk(f"c{i}", *spans, source=source) for i, (spans, source) in enumerate(found)]
)
asked = st.lists(st.builds(label, pairs, pairs, source=st.sampled_from("de"), grade=st.integers(1, 3)), min_size=1)
rules = st.builds(
    SpanRule, span_coverage=st.floats(0.05, 0.9), chunk_coverage=st.floats(0, 1), coverage_levels=st.just((0.95,))
)


def by_every_pair(wanted: Question, chunks: list[Chunk], rule: SpanRule) -> dict[str, int]:
    """Return the relevant chunks, computed character by character."""
    degrees: dict[str, int] = {}
    for own in chunks:
        held = {at for span in own.spans for at in range(*span)}
        for one in wanted.labels:
            for source, span in one.places:
                common = len(held & set(range(*span))) if source == own.source_id else 0
                degree = one.grade * rule.degree(common / (span.end - span.start), common / len(held)) if common else 0
                degrees[own.id] = max(degree, degrees.get(own.id, 0))
    return {name: degree for name, degree in degrees.items() if degree}


@given(asked, many, rules, st.randoms(use_true_random=False))
def test_alignment_is_what_comparing_every_pair_gives_in_any_order(
    labels: list[object], chunks: list[Chunk], rule: SpanRule, shuffled: random.Random
) -> None:
    wanted = question(*labels)
    expected = by_every_pair(wanted, chunks, rule)
    assert relevant(wanted, *chunks, rule=rule) == expected
    shuffled.shuffle(chunks)
    assert relevant(wanted, *chunks, rule=rule) == expected


def test_thresholds_are_tuned_for_chunks_of_every_size() -> None:
    wanted = [question(label((at, at + 50)), name=str(at)) for at in range(0, 1000, 100)]
    small = Alignment(chunk(str(at), (at, at + 25)) for at in range(0, 1000, 25))
    large = Alignment(chunk(str(at), (at, at + 500)) for at in range(0, 1000, 500))
    tuning = tune_thresholds([*wanted, question(name="without")], [small, large])
    found = {(t.rule.span_coverage, t.rule.chunk_coverage): (t.judged, t.relevant) for t in tuning.trials}
    # Two small chunks together hold a label, and each label fills a tenth of a large chunk.
    assert found[0.5, 0.5] == ((1, 0), (2, 0))
    assert found[0.75, 0.1] == ((0, 1), (0, 1))
    assert found[0.5, 0.1] == ((1, 1), (2, 1))
    assert tuning.best == SpanRule(span_coverage=0.5, chunk_coverage=0.1)
    assert tune_thresholds(wanted, [large]).best == SpanRule(span_coverage=1.0, chunk_coverage=0.1)


def test_a_rule_need_judge_only_as_many_as_asked() -> None:
    wanted = [question(label((0, 100)), name="a"), question(label((900, 901)), name="b")]
    chunks = Alignment([chunk("c", (0, 100)), chunk("d", (100, 1000))])
    assert tune_thresholds(wanted, [chunks], least=0.5).best == SpanRule(span_coverage=1, chunk_coverage=0.75)
    assert tune_thresholds(wanted, [chunks], chunk_coverages=[0.5]).best is None


@settings(max_examples=30)
@given(st.lists(asked, min_size=1, max_size=4), many)
def test_stricter_thresholds_never_judge_more(labels: list[list[object]], chunks: list[Chunk]) -> None:
    wanted = [question(*own, name=str(number)) for number, own in enumerate(labels)]
    tuning = tune_thresholds(wanted, [Alignment(chunks)])
    found = {(t.rule.span_coverage, t.rule.chunk_coverage): (t.judged, t.relevant) for t in tuning.trials}
    for (span, own), left in found.items():
        assert all(left >= less for (s, c), less in found.items() if s >= span and c >= own)
    for trial in tuning.trials:
        qrels = Alignment(chunks).qrels(wanted, trial.rule)
        assert trial.judged == (len(qrels) / len(wanted),)
        assert trial.relevant == (sum(map(len, qrels.values())) / len(wanted),)


@pytest.mark.parametrize(
    ("wanted", "least", "field"),
    [([], 0.9, "questions"), ([question()], 0.9, "questions"), ([question(label((0, 1)))], 0, "least")],
)
def test_nothing_to_tune_is_an_error(wanted: list[Question], least: float, field: str) -> None:
    with pytest.raises(InvalidParameterError, match=field):
        tune_thresholds(wanted, [Alignment([])], least)
