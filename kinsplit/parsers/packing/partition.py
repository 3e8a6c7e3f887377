"""The best division of units into runs, by dynamic programming."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from operator import add

import numpy as np

from kinsplit.parsers.packing.groups import Fits, UnitRun, pack
from kinsplit.parsers.packing.refine import Scale
from kinsplit.parsers.similarity import FloatArray
from kinsplit.parsers.units.sentences import IntArray

# Penalties above any gain, so that a run is too short, or a barred cut made, only if the limits leave no choice; a
# barred cut is the last resort.
_SHORT, _BARRED = 1e4, 1e8


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
) -> list[UnitRun]:
    """Divide units into runs with the greatest total of gains and coherence.

    The result is the best of all divisions into runs of `least` to `most` units within the limit, found by dynamic
    programming in one pass. A remnant too short for a run of its own thus joins the neighbour that it resembles more.

    Args:
        scale: Lengths of the units; none exceeds the limit.
        limit: Maximum length of a run.
        gains: Gain of a cut before each unit except the first, shape (n - 1,).
        least: Minimum number of units per run, if the limit and the number of units allow it.
        most: Maximum number of units per run.
        coherence: Result of `kinsplit.parsers.similarity.coherence` for runs of up to `most` units, or None.
        barred: Numbers of units before which no cut is made, if the limits allow it; rather before one that is given
            once than before one that is given twice.
        fits: See `Fits`.

    Returns:
        Runs that contain every unit once; of equally good divisions, the one with the longest runs at the end.
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


def with_overlap(
    runs: Sequence[UnitRun], units: int, scale: Scale, limit: int, fits: Fits | None = None
) -> list[UnitRun]:
    """Prepend the last units of the previous run to each run, as far as the limit allows."""
    if not units:
        return list(runs)
    found = list(runs[:1])
    for before, (first, stop) in pairwise(runs):
        start = first
        # At least one unit of the previous run is not repeated, so no run contains its predecessor.
        while start > max(before.first + 1, first - units) and _has_room(start - 1, stop, scale, limit, fits):
            start -= 1
        found.append(UnitRun(start, stop))
    return found


def _has_room(first: int, stop: int, scale: Scale, limit: int, fits: Fits | None) -> bool:
    return scale.right[stop - 1] - scale.left[first] <= limit and (fits is None or fits(first, stop))


def _runs(begins: Sequence[int]) -> list[UnitRun]:
    runs: list[UnitRun] = []
    stop = len(begins) - 1
    while stop:
        runs.append(UnitRun(begins[stop], stop))
        stop = begins[stop]
    return runs[::-1]


def balance(scale: Scale, whole: UnitRun, limit: int, levels: IntArray, fits: Fits | None = None) -> list[UnitRun]:
    """Divide a run of units into as few parts as possible, with the longest as short as possible.

    Filling one chunk after another would leave a remnant of a few words at the end. No unit exceeds the limit.
    """
    first, stop = whole
    part = Scale(scale.left[first:stop], scale.right[first:stop])

    def packed(size: int) -> list[UnitRun]:
        shifted = None if fits is None else (lambda a, b: fits(first + a, first + b))
        return [UnitRun(first + a, first + b) for a, b in pack(part, size, levels=levels[first:stop], fits=shifted)]

    fewest = packed(limit)
    if len(fewest) == 1:
        return fewest
    low, high = int(part.right[-1] - part.left[0]) // len(fewest), limit
    while low < high:
        size = (low + high) // 2
        if len(packed(size)) <= len(fewest):
            high = size
        else:
            low = size + 1
    return packed(high)


def space(starts: Sequence[int], total: int, least: int, most: int | None) -> list[int]:
    """Drop boundaries that are too close, divide chunks that are too long, and return the units that begin one."""
    if not total:
        return []
    kept = [0]
    for start in starts:
        if start - kept[-1] >= least:
            kept.append(start)
    if len(kept) > 1 and total - kept[-1] < least:
        kept.pop()
    if most is None:
        return kept
    return [at for first, stop in pairwise([*kept, total]) for at in _evenly(first, stop, most)]


def _evenly(first: int, stop: int, most: int) -> list[int]:
    parts = -(-(stop - first) // most)
    return [first + (stop - first) * part // parts for part in range(parts)]
