"""Confidence intervals of means, and significance tests of differences.

Intervals are percentile bootstrap intervals (Efron, *Bootstrap Methods: Another Look at the Jackknife*, Annals of
Statistics 7, 1979); p-values are of the paired randomisation test, which Smucker, Allan and Carterette (*A Comparison
of Statistical Significance Tests for Information Retrieval Evaluation*, CIKM 2007) recommend. Everything is seeded: the
same values always give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinsplit.evaluation.labels import Comparison, Estimate

#: Number of resamples of an interval, and of random sign flips of a test.
RESAMPLES = 10_000
#: Differences below this are rounding errors.
TIE = 1e-9
#: P-value below which a difference is significant.
SIGNIFICANT = 0.05
#: Maximum number of differences for which all sign flips are tried, as 2 ** 13 < RESAMPLES.
_EXACT = 13
#: Maximum number of values in memory at once.
_BLOCK = 4_000_000


def estimates(values: ArrayLike) -> list[Estimate | None]:
    """Return means with their 95 % intervals, all from the same resamples of the questions.

    `values` has shape (questions, measures), with NaN where a measure doesn't apply to a question. A column without
    values has None.
    """
    table = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(table)
    found: list[Estimate | None] = [None] * table.shape[1]
    for pattern in np.unique(known, axis=1).T:
        columns = np.flatnonzero((known == pattern[:, None]).all(axis=0))
        if pattern.any():
            own = table[np.ix_(pattern, columns)]
            lows, highs = np.percentile(_resampled(own), (2.5, 97.5), axis=0)
            means, count = own.mean(axis=0), int(pattern.sum())
            for place, mean, low, high in zip(columns, means, lows, highs, strict=True):
                found[place] = Estimate(mean=float(mean), low=float(low), high=float(high), count=count)
    return found


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of at least one value with its 95 % interval."""
    (found,) = estimates(np.asarray(values, dtype=np.float64)[:, None])
    if found is None:
        raise ValueError("An estimate needs a value.")
    return found


def _resampled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of resamples, shape (RESAMPLES, columns); values has shape (questions, columns)."""
    random, size = np.random.default_rng(0), len(values)
    step, parts = max(1, _BLOCK // size), list[NDArray[np.float64]]()
    for done in range(0, RESAMPLES, step):
        rows = min(step, RESAMPLES - done)
        # From the number of draws of each question, one matrix product gives all means.
        drawn = random.integers(0, size, (rows, size)) + size * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size)
        parts.append(times.astype(np.float64) @ values / size)
    return np.concatenate(parts)


def randomisation_test(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of paired differences, under the hypothesis that their signs are random.

    All sign flips are tried if at most 13 differences are non-zero, otherwise 10,000 random ones.
    """
    values = np.asarray(differences, dtype=np.float64)
    values = values[np.abs(values) > TIE]  # Flipping a zero changes nothing.
    if not len(values):
        return 1.0
    least = abs(values.sum()) * (1 - 1e-12)  # Tolerates rounding errors.
    if len(values) <= _EXACT:
        bits = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        return float(np.mean(np.abs((1 - 2 * bits) @ values) >= least))
    random, step, hits = np.random.default_rng(0), max(1, _BLOCK // len(values)), 0
    for done in range(0, RESAMPLES, step):
        flips = random.integers(0, 2, (min(step, RESAMPLES - done), len(values)), dtype=np.int8)
        hits += int((np.abs((1 - 2 * flips) @ values) >= least).sum())
    return (hits + 1) / (RESAMPLES + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values in their order, corrected for their number (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = sorted(range(len(p_values)), key=lambda position: p_values[position])
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, position in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[position]))
        corrected[position] = highest
    return corrected


def tally(differences: Sequence[float], *, higher_is_better: bool = True) -> dict[str, int]:
    """Return the numbers of `wins`, `ties` and `losses`: questions with a better, an equal and a worse value."""
    values = np.asarray(differences, dtype=np.float64) * (1 if higher_is_better else -1)
    wins, losses = int((values > TIE).sum()), int((values < -TIE).sum())
    return {"wins": wins, "ties": len(values) - wins - losses, "losses": losses}


def compare(
    measure: str, baseline: str, values: Mapping[str, Sequence[float | None]], *, higher_is_better: bool = True
) -> list[Comparison]:
    """Compare each strategy with the baseline, on the questions for which both have a value; None is no value.

    Strategies that share no question with the baseline are left out. p-values are corrected for the number of others.
    """
    differences = {
        label: found
        for label, own in values.items()
        if label != baseline
        and (found := [a - b for a, b in zip(own, values[baseline], strict=True) if a is not None and b is not None])
    }
    corrected = holm([randomisation_test(found) for found in differences.values()])
    return [
        Comparison(
            measure=measure,
            strategy=label,
            baseline=baseline,
            difference=estimate(found),
            p_value=p_value,
            **tally(found, higher_is_better=higher_is_better),
        )
        for (label, found), p_value in zip(differences.items(), corrected, strict=True)
    ]
