"""Headings of a PDF file: its bookmarks, and lines that are larger than the text or bold as a whole.

A bookmark counts if its title stands on the page to which it leads. A line counts by its look if it stands out in size,
or is bold and begins where the text begins; not if it ends like a sentence, lists a page number, belongs to a table row
or a long bold passage, or returns again and again. On slides only the largest line of a slide counts, at its top.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kinsplit.loaders.markup.headings import letters, shortened
from kinsplit.loaders.pdf.lines import Line
from kinsplit.spans import Heading
from kinsplit.support.pages import continues

_LARGER = 1.12  # multiple of the usual size
_ALIKE = 1.03  # ratio of two sizes
_SAME_SIZE = 0.9  # multiple of the usual size, for bold lines
_LONGEST = 200  # characters
_MOST_WORDS = 25
_MOST_LINES = 3
_OFTEN = 4  # times that a title may not return
_INDENT = 6.0  # points
_TOP = 0.45  # share of the height of a slide
_DEEPEST = 4  # levels
_FEW = 1_500  # characters of a slide
_BULLET = re.compile(r"\s*(?:[•▪➢✓→←●○◦■□❑❖–—*-]|o\s|\(?[a-z0-9]{1,2}\))\s*")
_LEADER = re.compile(r"(?:\.\s?){4,}|(?:\s\.){3,}")
_FIGURE = re.compile(r"\d{4}|\d[,.]\d")
_PAGE_NUMBER = re.compile(r"\s\d{1,4}\s*$")
_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,4}(?=\.?\s)")
_SERIES = re.compile(r"([^\W\d_]{2,20})\s\d{1,3}\b")
_FINAL = (".", ",", ";")


class Bookmark(NamedTuple):
    """An entry of the file's outline."""

    page: int  # Number of the page, from 0.
    level: int  # Level, from 1.
    title: str


class PdfHeading(NamedTuple):
    """A heading on a page."""

    page: int  # Number of the page, from 0.
    first: int
    last: int
    level: int  # Level; 0 for the title of the document.
    title: str
    style: tuple[float, bool] | None = None  # Size and weight; None for a bookmark.

    @property
    def place(self) -> tuple[int, int]:
        """Page and first line."""
        return self.page, self.first


def pdf_headings(
    pages: Sequence[Sequence[Line]], bookmarks: Sequence[Bookmark], is_wide: bool
) -> list[list[PdfHeading]]:
    """Return the title, if a line looks like it, and layers of headings, from the most reliable source to the least."""
    characters = sum(len(line.text) for page in pages for line in page)
    if is_wide and characters < _FEW * len(pages):
        seen = list(_of_slides(pages))
    else:
        seen = _with_levels(list(_outstanding(pages)))
    title = [one for one in seen if not one.level]
    rest = [one for one in seen if one.level]
    named = [one for one in _matched(pages, bookmarks) if one.place not in {own.place for own in title}]
    return [title, *_calibrated(named, rest)]


def _calibrated(named: Sequence[PdfHeading], seen: Sequence[PdfHeading]) -> list[list[PdfHeading]]:
    """Return bookmarks with the lines that look like theirs, and the other lines."""
    levels: dict[tuple[float, bool] | None, int] = {}
    by_place = {one.place: one.level for one in named}
    for one in seen:
        if (level := by_place.get(one.place)) is not None:
            levels[one.style] = min(level, levels.get(one.style, level))
    alike = [one._replace(level=levels[one.style]) for one in seen if one.style in levels and one.place not in by_place]
    rest = [one for one in seen if one.style not in levels]
    return [sorted([*named, *alike], key=lambda one: one.place), rest]


def _matched(pages: Sequence[Sequence[Line]], bookmarks: Sequence[Bookmark]) -> Iterator[PdfHeading]:
    """Yield the bookmarks whose titles stand on their pages, in the order of the text."""
    taken: set[tuple[int, int]] = set()
    found: list[PdfHeading] = []
    of_page: dict[int, list[str]] = {}
    for page, level, title in bookmarks:
        wanted = letters(title)
        if not wanted or not 0 <= page < len(pages):
            continue
        lines = of_page.setdefault(page, [letters(line.text) for line in pages[page]])
        for first in range(len(lines)):
            last = _last_line(lines, first, wanted)
            if last is not None and (page, first) not in taken:
                taken.add((page, first))
                found.append(PdfHeading(page, first, last, level, shortened(title)))
                break
    yield from sorted(found, key=lambda one: one.place)


