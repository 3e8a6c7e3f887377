"""Units of many texts -> groups of neighbouring units, none longer than the limit when measured as one text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kinsplit.chunk import Span
from kinsplit.parsers.group import Fits, Run
from kinsplit.parsers.measure import Ruler, divide
from kinsplit.parsers.refine import Refined

#: Groups the units of text number `i`; `fits` is None while lengths are taken to add up.
Grouping = Callable[[int, Fits | None], list[Run]]


class Group(NamedTuple):
    """A run of units and what it makes.

    Attributes:
        run: The units.
        span: Where their text lies.
        tokens: Its length, where tokens were counted.
    """

    run: Run
    span: Span
    tokens: int | None


def group_units(
    texts: Sequence[str], refined: Sequence[Refined], ruler: Ruler, limit: int, grouping: Grouping
) -> list[list[Group]]:
    """Group the units of each text so that no group, measured as one text, is longer than the limit.

    Lengths are first taken to add up. A text in which a group turns out too long is grouped again, measuring each.

    Args:
        texts: The texts.
        refined: Their units.
        ruler: Measures the groups.
        limit: Longest group.
        grouping: Groups the units of one text.

    Returns:
        The groups of each text.
    """
    grouped = [_groups(r, grouping(i, None)) for i, r in enumerate(refined)]
    if ruler.unit != "token":
        return grouped
    counts = _count(texts, grouped, ruler)
    again = [i for i, found in enumerate(counts) if max(found, default=0) > limit]
    for i in again:
        grouped[i] = _groups(refined[i], grouping(i, _fits(texts[i], refined[i], ruler, limit)))
    recounted = _count([texts[i] for i in again], [grouped[i] for i in again], ruler)
    for i, found in zip(again, recounted, strict=True):
        counts[i] = found
    return [
        [group._replace(tokens=n) for group, n in zip(groups, found, strict=True)]
        for groups, found in zip(grouped, counts, strict=True)
    ]


def _groups(refined: Refined, runs: Sequence[Run]) -> list[Group]:
    starts, ends = refined.units.starts.tolist(), refined.units.ends.tolist()
    return [Group(run, Span(starts[run.first], ends[run.stop - 1]), None) for run in runs]


def _count(texts: Sequence[str], grouped: Sequence[list[Group]], ruler: Ruler) -> list[list[int]]:
    pieces = [text[g.span.start : g.span.end] for text, groups in zip(texts, grouped, strict=True) for g in groups]
    return [part.tolist() for part in divide(ruler.tokenizer.count(pieces), [len(groups) for groups in grouped])]


def _fits(text: str, refined: Refined, ruler: Ruler, limit: int) -> Fits:
    starts, ends = refined.units.starts.tolist(), refined.units.ends.tolist()
    return lambda first, stop: ruler.length(text[starts[first] : ends[stop - 1]]) <= limit
