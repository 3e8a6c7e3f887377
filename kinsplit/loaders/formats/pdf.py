"""PDF files as one text with a page map.

Pages are joined by a blank line: it is the one boundary that every splitter understands, and a page of slides is a
unit. Where a sentence continues on the next page, a line feed joins them. `Document.pages` contains the offset of each
page, including pages without text. PDFium's output is made readable before offsets are assigned:

- Lines end with a single line feed, which doesn't end sentences; tabs and no-break spaces become spaces.
- Running headers and footers and page numbers are removed (see `without_running_lines`).
- A blank line separates paragraphs, which are recognised by the distance and size of lines (see `paragraphs`).
- PDFium marks a hyphen at the end of a line by U+FFFE or U+0002 and removes the line break, whether the word was
  only broken there (`exam-ple`) or has a hyphen of its own (`lithium-ion`). The hyphen stays if the hyphenated word
  occurs elsewhere in the document, or if the joined word doesn't but both halves do as words, or next to a digit.
  Otherwise the word is joined.
- A soft hyphen (U+00AD) is visible on the page, so it becomes a hyphen.
- Bullets and arrows of Symbol and Wingdings, which Word writes as private-use code points, become those of Unicode.
"""

from __future__ import annotations

import ctypes
import math
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.support.extras import needs
from kinsplit.support.pages import continues, join_pages

_MARGIN = 0.15  # share of the page's height at the top and bottom, for headers and footers
_SAME_PLACE = 0.01  # share of the page's height
_SAME_LINE = 0.002  # share of the page's height
_FEWEST = 3  # pages
_STRETCH = 8  # pages
_MOST_WORDS = 30
_COUNT = "\0"
_NUMBER = re.compile(r"\d+")
_WIDE = 1.35  # multiple of the usual line distance
_FAR_LINES = 2.5  # multiple of the line height; double-spaced lines are closer
_OTHER_SIZE = 1.15  # multiple of the height of the previous line


class Line(NamedTuple):
    """A line of a page.

    Attributes:
        text: Text without its line end.
        middle: Vertical position as a share of the page's height, from the top; None if unknown.
        height: Font height as a share of the page's height; 0 if unknown.
    """

    text: str
    middle: float | None = None
    height: float = 0.0


class _Running(NamedTuple):
    """Words that occur at one position on many pages, with a page number relative to the count of pages.

    Attributes:
        words: The words.
        middle: The position; None for a page number that is the last line of each page.
        first: The page on which they are kept; None for page numbers, which are kept nowhere.
    """

    words: frozenset[str]
    middle: float | None
    first: int | None


