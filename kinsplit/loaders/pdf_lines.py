"""The lines of a PDF's pages and where they stand: which run through the document, and where a paragraph ends."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

_MARGIN = 0.15  # share of the page's height, above and below, in which headers and footers stand
_SAME_PLACE = 0.01  # share of the page's height
_SAME_LINE = 0.002  # share of the page's height
_FEWEST = 3  # pages
_STRETCH = 8  # pages
_MOST_WORDS = 30
_COUNT = "\0"
_NUMBER = re.compile(r"\d+")
_WIDE = 1.35  # times the usual distance of lines
_FAR = 2.5  # times their height; lines that are set with double space are nearer
_OTHER_SIZE = 1.15  # times the height of the line before
_MID_SENTENCE = re.compile(r"[\w,;(–—-]\s*\Z")


class Line(NamedTuple):
    """A line of a page.

    Attributes:
        text: Without its line end.
        middle: Where it stands, as the share of the page's height that is above it; None where that isn't known.
        height: Of its font, as a share of the page's height; 0 where that isn't known.
    """

    text: str
    middle: float | None = None
    height: float = 0.0


class _Running(NamedTuple):
    """Words that stand at one place on many pages, a page number as how far it is ahead of the count of pages.

    Attributes:
        words: The words.
        middle: The place; None for a page number that ends each page, however long that is.
        first: The page on which they stay, since elsewhere they would be repeated; None where they tell the page.
    """

    words: frozenset[str]
    middle: float | None
    first: int | None


def without_running_lines(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return pages without their headers, footers and page numbers.

    A line runs if it stands in a page's margin, is not larger than lines usually are, and its text, in which one number
    may count with the pages, stands at the same height on more than half of the pages, or on half of a stretch of
    pages, at least 8. Where it runs, its parts do too. A page number that is the last line of so many pages runs as
    well. A line that tells no page number stays where it first stands. Where most pages would be left empty, none runs.
    """
    running = [*_in_margins(pages), *_at_ends(pages)]
    left = [
        [line for at, line in enumerate(page) if not any(_runs(line, at + 1 == len(page), n, one) for one in running)]
        for n, page in enumerate(pages)
    ]
    return left if 2 * sum(map(bool, left)) >= sum(map(bool, pages)) else [list(page) for page in pages]


def _in_margins(pages: Sequence[Sequence[Line]]) -> Iterator[_Running]:
    usual = median([line.height for page in pages for line in page if line.height] or [0.0])
    places: defaultdict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for number, page in enumerate(pages):
        for line in page:
            if line.middle is None or line.height > _OTHER_SIZE * usual or _MARGIN < line.middle < 1 - _MARGIN:
                continue
            for words in _readings(line.text, number):
                places[words].setdefault(number, line.middle)
    for words, middles in places.items():
        place = median(middles.values())
        there = [number for number, middle in middles.items() if abs(middle - place) <= _SAME_PLACE]
        if _often(there, pages):
            counts = any(_COUNT in word for word in words)
            yield _Running(frozenset(words), place, None if counts else there[0])


def _at_ends(pages: Sequence[Sequence[Line]]) -> Iterator[_Running]:
    ends: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, page in enumerate(pages):
        for words in _readings(page[-1].text if page else "", number):
            if len(words) == 1 and _COUNT in words[0]:
                ends[words].append(number)
    return (_Running(frozenset(words), None, None) for words, there in ends.items() if _often(there, pages))


def _often(there: Sequence[int], pages: Sequence[Sequence[Line]]) -> bool:
    most = len(there) >= _FEWEST and 2 * len(there) > sum(map(bool, pages))
    return most or (len(there) >= _STRETCH and 2 * len(there) > there[-1] - there[0])


def _runs(line: Line, last: bool, page: int, running: _Running) -> bool:
    if running.middle is None:
        there = last
    else:
        there = line.middle is not None and abs(line.middle - running.middle) <= _SAME_PLACE
    there = there and page != running.first
    return there and any(running.words.issuperset(words) for words in _readings(line.text, page))


def _readings(text: str, page: int) -> Iterator[tuple[str, ...]]:
    """Yield a line's words, as they are and with each of its numbers as how far it is ahead of the page's."""
    words = tuple(text.split())
    if not words or len(words) > _MOST_WORDS:
        return
    yield words
    for at, word in enumerate(words):
        if match := _NUMBER.search(word):
            counted = f"{word[: match.start()]}{_COUNT}{int(match[0][:9]) - page}{word[match.end() :]}"
            yield (*words[:at], counted, *words[at + 1 :])


def paragraphs(lines: Sequence[Line]) -> str:
    """Return a page's lines as text, with a blank line wherever a paragraph ends.

    It ends where the next line is farther away than lines usually are on the page, stands above, or is of another
    size; but not in the middle of a sentence.
    """
    places = [line.middle for line in lines if line.middle is not None]
    usual = median([after - before for before, after in pairwise(places) if after - before > _SAME_LINE] or [0.0])
    parts = [line.text for line in lines[:1]]
    for before, after in pairwise(lines):
        parts.append("\n\n" if _ends(before, after, usual) and not continues(before.text, after.text) else "\n")
        parts.append(after.text)
    return "".join(parts)


def continues(before: str, after: str) -> bool:
    """Return whether a sentence seems to run from one line, or page, to the next."""
    return after.lstrip()[:1].islower() and _MID_SENTENCE.search(before[-20:]) is not None


def _ends(before: Line, after: Line, usual: float) -> bool:
    if before.middle is None or after.middle is None or not before.text.strip() or not after.text.strip():
        return False
    distance = after.middle - before.middle
    low, high = sorted((before.height, after.height))
    same_line = abs(distance) < high / 2
    return not same_line and (distance < 0 or distance > min(_WIDE * usual, _FAR * high) or high > _OTHER_SIZE * low)
