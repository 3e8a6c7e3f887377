"""Spans of a text, and their arithmetic."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of code points of the source text as it was given."""

    start: int
    end: int


class Stretch(NamedTuple):
    """A stretch of a text that is a slice of a document.

    Attributes:
        at: Where the stretch begins in the text.
        span: Where it lies in the document.
    """

    at: int
    span: Span


def stretches(spans: Sequence[Span], text: str) -> tuple[Stretch, ...] | None:
    """Return where slices of a document that were joined lie in the joined text.

    Args:
        spans: The slices.
        text: They, joined by any separator.

    Returns:
        One stretch for each span; None if the text is too short or too long to be made of them.
    """
    joints, rest = len(spans) - 1, len(text) - sum(end - start for start, end in spans)
    gap, rest = divmod(rest, joints) if joints else (0, rest)
    if gap < 0 or rest:
        return None
    found, at = [], 0
    for span in spans:
        found.append(Stretch(at, span))
        at += span.end - span.start + gap
    return tuple(found)


def merge_spans(spans: Iterable[Span], text: str) -> tuple[Span, ...]:
    """Return spans in document order, those that overlap or have only white space between them as one.

    Args:
        spans: In any order.
        text: What they are spans of.
    """
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and all(text[place].isspace() for place in range(merged[-1].end, span.start)):
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def blank_before(text: str, at: int) -> str:
    """Return the white space directly before a place in a text."""
    start = at
    while start and text[start - 1].isspace():
        start -= 1
    return text[start:at]


def holds(outer: Sequence[Span], inner: Iterable[Span]) -> bool:
    """Return whether each of some spans lies inside one of some others."""
    return all(any(o.start <= i.start and i.end <= o.end for o in outer) for i in inner)


def shared(before: Sequence[Span], spans: Sequence[Span]) -> int:
    """Return how many code points a chunk's text has at its beginning that lie in its sibling before it.

    Args:
        before: The sibling's spans; none for the first chunk.
        spans: The chunk's.
    """
    start, end = spans[0]
    if not before or before[-1].end <= start:
        return 0
    return max((min(span.end, end) - start for span in before if span.start <= start < span.end), default=0)


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