def without_running_lines(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return pages without their headers, footers and page numbers.

    A line is a running line if it is in a page's margin, not larger than usual lines, and its text, in which one number
    may count with the pages, is at the same height on more than half of the pages, or on half of at least 8 successive
    pages. Parts of a running line are removed too, and so is a page number that is the last line of as many pages. A
    line without a page number is kept at its first occurrence. If most pages would be left empty, nothing is removed.
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
    """Yield a line's words, unchanged and with each of its numbers relative to the page's number."""
    words = tuple(text.split())
    if not words or len(words) > _MOST_WORDS:
        return
    yield words
    for at, word in enumerate(words):
        if match := _NUMBER.search(word):
            counted = f"{word[: match.start()]}{_COUNT}{int(match[0][:9]) - page}{word[match.end() :]}"
            yield (*words[:at], counted, *words[at + 1 :])


def paragraphs(lines: Sequence[Line]) -> str:
    """Return a page's lines as text, with a blank line after each paragraph.

    A paragraph ends where the next line is farther away than usual on the page, is above, or has another size, except
    in the middle of a sentence.
    """
    places = [line.middle for line in lines if line.middle is not None]
    usual = median([after - before for before, after in pairwise(places) if after - before > _SAME_LINE] or [0.0])
    parts = [line.text for line in lines[:1]]
    for before, after in pairwise(lines):
        parts.append("\n\n" if _ends(before, after, usual) and not continues(before.text, after.text) else "\n")
        parts.append(after.text)
    return "".join(parts)


def _ends(before: Line, after: Line, usual: float) -> bool:
    if before.middle is None or after.middle is None or not before.text.strip() or not after.text.strip():
        return False
    distance = after.middle - before.middle
    low, high = sorted((before.height, after.height))
    same_line = abs(distance) < high / 2
    return not same_line and (
        distance < 0 or distance > min(_WIDE * usual, _FAR_LINES * high) or high > _OTHER_SIZE * low
    )


_MARK = re.compile("[\ufffe\x02]")
_WORD = re.compile(r"\w+(?:-\w+)*")
_FIRST_WORD, _LAST_WORD = re.compile(r"\w+"), re.compile(r"(?<!\w)\w+\Z")
_FINE = 1_000_000  # resolution of a page's height
_FAR = 1_000  # points, more than most pages are high
_STRAIGHT = 0.9  # cosine of the angle between a line and the page
_LONGEST = 40  # maximum characters of half a word
_READABLE = str.maketrans(
    {
        "\xad": "-",
        "\xa0": " ",
        "\t": " ",
        "\uf0b7": "•",
        "\uf0a7": "▪",
        "\uf0d8": "➢",
        "\uf0fc": "✓",
        "\uf0e0": "→",
        "\uf0df": "←",
    }
)
_PDFIUM = threading.Lock()  # PDFium is not thread-safe


def read(data: bytes) -> Reading:
    """Return the text of a PDF file with its page map and title."""
    with _PDFIUM:
        lines, title, broken = _extract(data)
    raw = [paragraphs(page) for page in without_running_lines(lines)]
    if not any(page.strip() for page in raw):
        raise UnreadableError(f"none of its {len(raw)} pages holds text; it may be scanned. Run OCR first (ocrmypdf).")
    warnings = []
    if broken:
        warnings.append(f"pages that can't be read: {_listed(broken)}")
    if empty := [n for n, page in enumerate(raw, 1) if not page.strip() and n not in broken]:
        warnings.append(f"pages without text, perhaps scanned: {_listed(empty)}")
    text, starts = join_pages(_dehyphenate(raw))
    return Reading((Content(text, title, pages=tuple(starts)),), tuple(warnings))


def _extract(data: bytes) -> tuple[list[list[Line]], str | None, list[int]]:
    """Return each page's lines, the title, and the numbers of the pages that can't be read."""
    with needs("files"):
        import pypdfium2
        from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in {FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY}:
            raise UnreadableError("is protected by a password. Save a copy without it (qpdf --decrypt).") from error
        raise UnreadableError(
            f"is broken or not a valid PDF: {error} Open it in a viewer and save it again."
        ) from error
    pages, broken = [], []
    with closing(pdf):
        if len(pdf) > len(data):  # Each page takes bytes; without this check, every claimed page would be searched for.
            raise UnreadableError(f"claims {len(pdf):,} pages, more than it has bytes. Open and save it in a viewer.")
        title = str(pdf.get_metadata_dict().get("Title", "")).strip()
        for index in range(len(pdf)):
            try:
                with closing(pdf[index]) as page, closing(page.get_textpage()) as text:
                    pages.append(list(_lines(page, text)))
            except pypdfium2.PdfiumError:
                pages.append([])
                broken.append(index + 1)
    return pages, title if title.lower() not in {"", "untitled"} else None, broken


def _lines(page: Any, text: Any) -> Iterator[Line]:
    """Yield a page's lines with their positions, which PDFium gives by character index."""
    from pypdfium2.raw import FPDFText_GetCharAngle, FPDFText_GetUnicode

    turned, seen = math.radians(page.get_rotation()), _view(page)
    at = 0
    for line in text.get_text_range(errors="surrogatepass").split("\r\n"):
        first = at + len(line) - len(line.lstrip())
        at += len(line) + 2
        # PDFium's text lacks characters that it can't decode, which shifts the indexes of later ones; and the first
        # characters of rotated lines are not representative.
        if (
            line.strip()
            and FPDFText_GetUnicode(text, first) == ord(line.lstrip()[0])
            and math.cos(FPDFText_GetCharAngle(text, first) + turned) > _STRAIGHT
        ):
            left, bottom, right, top = text.get_charbox(first, loose=True)
            above, below = sorted((seen(left, bottom), seen(right, top)))
            yield Line(line, (above + below) / 2, below - above)
        else:
            yield Line(line)


def _view(page: Any) -> Callable[[float, float], float]:
    """Return a function from a point to its visible height on a page, whatever the page's rotation and crop."""
    from pypdfium2.raw import FPDF_PageToDevice

    across, down = ctypes.c_int(), ctypes.c_int()

    def seen(x: int, y: int) -> float:
        FPDF_PageToDevice(page, 0, 0, _FINE, _FINE, 0, x, y, across, down)
        return down.value / _FINE

    start = seen(0, 0)
    right, up = (seen(_FAR, 0) - start) / _FAR, (seen(0, _FAR) - start) / _FAR
    return lambda x, y: start + right * x + up * y


def _dehyphenate(pages: list[str]) -> list[str]:
    words = set(_words(pages))
    return ["".join(_mended(_MARK.split(page), words)).translate(_READABLE) for page in pages]


def _mended(pieces: list[str], words: set[str]) -> Iterator[str]:
    """Yield the pieces between the marks, with the hyphens that stay."""
    yield pieces[0]
    for before, after in pairwise(pieces):
        left, right = _LAST_WORD.search(before[-_LONGEST:]), _FIRST_WORD.match(after[:_LONGEST])
        if not left or not right or _keeps_hyphen(left[0].lower(), right[0].lower(), words):
            yield "-"
        yield after


def _keeps_hyphen(left: str, right: str, words: set[str]) -> bool:
    if left[-1].isdigit() or right[0].isdigit() or f"{left}-{right}" in words:
        return True
    return left + right not in words and left in words and right in words


def _words(pages: list[str]) -> Iterator[str]:
    """Yield the words without marks, and the parts of the hyphenated ones."""
    for page in pages:
        pieces = _MARK.split(page.lower())
        for number, piece in enumerate(pieces, 1):
            first = 0 if number == 1 else 1  # a word must begin here or later ...
            last = len(piece) if number == len(pieces) else len(piece) - 1  # ... and end here or earlier
            for match in _WORD.finditer(piece):
                if match.start() >= first and match.end() <= last:
                    yield match[0]
                    if "-" in match[0]:
                        yield from match[0].split("-")


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (f" and {len(numbers) - 10:,} more" if len(numbers) > 10 else "")


FORMAT = Format("pdf", (".pdf",), "the text of all pages, with a page map", read)
