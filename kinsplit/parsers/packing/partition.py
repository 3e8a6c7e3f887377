"""Gains of cuts -> the runs that gain the most of all that keep to the limits."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from operator import add

import numpy as np

from kinsplit.parsers.packing.group import Fits, Run
from kinsplit.parsers.packing.measure import Scale
from kinsplit.parsers.similarity.boundaries import FloatArray

# Dearer than any gain, so that a run is too short, or a cut where none should be, only where a limit leaves no choice.
_SHORT, _BARRED = 1e6, 1e4


def partition(
    scale: Scale,
    limit: int,
    gains: FloatArray,
    *,
    least: int,
    most: int,
    coherence: FloatArray | None = None,
    barred: Sequence[int] = (),
    fits: Fits | None = None,
) -> list[Run]:
    """Divide units into the runs whose cuts gain, and whose units cohere, the most in sum.

    Of all divisions into runs of `least` to `most` units that are no longer than the limit it is the best one, found
    by dynamic programming in one pass: where a run must end before a good place, or go on beyond one, the others make
    up for it. A remnant that is too short for a run of its own so joins the neighbour that it is more like.

    Args:
        scale: The units' lengths; none longer than the limit.
        limit: Longest run.
        gains: Of a cut before each unit but the first, shape (n - 1,).
        least: Fewest units in a run, where the limit and the number of units allow it.
        most: Most units in a run.
        coherence: See `kinsplit.parsers.similarity.boundaries.coherence`, with `most` as its longest run;
            None for none.
        barred: Numbers of units before which nothing is cut, where the limits allow it.
        fits: See `Fits`.

    Returns:
        Runs that hold every unit once; of equally good divisions the one with the longest runs from the end on.
    """
    left, right = scale.left.tolist(), scale.right.tolist()
    total = len(left)
    costs = _SHORT * np.maximum(0, least - np.arange(most, 0, -1))
    rows = (np.broadcast_to(-costs, (total, most)) if coherence is None else coherence - costs).tolist()
    gained = [0.0, *gains.tolist(), 0.0]
    for number in barred:
        gained[number] -= _BARRED
    best, begins = [0.0], [0]
    for stop in range(1, total + 1):
        low = max(0, stop - most, bisect_left(left, right[stop - 1] - limit, hi=stop - 1))
        while fits is not None and low < stop - 1 and not fits(low, stop):
            low += 1
        sums = list(map(add, best[low:], rows[stop - 1][low - stop :]))
        highest = max(sums)
        begins.append(low + sums.index(highest))
        best.append(highest + gained[stop])
    return _runs(begins)


def with_overlap(runs: Sequence[Run], units: int, scale: Scale, limit: int, fits: Fits | None = None) -> list[Run]:
    """Let each run begin with the last units of the one before, as many as the limit leaves room for.

    Args:
        runs: Runs that hold every unit once.
        units: Most units that are repeated.
        scale: The units' lengths.
        limit: Longest run.
        fits: See `Fits`.
    """
    if not units:
        return list(runs)
    found = list(runs[:1])
    for before, (first, stop) in pairwise(runs):
        start = first
        # A chunk that held all of the one before would say nothing new of where they part.
        while start > max(before.first + 1, first - units) and _has_room(start - 1, stop, scale, limit, fits):
            start -= 1
        found.append(Run(start, stop))
    return found


def _has_room(first: int, stop: int, scale: Scale, limit: int, fits: Fits | None) -> bool:
    return scale.right[stop - 1] - scale.left[first] <= limit and (fits is None or fits(first, stop))


def _runs(begins: Sequence[int]) -> list[Run]:
    runs: list[Run] = []
    stop = len(begins) - 1
    while stop:
        runs.append(Run(begins[stop], stop))
        stop = begins[stop]
    return runs[::-1]
