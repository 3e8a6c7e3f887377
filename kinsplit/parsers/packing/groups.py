"""Groups of adjacent units that stay within the limit when each is measured as one text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from kinsplit.parsers.packing.measure import CHARACTERS_PER_TOKEN, Ruler, Scale
from kinsplit.parsers.packing.refine import Refined
from kinsplit.parsers.packing.runs import Fits, Run, pack
from kinsplit.parsers.units.segment import Units
from kinsplit.spans import Span
from kinsplit.tokenizers import SEPARATORS

#: Function that groups the units of text number `i`; `fits` is None while lengths are assumed to add up.
Grouping = Callable[[int, Fits | None], list[Run]]


class Group(NamedTuple):
    """A run of units and its text.

    Attributes:
        run: The units.
        span: Span of the text.
        tokens: Length in tokens, if tokens were counted.
    """

    run: Run
    span: Span
    tokens: int | None


def group_units(
    texts: Sequence[str], refined: Sequence[Refined], ruler: Ruler, limit: int, grouping: Grouping
) -> list[list[Group]]:
    """Group the units of each text so that no group, measured as one text, exceeds the limit.

    Lengths are first assumed to add up. If a group of a text turns out too long, the text is grouped again and every
    group is measured.

    Args:
        texts: The texts.
        refined: Units of each text.
        ruler: Ruler for the groups.
        limit: Maximum length of a group.
        grouping: Function that groups the units of one text.

    Returns:
        The groups of each text.
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
    """Rejoin the parts of each refined unit as far as the limit allows.

    Args:
        texts: The texts.
        refined: Units of each text.
        ruler: Ruler for the joined parts.
        limit: Maximum length of a unit.
    """
    return [_repacked(text, r, ruler, limit) for text, r in zip(texts, refined, strict=True)]


def _repacked(text: str, refined: Refined, ruler: Ruler, limit: int) -> Refined:
    is_next = np.diff(refined.origin) > 0
    if is_next.all():
        return refined
    fits = None if ruler.unit != "token" else _fits(text, refined, ruler, limit)
    runs = pack(refined.scale, limit, edges=(np.flatnonzero(is_next) + 1).tolist(), fits=fits)
    runs = _narrow(runs, refined.units, ruler, limit)
    firsts, lasts = [run.first for run in runs], [run.stop - 1 for run in runs]
    units = Units(refined.units.starts[firsts], refined.units.ends[lasts])
    # Lengths of parts of a word don't add up, so the joined units are measured again.
    return Refined(units, ruler.scale(units, ruler.lengths([text], [units])[0]), refined.origin[firsts])


def _narrow(runs: list[Run], units: Units, ruler: Ruler, limit: int) -> list[Run]:
    """Divide runs with few tokens but very many characters, such as long white space; they lose their overlap."""
    most = CHARACTERS_PER_TOKEN * limit
    pairs = np.array(runs, dtype=np.int64).reshape(-1, 2)
    wide = units.ends[pairs[:, 1] - 1] - units.starts[pairs[:, 0]] > most
    if ruler.unit != "token" or not wide.any():
        return runs
    found: list[Run] = []
    for run, is_wide in zip(runs, wide.tolist(), strict=True):
        if not is_wide:
            found.append(run)
            continue
        first = max(run.first, found[-1].stop if found else 0)
        part = Scale(units.starts[first : run.stop], units.ends[first : run.stop])
        found += [Run(first + a, first + b) for a, b in pack(part, most)]
    return found


def _groups(text: str, refined: Refined, runs: Sequence[Run], ruler: Ruler) -> list[Group]:
    """Return runs as groups, with token counts if those of the units are known to add up."""
    starts, ends = refined.units.starts.tolist(), refined.units.ends.tolist()
    spans = [Span(starts[run.first], ends[run.stop - 1]) for run in runs]
    if ruler.unit != "token" or not ruler.tokenizer.splits_at_space:
        return [Group(run, span, None) for run, span in zip(runs, spans, strict=True)]
    left, right = refined.scale.left.tolist(), refined.scale.right.tolist()
    glued = list(accumulate([text[end] not in SEPARATORS for end in ends[:-1]], initial=0))
    return [
        Group(run, span, right[run.stop - 1] - left[run.first] if glued[run.first] == glued[run.stop - 1] else None)
        for run, span in zip(runs, spans, strict=True)
    ]


def _counted(texts: Sequence[str], grouped: Sequence[list[Group]], ruler: Ruler) -> list[list[Group]]:
    """Count the tokens of groups without a known count."""
    unknown = [[g for g in groups if g.tokens is None] for groups in grouped]
    pieces = [text[g.span.start : g.span.end] for text, groups in zip(texts, unknown, strict=True) for g in groups]
    counts = iter(ruler.tokenizer.count(pieces).tolist())
    return [[g if g.tokens is not None else g._replace(tokens=next(counts)) for g in groups] for groups in grouped]


def _fits(text: str, refined: Refined, ruler: Ruler, limit: int) -> Fits:
    starts, ends = refined.units.starts.tolist(), refined.units.ends.tolist()
    return lambda first, stop: ruler.length(text[starts[first] : ends[stop - 1]]) <= limit
