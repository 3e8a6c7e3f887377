"""Single questions on which a strategy and the baseline differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kinsplit.evaluation.report.scales import scale
from kinsplit.evaluation.results import AskedQuestion, QuestionResult, Results
from kinsplit.evaluation.significance import TIE


@dataclass(frozen=True, slots=True)
class Pair:
    """One question as a strategy and the baseline answered it.

    Attributes:
        question: The question.
        strategy: What the strategy retrieved.
        baseline: What the baseline retrieved.
        gain: By how much the strategy is better; negative where it is worse.
    """

    question: AskedQuestion
    strategy: QuestionResult
    baseline: QuestionResult
    gain: float


@dataclass(frozen=True, slots=True)
class Duel:
    """The questions that tell a strategy from the baseline.

    Attributes:
        strategy: Label.
        baseline: Label.
        won: Where the strategy is better, the widest gap first.
        lost: Where the baseline is better, the widest gap first.
    """

    strategy: str
    baseline: str
    won: Sequence[Pair]
    lost: Sequence[Pair]


def baseline_of(results: Results) -> str:
    """Return the label of what the others are compared with: the first strategy, unless the comparisons say."""
    return results.comparisons[0].baseline if results.comparisons else results.strategies[0].label


def duel(results: Results, strategy: str, measure: str) -> Duel:
    """Compare a strategy with the baseline, question by question.

    Args:
        results: What was found out.
        strategy: Label of the strategy.
        measure: Judges the questions; those without a value are left out.
    """
    sign = 1 if scale(results, measure).rises else -1
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


def _answers(results: Results, strategy: str, measure: str) -> Mapping[str, QuestionResult]:
    return {
        result.question_id: result
        for result in results.results
        if result.strategy == strategy and measure in result.measures
    }
