"""The measures of ir-measures on span qrels, and AND-group success."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.errors import MissingExtraError
from kinsplit.evaluation.measures.protocol import Outcome
from kinsplit.evaluation.measures.ranks import RANK_MEASURES
from kinsplit.evaluation.measures.registry import create
from kinsplit.options import SpanRule
from tests.evaluation.making import chunk, chunking, label, outcome, question

CHUNKS = [chunk(name, (at, at + 100)) for name, at in zip("abcdefg", range(0, 700, 100), strict=True)]
A, B, C, D, *_ = CHUNKS
ASKED = question(label((105, 195)), label((300, 400), grade=2))


def score(name: str, ranking: str, rule: SpanRule | None = None) -> float | None:
    by_name = {own.id: own for own in CHUNKS}
    found = outcome(ASKED, [by_name[letter] for letter in ranking])
    return create(name, rule=rule or SpanRule()).score(found, chunking(CHUNKS))


@pytest.mark.parametrize(
    ("name", "ranking", "value"),
    [
        ("P@2", "abcd", 0.5),
        ("P@5", "b", 0.2),
        ("R@2", "abcd", 0.5),
        ("R@4", "abcd", 1),
        ("MRR", "acgd", 0.25),
        ("RR@3", "acgd", 0),
        ("MAP", "abcd", (1 / 2 + 2 / 4) / 2),
        ("Success@1", "abcd", 0),
        ("Success@2", "abcd", 1),
        ("nDCG@3", "bda", (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))),
        ("nDCG", "db", 1),
        ("nDCG", "", 0),
    ],
)
def test_values_are_those_worked_out_by_hand(name: str, ranking: str, value: float) -> None:
    assert score(name, ranking) == pytest.approx(value)


def test_the_ranking_decides_where_scores_are_equal() -> None:
    equal = Outcome(ASKED, [B, D, A], [1.0, 1.0, 1.0], [0.0] * 3, 0)
    assert create("MRR").score(equal, chunking(CHUNKS)) == 1


def test_a_question_without_a_relevant_chunk_is_not_judged() -> None:
    whole = chunking([chunk("whole", (0, 1000))])
    assert create("nDCG@10").score(outcome(ASKED, whole.chunks), whole) is None
    loose = create("nDCG@10", rule=SpanRule(chunk_coverage=0.05))
    assert loose.score(outcome(ASKED, whole.chunks), whole) == 1


@pytest.mark.parametrize("pattern", RANK_MEASURES)
@given(st.permutations("abcdefg"))
def test_no_ranking_is_better_than_a_perfect_one(pattern: str, ranking: list[str]) -> None:
    name = pattern.replace("[@k]", "").replace("@k", "@2")
    assert 0 <= score(name, "".join(ranking)) <= score(name, "dbacefg") == 1


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError, match=r"kinsplit\[evaluation\]"):
        create("P@5")


PAIR = (label((50, 150), group="g"), label((300, 400), group="g"))


@pytest.mark.parametrize(
    ("ranking", "value"),
    [
        ([A, B, D], 1),  # Two chunks together hold the first label.
        ([A, D], 0),
        ([A, B, C, D], 0),  # The second label is found too late.
        ([], 0),
    ],
)
def test_a_group_counts_once_all_of_it_is_covered(ranking: list[object], value: float) -> None:
    assert create("AGS@3").score(outcome(question(*PAIR), ranking), chunking(CHUNKS)) == value


def test_labels_outside_groups_need_not_be_found_and_groups_are_averaged() -> None:
    other = (label((600, 700), group="h"), label((0, 10)))
    found = outcome(question(*PAIR, *other), [A, B, D])
    assert create("AGS@3").score(found, chunking(CHUNKS)) == 0.5
    assert create("AGS@3").score(outcome(question(label((0, 10))), [A]), chunking(CHUNKS)) is None


def test_a_label_of_a_group_is_covered_by_the_rules_share_of_any_place() -> None:
    asked = question(label((500, 600), (85, 185), group="g"))
    assert create("AGS@1").score(outcome(asked, [B]), chunking(CHUNKS)) == 1
    strict = create("AGS@1", rule=SpanRule(span_coverage=0.86))
    assert strict.score(outcome(asked, [B]), chunking(CHUNKS)) == 0
    assert create("AGS@1").score(outcome(question(label(None, group="g")), [B]), chunking(CHUNKS)) == 1
