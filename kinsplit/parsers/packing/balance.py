"""Chunks of about equal length within limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kinsplit.parsers.packing.measure import Scale
from kinsplit.parsers.packing.runs import Fits, Run, pack


def balance(scale: Scale, whole: Run, limit: int, fits: Fits | None = None) -> list[Run]:
    """Divide a run of units into parts of about equal length.

    Filling one chunk after another would leave a remnant of a few words at the end.

    Args:
        scale: Lengths of all units; none exceeds the limit.
        whole: Run to divide.
        limit: Maximum length of a part.
        fits: See `Fits`.

    Returns:
        Runs that together contain every unit of `whole` once: as few as possible,
        with the longest as short as possible.
    """
    first, stop = whole
    part = Scale(scale.left[first:stop], scale.right[first:stop])

    def packed(size: int) -> list[Run]:
        shifted = None if fits is None else (lambda a, b: fits(first + a, first + b))
        return [Run(first + a, first + b) for a, b in pack(part, size, fits=shifted)]

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
    """Drop boundaries that are too close together and divide chunks that are too long.

    Args:
        starts: Ascending numbers of the units that begin a chunk.
        total: Number of units.
        least: Minimum number of units per chunk, if there are that many.
        most: Maximum number of units per chunk, at least `least`, or None. It takes precedence over `least`.

    Returns:
        Ascending numbers of the units that begin a chunk.
    """
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
