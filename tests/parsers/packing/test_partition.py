"""The best division of units into runs, compared with all divisions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.parsers.packing.groups import UnitRun
from kinsplit.parsers.packing.partition import partition, with_overlap
from kinsplit.parsers.packing.refine import Scale


def scale_of(lengths: list[int]) -> Scale:
    right = np.cumsum(lengths, dtype=np.int64)
    return Scale(right - np.array(lengths, dtype=np.int64), right)


def divisions(total: int) -> Iterator[list[UnitRun]]:
    """Yield every way to divide units into runs."""
    for mask in range(2 ** max(0, total - 1)):
        cuts = [0, *(i + 1 for i in range(total - 1) if mask >> i & 1), total]
        yield [UnitRun(a, b) for a, b in pairwise(cuts)]


@settings(max_examples=100)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=9),
    least=st.integers(1, 3),
    more=st.integers(0, 4),
    data=st.data(),
)
def test_no_division_within_the_limits_gains_more(
    lengths: list[int], least: int, more: int, data: st.DataObject
) -> None:
    total, most, limit = len(lengths), least + more, data.draw(st.integers(9, 40))
    gains = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=total - 1, max_size=total - 1)), dtype=float)
    barred = data.draw(st.lists(st.integers(1, max(1, total - 1)), unique=True, max_size=2)) if total > 1 else []
    scale = scale_of(lengths)

    def worth(runs: list[UnitRun]) -> tuple[int, int, float]:
        short = sum(max(0, least - (stop - first)) for first, stop in runs)
        crossed = sum(run.first in barred for run in runs)
        return -crossed, -short, sum(gains[run.first - 1] for run in runs if run.first)

    allowed = [
        runs
        for runs in divisions(total)
        if all(
            stop - first <= most and (stop - first == 1 or sum(lengths[first:stop]) <= limit) for first, stop in runs
        )
    ]
    found = partition(scale, limit, gains, least=least, most=most, barred=barred)
    assert found in allowed
    assert worth(found) == max(map(worth, allowed))


def test_without_a_gain_nothing_is_cut_that_need_not_be() -> None:
    assert partition(scale_of([1] * 20), 99, np.zeros(19), least=3, most=20) == [UnitRun(0, 20)]
    assert len(partition(scale_of([1] * 41), 99, np.zeros(40), least=3, most=20)) == 3
    assert partition(scale_of([]), 99, np.zeros(0), least=3, most=20) == []


def test_a_run_that_does_not_fit_when_measured_is_not_taken() -> None:
    runs = partition(scale_of([1] * 6), 99, np.zeros(5), least=1, most=6, fits=lambda first, stop: stop - first <= 2)
    assert runs == [UnitRun(0, 2), UnitRun(2, 4), UnitRun(4, 6)]


def test_overlap_takes_what_has_room_and_never_all_of_the_run_before() -> None:
    scale = scale_of([2, 2, 2, 2, 2])
    runs = [UnitRun(0, 2), UnitRun(2, 3), UnitRun(3, 5)]
    assert with_overlap(runs, 0, scale, 6) == runs
    assert with_overlap(runs, 2, scale, 6) == [UnitRun(0, 2), UnitRun(1, 3), UnitRun(3, 5)]
    assert with_overlap(runs, 1, scale, 4) == [UnitRun(0, 2), UnitRun(1, 3), UnitRun(3, 5)]
    assert with_overlap(runs, 1, scale, 2) == runs
    assert with_overlap([UnitRun(0, 3), UnitRun(3, 5)], 9, scale, 99, fits=lambda first, _: first > 1) == [
        UnitRun(0, 3),
        UnitRun(2, 5),
    ]
    assert with_overlap([], 2, scale, 9) == []


@pytest.mark.parametrize("number", [0, 1, 2])
def test_texts_of_hardly_any_units_have_defined_results(number: int) -> None:
    runs = partition(scale_of([5] * number), 9, np.full(max(0, number - 1), 1.0), least=1, most=2)
    assert runs == [UnitRun(i, i + 1) for i in range(number)]
