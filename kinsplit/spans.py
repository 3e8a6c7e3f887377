"""Spans of a text, those with a title, and span arithmetic."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_SURROGATES = re.compile("[\ud800-\udfff]")


class Span(NamedTuple):
    """A half-open range of code points in the original text."""

    start: int
    end: int


class Stretch(NamedTuple):
    """A part of a chunk's text that is a slice of the document."""

    at: int
    span: Span


class Part(NamedTuple):
    """A part of a document without a heading in the text, such as a function of a program."""

    start: int  # First code point.
    end: int  # One past the last code point.
    title: str  # Name of the part, such as `def push`.


class Heading(NamedTuple):
    """A heading of a document; its section extends to the next heading of the same or a lower level.

    Attributes:
        start: First code point of its line or lines.
        end: One past the last code point; `start` for a title that the text doesn't contain.
        level: 1 for the outermost sections, 2 for those inside them, and so on; 0 for the title of the document.
        title: Text of the heading, without markup.
    """

    start: int
    end: int
    level: int
    title: str


def stretches(spans: Sequence[Span], text: str) -> tuple[Stretch, ...] | None:
    """Return the offsets of slices of a document inside the text joined from them; None if the lengths don't match."""
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
    """Return spans in document order, merged where they overlap or only white space separates them."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and all(text[offset].isspace() for offset in range(merged[-1].end, span.start)):
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def blank_before(text: str, at: int) -> str:
    """Return the white space directly before an offset of a text."""
    start = at
    while start and text[start - 1].isspace():
        start -= 1
    return text[start:at]


def holds(outer: Sequence[Span], inner: Iterable[Span]) -> bool:
    """Return whether each inner span lies inside one of the outer spans."""
    return all(any(o.start <= i.start and i.end <= o.end for o in outer) for i in inner)


def shared(before: Sequence[Span], spans: Sequence[Span]) -> int:
    """Return the number of leading code points of a chunk that are also in the previous sibling, if there is one."""
    start, end = spans[0]
    if not before or before[-1].end <= start:
        return 0
    if len(before) == 1:
        return min(before[0].end, end) - start if before[0].start <= start else 0
    return max((min(span.end, end) - start for span in before if span.start <= start < span.end), default=0)


def unite(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return sorted spans that cover the same text without overlap; adjacent spans become one."""
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start <= united[-1].end:
            united[-1] = Span(united[-1].start, max(united[-1].end, end))
        else:
            united.append(Span(start, end))
    return tuple(united)


def without(span: Span, united: Sequence[Span]) -> list[Span]:
    """Return the parts of a span that no other span covers."""
    parts, start = [], span.start
    at = bisect.bisect_right(united, start, key=lambda other: other.end)
    while at < len(united) and united[at].start < span.end:
        if start < united[at].start:
            parts.append(Span(start, united[at].start))
        start = united[at].end
        at += 1
    return [*parts, Span(start, span.end)] if start < span.end else parts


def length(spans: Iterable[Span]) -> int:
    """Return the total length of spans; characters in several spans count several times."""
    return sum(end - start for start, end in spans)


def overlap(some: Iterable[Span], united: Sequence[Span]) -> int:
    """Return how many characters of some spans lie in others, as `unite` returns them; those in several count again."""
    common = 0
    for start, end in some:
        at = bisect.bisect_right(united, start, key=lambda span: span.end)
        while at < len(united) and united[at].start < end:
            common += min(end, united[at].end) - max(start, united[at].start)
            at += 1
    return common


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which can't be encoded, by U+FFFD; length and offsets don't change."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
