"""Comparison of a strategy with the baseline, question by question, and its conclusion in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kinsplit.evaluation.report.scales import Scale, p_value, scale
from kinsplit.evaluation.significance import TIE
from kinsplit.evaluation.values import AskedQuestion, Comparison, QuestionResult, ResultValues


@dataclass(frozen=True, slots=True)
class Pair:
    """The results of a strategy and the baseline for one question.

    Attributes:
        question: The question.
        strategy: Result of the strategy.
        baseline: Result of the baseline.
        gain: Advantage of the strategy; negative where it is worse.
    """

    question: AskedQuestion
    strategy: QuestionResult
    baseline: QuestionResult
    gain: float


@dataclass(frozen=True, slots=True)
class Duel:
    """The questions on which a strategy and the baseline differ.

    Attributes:
        strategy: Label of the strategy.
        baseline: Label of the baseline.
        won: Questions on which the strategy is better, largest gain first.
        lost: Questions on which the baseline is better, largest loss first.
    """

    strategy: str
    baseline: str
    won: Sequence[Pair]
    lost: Sequence[Pair]


def baseline_of(results: ResultValues) -> str:
    """Return the label of the baseline: that of the comparisons, or else the first strategy."""
    return results.comparisons[0].baseline if results.comparisons else results.strategies[0].label


def duel(results: ResultValues, strategy: str, measure: str) -> Duel:
    """Compare a strategy with the baseline, question by question.

    Args:
        results: The results.
        strategy: Label of the strategy.
        measure: Name of the measure; questions without a value are left out.
    """
    sign = 1 if scale(results, measure).higher_is_better else -1
    baseline = baseline_of(results)
    ours, theirs = _answers(results, strategy, measure), _answers(results, baseline, measure)
    pairs = [
        Pair(
            question,
            ours[question.id],
            theirs[question.id],
            sign * (ours[question.id].measures[measure] - theirs[question.id].measures[measure]),
        )
        for question in results.questions
        if question.id in ours and question.id in theirs
    ]
    won = sorted((pair for pair in pairs if pair.gain > TIE), key=lambda pair: -pair.gain)
    lost = sorted((pair for pair in pairs if pair.gain < -TIE), key=lambda pair: pair.gain)
    return Duel(strategy, baseline, won, lost)


def _answers(results: ResultValues, strategy: str, measure: str) -> Mapping[str, QuestionResult]:
    return {
        result.question_id: result
        for result in results.results
        if result.strategy == strategy and measure in result.measures
    }


#: P-value below which a difference is significant.
SIGNIFICANT = 0.05
_UNLABELLED = "No question is labelled, so nothing here shows which strategy finds more of the answers."


def conclusion(results: ResultValues) -> list[str]:
    """Return the conclusion by the headline measure, in sentences."""
    headline = results.setting.headline
    unlabelled = [] if any(question.labels for question in results.questions) else [_UNLABELLED]
    if not any(headline in strategy.measures for strategy in results.strategies):
        return unlabelled or [
            f"{headline} doesn't apply to any of these questions, so strategies can't be compared by it."
        ]
    return [*_compared(results, headline), *unlabelled]


def _compared(results: ResultValues, headline: str) -> list[str]:
    measured = scale(results, headline)
    compared = [comparison for comparison in results.comparisons if comparison.measure == headline]
    if not compared:
        (first, *_) = (strategy for strategy in results.strategies if headline in strategy.measures)
        estimate = first.measures[headline]
        value = f"{measured.value(estimate.mean)} {measured.unit} {measured.interval(estimate)}".replace("  ", " ")
        return [f"{first.label} has {headline} {value}, and there is nothing to compare it with."]
    better = [comparison for comparison in compared if verdict(comparison, measured) == "better"]
    worse = [comparison for comparison in compared if verdict(comparison, measured) == "worse"]
    baseline = compared[0].baseline
    if better:
        return [*_winners(better, measured), *_also("Worse than", baseline, worse)]
    nobody = f"No strategy is better than {baseline} beyond chance, by {headline}."
    return [nobody, *_also("Worse than", baseline, worse)]


def verdict(comparison: Comparison, measured: Scale) -> str:
    """Return "better", "worse", or "like" if the difference may be chance."""
    mean = comparison.difference.mean
    if comparison.p_value >= SIGNIFICANT or mean == 0:
        return "like"
    return "better" if measured.better(mean, 0) else "worse"


def _winners(better: Sequence[Comparison], measured: Scale) -> list[str]:
    sign = -1 if measured.higher_is_better else 1
    best, *others = sorted(better, key=lambda comparison: sign * comparison.difference.mean)
    verb = "finds more than" if measured.name.lower().startswith(("recall", "r@")) else "does better than"
    difference = best.difference
    change = " ".join(filter(None, (measured.difference(difference.mean), measured.difference_unit)))
    interval = measured.interval(difference)
    first = (
        f"{best.strategy} {verb} {best.baseline}: {measured.name} {change} {interval}, {p_value(best.p_value)}; "
        f"better on {best.wins:,} questions, equal on {best.ties:,}, worse on {best.losses:,}."
    )
    return [first, *_also("Also better than", best.baseline, others)]


def _also(how: str, baseline: str, comparisons: Sequence[Comparison]) -> list[str]:
    names = ", ".join(comparison.strategy for comparison in comparisons)
    return [f"{how} {baseline}: {names}."] if comparisons else []
