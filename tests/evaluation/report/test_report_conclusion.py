"""The conclusion in words."""

from __future__ import annotations

import pytest

from kinsplit.evaluation.labels import CUTS, MeasureNote, QuestionResult, StatisticNote, StrategyResult
from kinsplit.evaluation.report.tables import (
    comparisons,
    conclusion,
    cuts,
    duel,
    measures,
    scale,
    statistic,
    statistics,
)
from tests.evaluation.made_results import HEADLINE, comparison, estimate, results, setting


def test_the_best_strategy_that_is_better_beyond_chance_is_named_with_its_numbers() -> None:
    compared = [comparison("structure", 0.042, 0.004), comparison("token 512", 0.061, 0.001), comparison("x", 0.2, 0.3)]

    assert conclusion(results(comparisons=compared)) == [
        (
            "token 512 finds more than sentence: recall@1000t +6.1 points [3.0, 9.2], p = 0.001; "
            "better on 6 questions, equal on 4, worse on 2."
        ),
        "Also better than sentence: structure.",
    ]


def test_no_winner_is_said_and_losers_are_named() -> None:
    compared = [comparison("structure", 0.042, 0.05), comparison("token 512", -0.061, 0.0004)]

    assert conclusion(results(comparisons=compared)) == [
        "No strategy is better than sentence beyond chance, by recall@1000t.",
        "Worse than sentence: token 512.",
    ]


def test_a_measure_that_falls_is_better_when_it_falls() -> None:
    compared = [comparison("structure", -0.042, 0.004, "seconds"), comparison("token 512", 0.01, 0.001, "seconds")]
    found = conclusion(results(setting=setting(headline="seconds"), comparisons=compared))

    assert found[0].startswith("structure does better than sentence: seconds -42.00 ms [-73.00, -11.00], p = 0.004;")
    assert found[1:] == ["Worse than sentence: token 512."]


def test_a_headline_without_any_value_is_said_where_questions_are_labelled() -> None:
    assert conclusion(results(setting=setting(headline="AGS@5"), comparisons=[])) == [
        "AGS@5 doesn't apply to any of these questions, so strategies can't be compared by it."
    ]


def test_one_strategy_and_no_labels_conclude_nothing_of_others() -> None:
    one = conclusion(results(strategies=1, comparisons=[]))
    without = results(setting=setting(headline="nDCG@3"), comparisons=[])
    asked = [question.model_copy(update={"labels": []}) for question in without.questions]
    unlabelled = without.model_copy(update={"questions": asked})

    assert one == ["sentence has recall@1000t 60.8 % [56.8, 64.8], and there is nothing to compare it with."]
    told = "No question is labelled, so nothing here shows which strategy finds more of the answers."
    assert conclusion(unlabelled) == [told]
    made = results(setting=setting(headline="jaccard"), comparisons=[comparison("structure", 0.1, 0.01, "jaccard")])
    asked = [question.model_copy(update={"labels": []}) for question in made.questions]
    found = conclusion(made.model_copy(update={"questions": asked}))
    assert found[0].startswith("structure does better than sentence: jaccard +10.0 points")
    assert found[1:] == [told]


@pytest.mark.parametrize(
    ("mean", "written"), [(0.6944, "69.4"), (0.0, "0.0"), (-0.05, "-5.0"), (0.9999, "100.0"), (-0.0001, "0.0")]
)
def test_shares_are_percentages(mean: float, written: str) -> None:
    assert scale(results(), "nDCG@10").value(mean) == written


def test_other_measures_keep_their_own_unit() -> None:
    strategy = results(1).strategies[0]
    changed = strategy.model_copy(update={"measures": {"tokens": estimate(812.5), "seconds": estimate(0.25)}})
    found = results(strategies=1, comparisons=[]).model_copy(update={"strategies": [changed]})

    assert scale(found, "tokens").value(812.5) == "812.50"
    assert (scale(found, "seconds").value(0.25), scale(found, "seconds").unit) == ("250.00", "ms")
    assert scale(found, "seconds").higher_is_better is False
    assert (
        scale(results(notes=[MeasureNote(name="MRR", description="", higher_is_better=False)]), "MRR").higher_is_better
        is False
    )
    assert [statistic(value) for value in (1200.0, 679.374, 0.01234, 0)] == ["1,200", "679.37", "0.0123", "0"]