def _last_line(lines: Sequence[str], first: int, wanted: str) -> int | None:
    """Return the last of the lines from one on that make up a title, perhaps after a number; None if they don't."""
    joined = ""
    for last in range(first, min(len(lines), first + _MOST_LINES)):
        joined += lines[last]
        if joined == wanted or (joined.endswith(wanted) and joined[: -len(wanted)].isdigit()):
            return last
        if len(joined) > len(wanted) + 8:
            return None
    return None


def _of_slides(pages: Sequence[Sequence[Line]]) -> Iterator[PdfHeading]:
    before = ""
    usual = _usual([line for page in pages for line in page if line.size])
    for number, page in enumerate(pages):
        known = [line for line in page if line.size and any(map(str.isalpha, line.text))]
        largest = max((line.size for line in known), default=0.0)
        large = [at for at, line in enumerate(page) if line.size > 0.97 * largest > 0]
        heads = [at for at in large if not before or (page[at].middle or 0) < _TOP]
        if not heads or largest < _LARGER * usual:
            continue
        first = last = heads[0]
        while last + 1 in heads and last - first + 1 < _MOST_LINES:
            last += 1
        title = shortened(" ".join(line.text for line in page[first : last + 1]))
        if title != before and not _BULLET.match(title):
            yield PdfHeading(number, first, last, 1 if before else 0, title, (largest, False))
            before = title


def _outstanding(pages: Sequence[Sequence[Line]]) -> Iterator[PdfHeading]:
    """Yield lines that look like headings, those of several lines as one, without levels."""
    lines = [line for page in pages for line in page if line.size]
    usual = _usual(lines)
    lefts: Counter[int] = Counter()
    bold = 0
    for line in lines:
        lefts[round(line.left)] += len(line.text)
        bold += len(line.text) if line.is_bold else 0
    left = lefts.most_common(1)[0][0] if lefts else 0
    bold_counts = 4 * bold < sum(len(line.text) for line in lines)
    found: list[PdfHeading] = []
    for number, page in enumerate(pages):
        for group in _alike(page):
            first = page[group[0]]
            is_large = first.size >= _LARGER * usual
            is_bold = bold_counts and first.is_bold and first.cells == 1 and first.size >= _SAME_SIZE * usual
            if not (is_large or (is_bold and abs(first.left - left) <= _INDENT)) or len(group) > _MOST_LINES:
                continue
            title = " ".join(page[at].text for at in group)
            if _is_title(title, is_large) and _stands_alone(page, group):
                style = (round(2 * first.size) / 2 if is_large else usual, first.is_bold)
                found.append(PdfHeading(number, group[0], group[-1], 1, shortened(title), style))
    times = Counter(letters(one.title) for one in found)
    for one in found:
        bare = _PAGE_NUMBER.sub("", one.title)
        is_listed = bare != one.title and times[letters(bare)] > 0
        if times[letters(one.title)] < _OFTEN and not is_listed:
            yield one


def _usual(lines: Sequence[Line]) -> float:
    """Return the size of most characters."""
    sizes: defaultdict[float, int] = defaultdict(int)
    for line in lines:
        sizes[round(2 * line.size) / 2] += len(line.text)
    return max(sizes, key=sizes.__getitem__, default=0.0)


def _alike(page: Sequence[Line]) -> Iterator[list[int]]:
    """Yield the numbers of successive lines of one size and weight that are no farther apart than lines are."""
    group: list[int] = []
    for at, line in enumerate(page):
        if not line.size or not line.text.strip():
            continue
        if group:
            before = page[group[-1]]
            near = before.middle is not None and line.middle is not None
            near = near and 0 < (line.middle or 0) - (before.middle or 0) < 1.6 * max(line.height, before.height)
            same = abs(line.size - before.size) < 0.3 and line.is_bold == before.is_bold
            if not (near and same):
                yield group
                group = []
        group.append(at)
    if group:
        yield group


def _is_title(title: str, is_large: bool) -> bool:
    title = title.strip()
    letters = list(filter(str.isalpha, title))
    if not letters or letters[0].islower() or 2 * len(letters) < len(title.replace(" ", "")):
        return False
    if len(title) > _LONGEST or len(title.split()) > _MOST_WORDS or _LEADER.search(title) or _BULLET.match(title):
        return False
    return not title.endswith(_FINAL) and (is_large or (title[-1] != ":" and len(_FIGURE.findall(title)) < 2))


