"""Runs of adjacent units: windows, greedy packing and merging."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from kinsplit.parsers.packing.measure import Scale


class Run(NamedTuple):
    """Units `first` to `stop - 1`."""

    first: int
    stop: int


#: Whether units `first` to `stop - 1` fit the limit, if lengths don't add up exactly.
Fits = Callable[[int, int], bool]


def windows(total: int, size: int, stride: int, tail: Literal["keep", "drop"] = "keep") -> list[Run]:
    """Slide a window over units of equal length.

    Args:
        total: Number of units.
        size: Length of a window.
        stride: Distance between the starts of adjacent windows.
        tail: "keep" adds a shorter window up to the end of the text, "drop" ends with the last full window.

    Returns:
        The windows; none lies inside its predecessor.
    """
    runs = []
    for first in range(0, total, stride):
        if tail == "drop" and first + size > total:
            break
        runs.append(Run(first, min(first + size, total)))
        if first + size >= total:
            break
    return runs


def window_count(total: int, size: int, stride: int) -> int:
    """Return the number of windows that `windows` makes with `tail="keep"`."""
    return 0 if total <= 0 else 1 + max(0, -(-(total - size) // stride))


def pack(
    scale: Scale,
    limit: int,
    overlap: int = 0,
    *,
    most: int | None = None,
    overlap_units: int = 0,
    edges: Sequence[int] = (),
    ends: Sequence[int] = (),
    fits: Fits | None = None,
) -> list[Run]:
    """Pack units greedily into runs up to a limit, with overlap.

    Args:
        scale: Lengths of the units; none exceeds the limit.
        limit: Maximum length of a run.
        overlap: Maximum length that a run repeats from the previous one.
        most: Maximum number of units per run, or None.
        overlap_units: Overlap in units instead of length.
        edges: Ascending numbers of units before which a run must end; can't be combined with an overlap.
        ends: Ascending numbers of units before which a section ends. A run that is at least a quarter full ends with
            the last section that ends in it, unless the rest of the units fits.
        fits: See `Fits`.

    Returns:
        Runs with ascending first and last units that together contain every unit.
    """
    left, right = scale.left.tolist(), scale.right.tolist()
    runs: list[Run] = []
    first, reached, total = 0, 0, len(left)
    while reached < total:
        stop = _farthest(left, right, first, limit, fits)
        if most is not None:
            stop = min(stop, first + most)
        stop = _before_edge(stop, first, edges)
        if ends and stop < total:
            end = ends[max(0, bisect_right(ends, stop) - 1)]
            if reached < end < stop and right[end - 1] - left[first] >= limit / 4:
                stop = end
        if stop <= reached:
            # The overlap leaves no room for new units: start one unit later.
            first += 1
            continue
        runs.append(Run(first, stop))
        back = bisect_left(left, right[stop - 1] - overlap, lo=first + 1) if overlap else stop
        first = max(first + 1, min(stop, back, stop - overlap_units))
        reached = stop
    return runs


def merge(
    scale: Scale, least: int, limit: int, *, ends: Sequence[int], edges: Sequence[int] = (), fits: Fits | None = None
) -> list[Run]:
    """Merge units until a run is long enough, and end it at the end of a block if one is within the limit.

    Args:
        scale: Lengths of the units; none exceeds the limit.
        least: Minimum length of a run.
        limit: Maximum length of a run.
        ends: Ascending numbers of units before which a block ends.
        edges: Ascending numbers of units before which a run must end.
        fits: See `Fits`.

    Returns:
        Runs that contain every unit once. A run is shorter than `least` only if its neighbours have no room for it.
    """
    left, right = scale.left.tolist(), scale.right.tolist()
    runs: list[Run] = []
    first, total, section = 0, len(left), 0
    while first < total:
        stop = _before_edge(_farthest(left, right, first, limit, fits), first, edges)
        enough = bisect_left(right, left[first] + least, lo=first) + 1
        close = bisect_left(ends, max(enough, first + 1))
        if close < len(ends) and ends[close] < stop:
            stop = ends[close]
        short = right[stop - 1] - left[first] < least
        joins = short and first > section and right[stop - 1] - left[runs[-1].first] <= limit
        if joins and (fits is None or fits(runs[-1].first, stop)):
            first = runs.pop().first
        runs.append(Run(first, stop))
        at_edge = bisect_left(edges, stop)
        if at_edge < len(edges) and edges[at_edge] == stop:
            section = stop
        first = stop
    return runs


def _farthest(left: list[int], right: list[int], first: int, limit: int, fits: Fits | None) -> int:
    stop = max(first + 1, bisect_right(right, left[first] + limit, lo=first))
    while fits is not None and stop > first + 1 and not fits(first, stop):
        stop -= 1
    return stop


def _before_edge(stop: int, first: int, edges: Sequence[int]) -> int:
    edge = bisect_right(edges, first)
    return min(stop, edges[edge]) if edge < len(edges) else stop