def test_statistics_have_units_where_their_names_tell_none() -> None:
    known = (("chunks", "chunks"), ("mid_word", "share"), ("duplication", "times"))
    notes = [StatisticNote(name=name, unit=unit, description=f"About {name}") for name, unit in known]
    strategy = results(1).strategies[0]
    values = {"chunks": 12, "mid_word": 0.01234, "duplication": 1.25, "unknown": 0.5}
    changed = strategy.model_copy(update={"statistics": values})
    written, (row,) = statistics(
        results(statistic_notes=notes).model_copy(update={"strategies": [changed]}),
    )

    assert [(figure.name, figure.unit) for figure in written] == [
        ("chunks", ""),
        ("mid_word", "%"),
        ("duplication", "times"),
        ("unknown", ""),
    ]
    assert [cell.text for cell in row.cells] == ["12", "1.2", "1.25", "0.5"]


def test_cuts_have_a_table_of_their_own_with_those_that_can_be_avoided() -> None:
    names = ("chunks", "cuts", "item_cuts", "item_cuts_avoidable", "row_cuts", "row_cuts_avoidable", "line_cuts")
    units = {"chunks": "chunks"}
    notes = [StatisticNote(name=name, unit=units.get(name, CUTS), description=f"About {name}") for name in names]
    values = dict(zip(names, (12, 1200, 30, 4, 0, 0, 7), strict=True))
    changed = results(1).strategies[0].model_copy(update={"statistics": values})
    found = results(statistic_notes=notes).model_copy(update={"strategies": [changed]})

    (figure,), _ = statistics(found)
    written, (row,) = cuts(found)

    assert figure.name == "chunks"
    assert [each.heading for each in written] == ["cuts", "item_cuts", "row_cuts", "line_cuts"]
    assert [(cell.text, cell.remark) for cell in row.cells] == [("1,200", ""), ("4", "of 30"), ("0", ""), ("7", "")]


def test_the_best_of_a_measure_is_marked_unless_all_are_alike() -> None:
    scales, rows = measures(results())
    best = {
        scale.name: [row.name for row, cell in zip(rows, cells, strict=True) if cell.best]
        for scale, cells in zip(scales, zip(*(row.cells for row in rows), strict=True), strict=True)
    }

    assert scales[0].name == HEADLINE
    assert best[HEADLINE] == ["structure"]
    assert best["MRR"] == ["token 512"]
    assert best["jaccard"] == []


def test_less_is_best_where_a_measure_falls() -> None:
    def with_seconds(strategy: StrategyResult, mean: float) -> StrategyResult:
        return strategy.model_copy(update={"measures": {"seconds": estimate(mean, 0)}})

    made = results(2)
    changed = [with_seconds(s, mean) for s, mean in zip(made.strategies, (0.2, 0.1), strict=True)]
    _, rows = measures(made.model_copy(update={"strategies": changed}))

    assert [[cell.best for cell in row.cells] for row in rows] == [[False], [True]]


def test_a_comparison_is_a_row() -> None:
    made = results(setting=setting(headline="MRR"), comparisons=[comparison("x", 0.1, 0.00001, "MRR")])
    (row,) = comparisons(made)

    assert [cell.text for cell in row.cells] == ["+10.0 points", "< 0.001", "better", "6", "4", "2"]


def test_questions_are_won_and_lost_by_the_measure_and_its_direction() -> None:
    made = results(2, questions=4)
    ids = [question.id for question in made.questions]

    def answers(strategy: str, values: list[float | None]) -> list[QuestionResult]:
        return [
            QuestionResult(
                question_id=name, strategy=strategy, measures={} if value is None else {"seconds": value}, hits=[]
            )
            for name, value in zip(ids, values, strict=True)
        ]

    rows = [*answers("sentence", [0.3, 0.3, 0.3, None]), *answers("structure", [0.2, 0.9, 0.3 + 1e-12, 0.1])]
    found = duel(made.model_copy(update={"results": rows}), "structure", "seconds")

    assert [pair.question.id for pair in found.won] == [ids[0]]
    assert [pair.question.id for pair in found.lost] == [ids[1]]
