"""Groups of adjacent units that stay within the limit when each is measured as one text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from kinsplit.parsers.packing.refine import CHARACTERS_PER_TOKEN, Refined, Ruler, Scale, glued
from kinsplit.parsers.units.builder import Level
from kinsplit.parsers.units.sentences import IntArray, Units
from kinsplit.spans import Span


class UnitRun(NamedTuple):
    """Units `first` to `stop - 1`."""

    first: int
    stop: int


#: Whether units `first` to `stop - 1` fit the limit, if lengths don't add up exactly.
Fits = Callable[[int, int], bool]


def windows(total: int, size: int, stride: int, tail: Literal["keep", "drop"] = "keep") -> list[UnitRun]:
    """Slide a window over units of equal length; no window lies inside its predecessor."""
    runs = []
    for first in range(0, total, stride):
        if tail == "drop" and first + size > total:
            break
        runs.append(UnitRun(first, min(first + size, total)))
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
    levels: IntArray | None = None,
    most: int | None = None,
    overlap_units: int = 0,
    begins: Sequence[bool] | None = None,
    edges: Sequence[int] = (),
    fits: Fits | None = None,
) -> list[UnitRun]:
    """Pack units into runs up to a limit, with overlap, and end each run at the best boundary.

    Args:
        scale: Lengths of the units; none exceeds the limit.
        limit: Maximum length of a run.
        overlap: Maximum length that a run repeats from the previous one.
        levels: int64[n], `Level` of the boundary before each unit (see `_best_stop`); None if all are equal.
        most: Maximum number of units per run, or None.
        overlap_units: Overlap in units instead of length.
        begins: For each unit whether an overlap may begin with it; None if it may begin with any.
        edges: Ascending numbers of units before which a run must end; can't be combined with an overlap.
        fits: See `Fits`.

    Returns:
        Runs with ascending first and last units that together contain every unit.
    """
    left, right = scale.left.tolist(), scale.right.tolist()
    ends = None if levels is None else levels.tolist()
    runs: list[UnitRun] = []
    first, reached, total = 0, 0, len(left)
    while reached < total:
        stop = _farthest(left, right, first, limit, fits)
        if most is not None:
            stop = min(stop, first + most)
        if edges:
            stop = _before_edge(stop, first, edges)
        if ends is not None and stop < total and not (edges and _contains(edges, stop)):
            low = max(first + 1, reached + 1)
            stop = _best_stop(ends, right, low, stop, left[first], limit) if low < stop else stop
        if stop <= reached:
            # The overlap leaves no room for new units: start one unit later.
            first += 1
            continue
        runs.append(UnitRun(first, stop))
        back = bisect_left(left, right[stop - 1] - overlap, lo=first + 1) if overlap else stop
        first = max(first + 1, min(stop, back, stop - overlap_units))
        while begins is not None and first < stop and not begins[first]:
            first += 1
        reached = stop
    return runs


def merge(
    scale: Scale,
    least: int,
    limit: int,
    *,
    levels: IntArray,
    ends: Sequence[int],
    edges: Sequence[int] = (),
    fits: Fits | None = None,
) -> list[UnitRun]:
    """Merge units until a run is long enough, and end it at the end of a block if one is within the limit.

    Otherwise it ends at the best boundary by `levels` (see `_best_stop`). `ends` and `edges` are ascending numbers of
    units before which a block ends, and before which a run must end. A run is shorter than `least` only if its
    neighbours have no room for it.
    """
    left, right, places = scale.left.tolist(), scale.right.tolist(), levels.tolist()
    runs: list[UnitRun] = []
    first, total, section = 0, len(left), 0
    while first < total:
        stop = _before_edge(_farthest(left, right, first, limit, fits), first, edges)
        enough = bisect_left(right, left[first] + least, lo=first) + 1
        close = bisect_left(ends, max(enough, first + 1))
        if close < len(ends) and ends[close] < stop:
            stop = ends[close]
        elif first + 1 < stop < total and not _contains(edges, stop):
            stop = _best_stop(places, right, first + 1, stop, left[first], limit)
        short = right[stop - 1] - left[first] < least
        joins = short and first > section and right[stop - 1] - left[runs[-1].first] <= limit
        if joins and (fits is None or fits(runs[-1].first, stop)):
            first = runs.pop().first
        runs.append(UnitRun(first, stop))
        if _contains(edges, stop):
            section = stop
        first = stop
    return runs


def _best_stop(levels: Sequence[int], right: Sequence[int], low: int, high: int, begin: int, limit: int) -> int:
    """Return the best boundary for the end of a run, between `low` and `high`.

    A run is filled with sentences rather than ended with a paragraph or an item, but ends with its section if that
    fills half of it. A unit is torn only if nothing precedes it.
    """
    half = _first_stop(right, low, begin + limit * _HALF)
    best = min(levels[half : high + 1]) if half <= high else _BOUND
    if best > _SENTENCE:
        half, best = low, min(levels[low : high + 1])
    for part in _FILLED if levels[high] > best else ():
        first = _first_stop(right, low, begin + limit * part)
        if first <= high and (last := min(levels[first : high + 1])) <= _FILLED_BY[best]:
            half, best = first, last
            break
    return high - levels[half : high + 1][::-1].index(best)


def _first_stop(right: Sequence[int], low: int, length: float) -> int:
    """Return the first boundary from `low` on at which a run is at least so long, given the lengths up to each."""
    return max(low, bisect_left(right, length, low - 1) + 1)


_SENTENCE, _BOUND = int(Level.SENTENCE), int(Level.BOUND)
# Parts of a limit: a run that is half full may end at a better boundary; it should be filled to three quarters, and it
# is as full as others if it ends within the last tenth.
_HALF, _FILLED = 1 / 2, (9 / 10, 3 / 4)
# For each level, the worst level of a boundary that fills a run rather than ending it at this level.
_FILLED_BY = (
    *(Level.BLOCK, Level.SENTENCE, Level.SENTENCE, Level.CLAUSE),
    *(Level.CLAUSE, Level.WORD, Level.GRAPHEME, Level.HEADING, Level.BOUND),
)


def _contains(ascending: Sequence[int], number: int) -> bool:
    at = bisect_left(ascending, number)
    return at < len(ascending) and ascending[at] == number


def _farthest(left: list[int], right: list[int], first: int, limit: int, fits: Fits | None) -> int:
    stop = max(first + 1, bisect_right(right, left[first] + limit, lo=first))
    while fits is not None and stop > first + 1 and not fits(first, stop):
        stop -= 1
    return stop


def _before_edge(stop: int, first: int, edges: Sequence[int]) -> int:
    edge = bisect_right(edges, first)
    return min(stop, edges[edge]) if edge < len(edges) else stop


#: Function that groups the units of text number `i`; `fits` is None while lengths are assumed to add up.
Grouping = Callable[[int, Fits | None], list[UnitRun]]


class Group(NamedTuple):
    """A run of units and its text."""

    run: UnitRun
    span: Span
    tokens: int | None  # Length in tokens, if tokens were counted.


def group_units(
    texts: Sequence[str], refined: Sequence[Refined], ruler: Ruler, limit: int, grouping: Grouping
) -> list[list[Group]]:
    """Group the units of each text so that no group, measured as one text, exceeds the limit.

    Lengths are first assumed to add up. If a group of a text turns out too long, the text is grouped again and every
    group is measured.
    """

    def groups_of(i: int, fits: Fits | None) -> list[Group]:
        return _groups(texts[i], refined[i], _narrow(grouping(i, fits), refined[i].units, ruler, limit), ruler)

    grouped = [groups_of(i, None) for i in range(len(texts))]
    if ruler.unit != "token":
        return grouped
    grouped = _counted(texts, grouped, ruler)
    again = [i for i, groups in enumerate(grouped) if any(g.tokens is not None and g.tokens > limit for g in groups)]
    measured = [groups_of(i, _fits(texts[i], refined[i], ruler, limit)) for i in again]
    for i, groups in zip(again, _counted([texts[i] for i in again], measured, ruler), strict=True):
        grouped[i] = groups
    return grouped


def repack(texts: Sequence[str], refined: Sequence[Refined], ruler: Ruler, limit: int) -> list[Refined]:
    """Rejoin the parts of each refined unit as far as the limit allows."""
    return [_repacked(text, r, ruler, limit) for text, r in zip(texts, refined, strict=True)]


def _repacked(text: str, refined: Refined, ruler: Ruler, limit: int) -> Refined:
    is_next = np.diff(refined.origin) > 0
    if is_next.all():
        return refined
    fits = None if ruler.unit != "token" else _fits(text, refined, ruler, limit)
    edges = (np.flatnonzero(is_next) + 1).tolist()
    runs = pack(refined.scale, limit, levels=refined.levels, edges=edges, fits=fits)
    runs = _narrow(runs, refined.units, ruler, limit)
    firsts, lasts = [run.first for run in runs], [run.stop - 1 for run in runs]
    units = Units(refined.units.starts[firsts], refined.units.ends[lasts])
    # Lengths of parts of a word don't add up, so the joined units are measured again.
    scale = ruler.scale(units, ruler.lengths([text], [units])[0])
    return Refined(units, scale, refined.origin[firsts], refined.levels[firsts], refined.kinds[firsts])


def _narrow(runs: list[UnitRun], units: Units, ruler: Ruler, limit: int) -> list[UnitRun]:
    """Divide runs with few tokens but very many characters, such as long white space; they lose their overlap."""
    most = CHARACTERS_PER_TOKEN * limit
    pairs = np.array(runs, dtype=np.int64).reshape(-1, 2)
    wide = units.ends[pairs[:, 1] - 1] - units.starts[pairs[:, 0]] > most
    if ruler.unit != "token" or not wide.any():
        return runs
    found: list[UnitRun] = []
    for run, is_wide in zip(runs, wide.tolist(), strict=True):
        if not is_wide:
            found.append(run)
            continue
        first = max(run.first, found[-1].stop if found else 0)
        part = Scale(units.starts[first : run.stop], units.ends[first : run.stop])
        found += [UnitRun(first + a, first + b) for a, b in pack(part, most)]
    return found


def _groups(text: str, refined: Refined, runs: Sequence[UnitRun], ruler: Ruler) -> list[Group]:
    """Return runs as groups, with token counts if those of the units are known to add up."""
    starts, ends = refined.units.starts.tolist(), refined.units.ends.tolist()
    spans = [Span(starts[run.first], ends[run.stop - 1]) for run in runs]
    if ruler.unit != "token" or not ruler.tokenizer.splits_at_space:
        return [Group(run, span, None) for run, span in zip(runs, spans, strict=True)]
    left, right = refined.scale.left.tolist(), refined.scale.right.tolist()
    gaps = glued(text, refined.units.ends[:-1], refined.units.starts[1:])
    before = partial(bisect_left, gaps)
    sums = (right[stop - 1] - left[first] if before(first) == before(stop - 1) else None for first, stop in runs)
    return [Group(*own) for own in zip(runs, spans, sums, strict=True)]


def _counted(texts: Sequence[str], grouped: Sequence[list[Group]], ruler: Ruler) -> list[list[Group]]:
    """Count the tokens of groups without a known count."""
    unknown = [[g for g in groups if g.tokens is None] for groups in grouped]
    pieces = [text[g.span.start : g.span.end] for text, groups in zip(texts, unknown, strict=True) for g in groups]
    counts = iter(ruler.tokenizer.count(pieces).tolist())
    return [[g if g.tokens is not None else g._replace(tokens=next(counts)) for g in groups] for groups in grouped]


def _fits(text: str, refined: Refined, ruler: Ruler, limit: int) -> Fits:
    starts, ends = refined.units.starts.tolist(), refined.units.ends.tolist()
    return lambda first, stop: ruler.length(text[starts[first] : ends[stop - 1]]) <= limit