def _stands_alone(page: Sequence[Line], group: Sequence[int]) -> bool:
    """Return whether lines are no part of a sentence or of a table's row."""
    below = page[group[-1] + 1].text if group[-1] + 1 < len(page) else ""
    goes_on = continues(page[group[-1]].text, below)
    return not goes_on and _begins(page, group[0]) and not _shares_row(page, group)


def _begins(page: Sequence[Line], at: int) -> bool:
    """Return whether a line begins a paragraph: the line above is of another size, or ends a sentence, or is far."""
    if not at:
        return True
    before, line = page[at - 1], page[at]
    if before.middle is None or line.middle is None or abs(before.size - line.size) > 0.3:
        return True
    far = not 0 < line.middle - before.middle < 1.5 * max(line.height, before.height)
    return far or before.text.rstrip().endswith((".", ":", "?", "!", "”"))


def _shares_row(page: Sequence[Line], group: Sequence[int]) -> bool:
    """Return whether another line is beside a heading, as in a table."""
    around = [*page[max(0, group[0] - 3) : group[0]], *page[group[-1] + 1 : group[-1] + 4]]
    near = [other.middle for other in around if other.middle is not None and other.text.strip()]
    own = [(page[at].middle, page[at].height) for at in group]
    return any(middle is not None and abs(other - middle) < height / 3 for other in near for middle, height in own)


def _with_levels(found: Sequence[PdfHeading]) -> list[PdfHeading]:
    """Return headings with levels by size and weight, those of one look by the parts of their numbers."""
    if not found:
        return []
    found = _in_series(found)
    keys = [(-one.style[0], not one.style[1], _depth(one.title)) if one.style else (0.0, False, 1) for one in found]
    title = _title(found)
    ranks = {key: rank for rank, key in enumerate(sorted({k for n, k in enumerate(keys) if n not in title}), 1)}
    levels = [0 if number in title else min(_DEEPEST, ranks[key]) for number, key in enumerate(keys)]
    return [one._replace(level=level) for one, level in zip(found, levels, strict=True)]


def _in_series(found: Sequence[PdfHeading]) -> list[PdfHeading]:
    """Return headings with one style for those of about one size, and for a series such as Problem 1, Problem 2."""
    sizes = sorted({one.style[0] for one in found if one.style}, reverse=True)
    grouped = {size: size for size in sizes}
    for larger, smaller in pairwise(sizes):
        if smaller * _ALIKE > larger:
            grouped[smaller] = grouped[larger]
    found = [one._replace(style=(grouped[one.style[0]], one.style[1])) if one.style else one for one in found]
    series: defaultdict[str, Counter[tuple[float, bool] | None]] = defaultdict(Counter)
    names = [match[1].casefold() if (match := _SERIES.match(one.title)) else "" for one in found]
    for one, name in zip(found, names, strict=True):
        series[name][one.style] += 1
    most = {name: styles.most_common(1)[0][0] for name, styles in series.items() if name and styles.total() > 2}
    return [one._replace(style=most.get(name, one.style)) for one, name in zip(found, names, strict=True)]


def _title(found: Sequence[PdfHeading]) -> set[int]:
    """Return the number of the document's title: the largest heading of its first page, if no other is as large."""
    sizes = [one.style[0] if one.style else 0.0 for one in found]
    largest = max(sizes)
    first = [number for number, one in enumerate(found) if one.page == found[0].page and sizes[number] == largest]
    return set(first[:1]) if sizes.count(largest) == len(first) and found[0].page <= 1 else set()


def _depth(title: str) -> int:
    number = _NUMBER.match(title)
    return number[0].count(".") + 1 if number else 1


def as_headings(found: Sequence[PdfHeading], spans: Sequence[Sequence[tuple[int, int]]]) -> list[Heading]:
    """Return headings with their offsets."""
    places = [(spans[one.page][one.first][0], spans[one.page][one.last][1]) for one in found]
    headings = [Heading(*place, one.level, one.title) for one, place in zip(found, places, strict=True)]
    return [one for one, after in pairwise([*headings, None]) if one and (after is None or one.end <= after.start)]
