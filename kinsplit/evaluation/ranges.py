"""Arithmetic of spans of one text."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence

from kinsplit.chunk import Span


def unite(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans that cover the same text without overlap, in order; those that touch become one."""
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start <= united[-1].end:
            united[-1] = Span(united[-1].start, max(united[-1].end, end))
        else:
            united.append(Span(start, end))
    return tuple(united)


def length(spans: Iterable[Span]) -> int:
    """Return how many characters spans hold, those that several hold as often."""
    return sum(end - start for start, end in spans)


def overlap(some: Iterable[Span], united: Sequence[Span]) -> int:
    """Return how many characters of some spans others hold.

    Args:
        some: Spans; characters that several of them hold count as often.
        united: The others, as `unite` returns them.
    """
    common = 0
    for start, end in some:
        at = bisect.bisect_right(united, start, key=lambda span: span.end)
        while at < len(united) and united[at].start < end:
            common += min(end, united[at].end) - max(start, united[at].start)
            at += 1
    return common
