from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kinsplit.evaluation.significance import compare, estimate, estimates, holm, randomisation_test, tally

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("size", [2, 20, 400])
def test_intervals_are_those_of_scipy(size: int) -> None:
    values = RANDOM.beta(2, 5, size)

    own = estimate(values.tolist())
    theirs = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(3))

    assert own.mean == pytest.approx(values.mean())
    assert own.count == size
    spread = values.std() / np.sqrt(size)
    assert own.low == pytest.approx(theirs.confidence_interval.low, abs=0.1 * spread)
    assert own.high == pytest.approx(theirs.confidence_interval.high, abs=0.1 * spread)


def test_columns_are_estimated_by_the_rows_that_they_have() -> None:
    nan = float("nan")

    first, second, third = estimates([[1.0, 0.0, nan], [nan, 1.0, nan], [0.0, 0.5, nan]])

    assert first is not None
    assert second is not None
    assert (first.mean, first.count) == (0.5, 2)
    assert (second.mean, second.count) == (0.5, 3)
    assert third is None
    assert second == estimate([0.0, 1.0, 0.5])


def test_equal_values_have_no_width_and_the_same_values_the_same_interval() -> None:
    same = estimate([0.25] * 40)
    values = RANDOM.random(50).tolist()

    assert (same.low, same.high) == (pytest.approx(0.25), pytest.approx(0.25))
    assert estimate(values) == estimate(values)


def test_an_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    held = [low <= 0.5 <= high for _ in range(150) for low, high in [_bounds(RANDOM.random(40).tolist())]]

    assert 0.88 <= np.mean(held) <= 0.99


def _bounds(values: list[float]) -> tuple[float, float]:
    found = estimate(values)
    return found.low, found.high


@pytest.mark.parametrize("differences", [[0.5, 0.2], [0.1, 0.2, -0.05], [1, 1, 1, -1, 0, 0], [0.3, -0.3], [0.1] * 13])
def test_few_questions_are_tested_exactly_as_scipy_does(differences: list[float]) -> None:
    exact = stats.permutation_test(
        (np.array(differences),), lambda x, axis: x.sum(axis=axis), permutation_type="samples", vectorized=True
    )

    assert randomisation_test(differences) == pytest.approx(exact.pvalue)


def test_many_questions_are_tested_as_scipy_does() -> None:
    differences = RANDOM.normal(0.1, 0.5, 200)
    theirs = stats.permutation_test(
        (differences,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", rng=np.random.default_rng(5)
    )

    assert randomisation_test(differences.tolist()) == pytest.approx(theirs.pvalue, abs=0.01)
    assert randomisation_test(differences.tolist()) == randomisation_test(differences.tolist())


def test_no_difference_is_no_evidence() -> None:
    assert randomisation_test([0.0] * 30) == 1
    assert randomisation_test([]) == 1
    assert randomisation_test([1e-12] * 30) == 1  # Rounding errors.


def test_a_clear_difference_is_found() -> None:
    assert randomisation_test([0.1] * 100) == pytest.approx(1 / 10_001)


def test_p_values_are_corrected_for_their_number() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_wins_follow_the_direction_of_the_measure() -> None:
    assert tally([0.1, 0.0, -0.2, 1e-15]) == {"wins": 1, "ties": 2, "losses": 1}
    assert tally([0.1, 0.2, -0.2], higher_is_better=False) == {"wins": 1, "ties": 0, "losses": 2}


def test_strategies_are_compared_by_the_questions_that_both_have() -> None:
    values = {"base": [0.0, 0.5, None, 1.0], "better": [1.0, 0.5, 1.0, None], "none": [None, None, 1.0, None]}

    (found,) = compare("recall", "base", values)

    assert (found.strategy, found.baseline, found.measure) == ("better", "base", "recall")
    assert (found.difference.mean, found.difference.count) == (0.5, 2)
    assert (found.wins, found.ties, found.losses) == (1, 1, 0)
    assert found.p_value == 1
