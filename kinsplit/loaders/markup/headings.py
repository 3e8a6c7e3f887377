"""Headings from several sources, joined to one list.

Headings of plain text: the items of filings such as Form 10-K, and numbered sections. Lines that may be headings are
numbered: `Item 1A. Risk Factors`, `PART II`, `3.2 Results`. A table of contents has the same lines as the text that it
lists, and sentences may begin like one ("Item 7 contains ..."). So of all candidates, the series with ascending numbers
is taken whose sections hold the most text. A text is left without headings if that series is too short to tell, or if
its sections are no longer than items of a list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from kinsplit.spans import Heading

_LONGEST = 120  # characters; a title is repeated in the context of every chunk below it
_OFTEN = 4  # times that a title may not return


def shortened(title: str) -> str:
    """Return a title on one line, cut at a word if it is long."""
    title = " ".join(title.split())
    if len(title) <= _LONGEST:
        return title
    return f"{title[: title.rfind(' ', _LONGEST // 2, _LONGEST) % _LONGEST]}..."


def layered(*layers: Sequence[Heading]) -> tuple[Heading, ...]:
    """Join headings so that those of a later layer divide the sections of the earlier ones, which are more reliable.

    Each layer is ascending. Where two headings overlap, the earlier layer's stays.
    """
    joined: list[Heading] = []
    for layer in layers:
        taken = sorted((one.start, one.end) for one in joined)
        free = _without_overlap(layer, taken)
        if free:
            deepest = max((one.level for one in joined), default=0)
            below = deepest - min(one.level for one in free) + 1 if joined else 0
            joined += [one._replace(level=one.level + below) for one in free]
    return tuple(sorted(joined))


def _without_overlap(layer: Sequence[Heading], taken: Sequence[tuple[int, int]]) -> list[Heading]:
    free: list[Heading] = []
    at = 0
    for one in layer:
        while at < len(taken) and taken[at][1] <= one.start:
            at += 1
        if at == len(taken) or one.end <= taken[at][0]:
            free.append(one)
    return free


def without_running(headings: Sequence[Heading], share: float = 0.0) -> list[Heading]:
    """Return headings without those that return again and again, such as a link to the contents on every page.

    A title is left out if it exceeds a share of the headings of its level.
    """
    times = Counter((one.level, one.title) for one in headings)
    of_level = Counter(one.level for one in headings)
    most = {level: max(_OFTEN - 1, share * number) for level, number in of_level.items()}
    return [one for one in headings if times[one.level, one.title] <= most[one.level]]


def titled(headings: Sequence[Heading], title: str | None) -> tuple[Heading, ...]:
    """Return ascending headings below the title of their document.

    If the first heading repeats it, that heading becomes the title; if there is one outermost heading that does so, it
    is the title already.
    """
    if not title:
        return tuple(headings)
    outermost = min((one.level for one in headings), default=0)
    tops = [one for one in headings if one.level == outermost]
    if len(tops) == 1 and _repeats(tops[0], title):
        return tuple(headings)
    if headings and _repeats(headings[0], title):
        return (headings[0]._replace(level=0), *headings[1:])
    return (Heading(0, 0, 0, shortened(title)), *headings)


def _repeats(heading: Heading, title: str) -> bool:
    own = letters(heading.title)
    return bool(own) and own in letters(title)


def letters(title: str) -> str:
    """Return what two forms of a title share, such as that in the table of contents."""
    return "".join(filter(str.isalnum, title.casefold()))


_LARGEST = 2**24  # characters; longer texts are no single document
_MOST_CANDIDATES = 5_000
_LONGEST_LINE = 250  # characters
_FEWEST_ITEMS = 4
_FEWEST_SECTIONS = 3
_SHORTEST_SECTION = 150  # characters, of half of the sections

_ROMAN = ("I", "II", "III", "IV", "V", "VI")
# Some extractors put the page number before the first words of the next page.
_BEGIN = r"^[ \t\f]*(?:\d{1,3}\f?(?=[IP])|\*\*)?"
_PART = re.compile(_BEGIN + r"(?:PART|Part)[ \t\xa0]+(VI|IV|V|I{1,3})\b[^\na-z]*$", re.M)
_ITEM = re.compile(_BEGIN + r"(ITEM|Item)[ \t\xa0]+(\d{1,2})[ \t\xa0]?([A-C])?(?![\w(,;)])([^\n]*)", re.M)
_AROUND = " \t\r\xa0.:|*–—-"
_BEFORE = " \t\f*0123456789"
_NEXT_LINE = re.compile(r"[ \t\r]*\n([^\n\f]{1,250})")
_NUMBERED = re.compile(r"^[ \t]{0,3}(\d{1,2}(?:\.\d{1,2}){0,4})\.?[ \t\xa0]{1,8}(\S[^\n]*)", re.M)
_TITLE_LINE = re.compile(r"\s{0,20}([^\n]{1,250})")
_PAGE = re.compile(r"[\s.|]*(?:\d{1,4}[\s|]*)?")
_FINAL = re.compile(r"[.,;:!?…]$")


class _Candidate(NamedTuple):
    start: int  # First code point.
    end: int  # One past the last code point.
    key: tuple[int, ...]
    level: int
    title: str


def plain_headings(text: str) -> tuple[Heading, ...]:
    """Return the headings of a plain text: the parts and items of a filing, else the numbered sections."""
    if len(text) > _LARGEST:
        return ()
    return filing_headings(text) or numbered_headings(text)


def filing_headings(text: str) -> tuple[Heading, ...]:
    """Return the parts (level 1) and items (level 2) of a filing; none if the text is no filing."""
    found = _without_lists(text, list(_parts_and_items(text)))
    best: tuple[Heading, ...] = ()
    for word in ("ITEM", "Item"):  # One form in headings, the other one perhaps in references.
        alike = [one for one in found if one.level == 1 or one.title.startswith(word)]
        chosen = _best_series(alike, len(text))
        if sum(one.level == 2 for one in chosen) >= max(_FEWEST_ITEMS, sum(one.level == 2 for one in best)):
            best = _headings(chosen)
    return best


def _parts_and_items(text: str) -> Iterator[_Candidate]:
    """Yield the candidates in the order of the text; the key of an item begins with its part."""
    parts = (
        _Candidate(_begin(match), match.end(), (_ROMAN.index(match[1]) + 1,), 1, _cleaned(match[0]))
        for match in _PART.finditer(text)
    )
    items = (_item(text, match) for match in _ITEM.finditer(text))
    part = 0
    for one in sorted([*parts, *filter(None, items)])[:_MOST_CANDIDATES]:
        part = one.key[0] if one.level == 1 else part
        yield one if one.level == 1 else one._replace(key=(part, *one.key))


def _item(text: str, match: re.Match[str]) -> _Candidate | None:
    title = match[4].strip(_AROUND)
    end = match.start(4) + len(match[4].rstrip(" \t\r|"))
    if not title:  # It is on the next line, as in a table whose cells are lines.
        below = _TITLE_LINE.match(text, end)
        title, end = (below[1], below.end()) if below else ("", end)
    if len(title) > _LONGEST_LINE or (title[:1].islower() or title[:1] in {"", ",", ")", "”", "’"}):
        return None
    if title.isupper():
        for _ in range(2):  # A long title continues on the next lines.
            below = _NEXT_LINE.match(text, end)
            if below is None or not below[1].isupper() or _ITEM.match(below[1]) or _PART.match(below[1]):
                break
            title, end = f"{title} {below[1]}", below.end()
    number = (int(match[2]), " ABC".index(match[3] or " "))
    return _Candidate(_begin(match), end, number, 2, _cleaned(f"{match[1]} {match[2]}{match[3] or ''}. {title}"))


def _begin(match: re.Match[str]) -> int:
    """Return the offset of the first word, after a page number."""
    return match.end() - len(match[0].lstrip(_BEFORE))


def _cleaned(title: str) -> str:
    return shortened(title.replace("|", " ").replace("*", " ").lstrip(_BEFORE))


def _without_lists(text: str, found: Sequence[_Candidate]) -> list[_Candidate]:
    """Return candidates without runs of at least 4 that have nothing but page numbers between them."""
    kept: list[_Candidate] = []
    run: list[_Candidate] = []
    for one, after in zip(found, [*found[1:], None], strict=bool(found)):
        run.append(one)
        near = after is not None and after.start - one.end <= _LONGEST_LINE
        if after is None or not near or _PAGE.fullmatch(text, one.end, after.start) is None:
            kept += run if len(run) < 4 else []
            run = []
    return kept


def numbered_headings(text: str) -> tuple[Heading, ...]:
    """Return the headings of numbered sections; none if the numbers are those of a list."""
    found: list[_Candidate] = []
    for match in _NUMBERED.finditer(text):
        key = tuple(map(int, match[1].split(".")))
        if _stands_alone(text, match) and _is_title(match[2]):
            end = match.start() + len(match[0].rstrip())
            found.append(_Candidate(match.start(), end, key, len(key), shortened(match[0])))
        if len(found) > _MOST_CANDIDATES:
            return ()
    chosen = list(_in_order(_best_series(found, len(text))))
    lengths = [after - one.end for one, after in zip(chosen, _following(chosen, len(text)), strict=True)]
    if len(chosen) < _FEWEST_SECTIONS or median(lengths) < _SHORTEST_SECTION:
        return ()
    return _headings(chosen)


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """Return whether a line is a paragraph of its own, or at least begins one if its number has several parts."""
    begins = not text[max(0, match.start() - 200) : match.start()].rpartition("\n")[0].rpartition("\n")[2].strip()
    after = text[match.end() : match.end() + 200].lstrip(" \t\r")
    ends = not after or (after[0] == "\n" and not after[1:].partition("\n")[0].strip())
    return begins and (ends or "." in match[1])


def _is_title(title: str) -> bool:
    title = title.rstrip()
    is_short = len(title) <= 100 and len(title.split()) <= 15
    return is_short and title[0].isupper() and not _FINAL.search(title) and "|" not in title


def _in_order(chosen: Iterable[_Candidate]) -> Iterator[_Candidate]:
    """Yield the candidates that follow the one before them: 1, 1.1, 1.2, 2."""
    following: set[tuple[int, ...]] = {(0,), (1,)}
    for one in chosen:
        if one.key in following:
            following = {(*one.key, 1), *((*one.key[:at], number + 1) for at, number in enumerate(one.key))}
            yield one


def _best_series(found: Sequence[_Candidate], length: int) -> list[_Candidate]:
    """Return the candidates with ascending keys whose sections hold the most text."""
    weights = [after - one.start for one, after in zip(found, _following(found, length), strict=True)]
    ranks = {key: rank for rank, key in enumerate(sorted({one.key for one in found}), 1)}
    best: list[tuple[int, int]] = [(0, -1)] * (len(ranks) + 1)  # a Fenwick tree of the best sums below a rank
    before: list[int] = []
    for number, (one, weight) in enumerate(zip(found, weights, strict=True)):
        rank = ranks[one.key]
        total, last = _best_below(best, rank - 1)
        before.append(last)
        while rank < len(best):
            best[rank] = max(best[rank], (total + weight, number))
            rank += rank & -rank
    chosen: list[_Candidate] = []
    _, number = _best_below(best, len(ranks))
    while number >= 0:
        chosen.append(found[number])
        number = before[number]
    return chosen[::-1]


def _best_below(best: Sequence[tuple[int, int]], rank: int) -> tuple[int, int]:
    found = (0, -1)
    while rank > 0:
        found = max(found, best[rank])
        rank -= rank & -rank
    return found


def _following(found: Sequence[_Candidate], length: int) -> list[int]:
    return [*(one.start for one in found[1:]), length][: len(found)]


def _headings(chosen: Sequence[_Candidate]) -> tuple[Heading, ...]:
    return tuple(Heading(one.start, one.end, one.level, one.title) for one in chosen)
