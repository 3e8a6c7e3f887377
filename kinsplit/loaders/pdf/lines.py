"""Lines of a PDF file: running headers and footers, and paragraphs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from kinsplit.loaders.pdf.pieces import HYPHENS, LABEL, PagePiece, same_line, space_between
from kinsplit.support.pages import continues

_MARGIN = 0.15  # share of the page's height at the top and bottom, for headers and footers
_SAME_PLACE = 0.01  # share of the page's height
_SAME_LINE = 0.002  # share of the page's height
_FEWEST = 3  # pages
_STRETCH = 8  # pages
_MOST_WORDS = 30
_COUNT = "\0"
_NUMBERED = re.compile(r"\d+(?:[.)]|[^\W\d_])")
_WORD_AND_NUMBER = re.compile(r"([^\W\d_]+)\s?[#№]?\d+(\w?)")
_PAGE_WORD = re.compile(
    "pages?|pp?|pg|seiten?|s|blatt|folio|p[áa]ginas?|pág|strana|strona|sida|side|sivu|slide|страница|стр|с|ページ"
)
_NUMBER = re.compile(r"\d+")
_FIRST_WORD = re.compile(r"\w+")
_BROKEN_WORD = re.compile(r"[^\W\d_][-\u2010\xad]\Z")
_CONJUNCTIONS = frozenset({"and", "or", "to", "und", "oder", "bis", "et", "ou", "y", "o", "e", "en", "of"})
_WIDE = 1.35  # multiple of the usual line distance
_FAR_LINES = 2.5  # multiple of the line height; double-spaced lines are closer
_OTHER_SIZE = 1.15  # multiple of the height of the previous line


class Line(NamedTuple):
    """A line of a page."""

    text: str
    middle: float | None = None  # Vertical position as a share of the page's height, from the top; None if unknown.
    height: float = 0.0  # Font height as a share of the page's height; 0 if unknown.
    size: float = 0.0  # Size of the font in points as it is displayed; 0 if unknown.
    left: float = 0.0
    is_bold: bool = False
    cells: int = 1  # Number of its pieces with wide gaps between them, without a number or label at its start.


def joined(pieces: Sequence[PagePiece]) -> str:
    """Return the text of pieces of one line, or of one row of a table."""
    texts = [" " * pieces[0].indent, pieces[0].text] if pieces else []
    for before, after in pairwise(pieces):
        if before.text[-1] not in HYPHENS or same_line(before, after):
            texts.append(space_between(before, after) if same_line(before, after) else " ")
        texts.append(after.text)
    return "".join(texts)


def line_of(
    pieces: Sequence[PagePiece], text: str, height: float, look: Callable[[int, int], tuple[float, bool]]
) -> Line:
    """Return the line that pieces make up on a page of a height, with their text; `look` gives size and weight."""
    first = pieces[0]
    if not first.is_straight or first.is_vertical:
        return Line(text)
    size, is_bold = 0.0, False
    if first.first >= 0:
        word = _FIRST_WORD.search(first.text)
        size, is_bold = look(first.first + word.start() if word else first.first, first.last)
    is_bold = is_bold and all(piece.first < 0 or look(piece.first, piece.last)[1] for piece in pieces[1:])
    cells = len(pieces) - (len(pieces) > 1 and LABEL.fullmatch(first.text) is not None)
    middle = (first.top + first.bottom) / 2 / height
    return Line(text, middle, first.height / height, size, first.left, is_bold, cells)


class _Running(NamedTuple):
    """Words that occur at one position on many pages, with a page number relative to the count of pages."""

    words: frozenset[str]
    middle: float | None  # The position; None for a page number that is the last line of each page.
    first: int | None  # The page on which they are kept; None for page numbers, which are kept nowhere.


def without_running_lines(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return pages without their headers, footers and page numbers.

    A line is a running line if it is in a page's margin, not larger than usual lines, and its text, in which one number
    may count with the pages, is at the same height on more than half of the pages, or on half of at least 8 successive
    pages. A numbered title at the top, such as Question 3, is none, unless its number stands apart. Parts of a
    running line are removed too, and so is a page number that is the last line of as many pages. A line without a page
    number is kept at its first occurrence. If most pages would be left empty, nothing is removed.
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
            may_be_title = line.middle < _MARGIN and line.cells == 1
            for words in _readings(line.text, number):
                if not (may_be_title and _is_numbered_title(line.text.split(), words)):
                    places[words].setdefault(number, line.middle)
    for words, middles in places.items():
        place = median(middles.values())
        there = [number for number, middle in middles.items() if abs(middle - place) <= _SAME_PLACE]
        if _often(there, pages):
            counts = any(_COUNT in word for word in words)
            yield _Running(frozenset(words), place, None if counts else there[0])


def _is_numbered_title(words: Sequence[str], counted: Sequence[str]) -> bool:
    """Return whether words are like Question 3, Q3 of 8 or 3. and not like Page 3, p.3, A-3 or Report – 3."""
    at = next((at for at, word in enumerate(counted) if _COUNT in word), None)
    if at is None:
        return False
    text = " ".join(words[max(0, at - 1) : at + 1])
    if match := _WORD_AND_NUMBER.match(text):
        word = match[1].casefold()
        return match[2] not in {"頁", "页", "ペ"} if word == "第" else _PAGE_WORD.fullmatch(word) is None
    return _NUMBERED.match(text) is not None


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
    there = last
    if running.middle is not None:
        there = line.middle is not None and abs(line.middle - running.middle) <= _SAME_PLACE
    return (
        there and page != running.first and any(running.words.issuperset(words) for words in _readings(line.text, page))
    )


def _readings(text: str, page: int) -> Iterator[tuple[str, ...]]:
    """Yield a line's words, unchanged and with each of its numbers relative to the page's number."""
    words = tuple(text.split())
    if not words or len(words) > _MOST_WORDS:
        return
    yield words
    for at, word in enumerate(words):
        if match := _NUMBER.search(word):
            counted = f"{word[: match.start()]}{_COUNT}{int(match[0][:9]) - page}{word[match.end() :]}"
            yield (*words[:at], counted, *words[at + 1 :])


def with_hyphens(lines: Sequence[Line]) -> list[Line]:
    """Return a page's lines with PDFium's mark for each hyphen over which a word goes on."""
    marked = list(lines)
    for at, (before, after) in enumerate(pairwise(lines)):
        if after.text[:1].islower() and _BROKEN_WORD.search(before.text[-2:]):
            marked[at] = before._replace(text=before.text[:-1] + HYPHENS[0])
    return marked


def paragraphs(lines: Sequence[Line]) -> str:
    """Return a page's lines as text, with a blank line after each paragraph.

    A paragraph ends where the next line is farther away than usual on the page, is above, or has another size, except
    in the middle of a sentence.
    """
    return "".join(f"{line.text}{after}" for line, after in zip(lines, separators(lines), strict=True))


def separators(lines: Sequence[Line]) -> list[str]:
    """Return the white space that follows each line of a page."""
    places = [line.middle for line in lines if line.middle is not None]
    usual = median([after - before for before, after in pairwise(places) if after - before > _SAME_LINE] or [0.0])
    return [_between(before, after, usual) for before, after in pairwise(lines)] + [""] * bool(lines)


def _between(before: Line, after: Line, usual: float) -> str:
    if (
        before.text[-1:] in HYPHENS
        and (first := _FIRST_WORD.match(after.text.lstrip()))
        and first[0] not in _CONJUNCTIONS
    ):
        return ""
    if (before.middle is None) != (after.middle is None):
        return "\n\n"
    return "\n\n" if _ends(before, after, usual) and not continues(before.text, after.text) else "\n"


def _ends(before: Line, after: Line, usual: float) -> bool:
    if before.middle is None or after.middle is None or not before.text.strip() or not after.text.strip():
        return False
    distance = after.middle - before.middle
    low, high = sorted((before.height, after.height))
    if abs(distance) < high / 2:  # on the same line
        return False
    return distance < 0 or distance > min(_WIDE * usual, _FAR_LINES * high) or high > _OTHER_SIZE * low
