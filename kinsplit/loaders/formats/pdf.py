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
- Bullets and arrows of Symbol and Wingdings, which Word writes as private-use code points, become those of Unicode;
  other glyphs without a character become bullets, Greek letters or nothing (see `_with_characters`).

Headings are found among the lines that remain (see `pdf_headings`), with their offsets in the final text.
"""

from __future__ import annotations

import ctypes
import math
import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import pairwise
from typing import Any, NamedTuple

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import SYMBOLS
from kinsplit.loaders.formats.headings import filing_headings, layered, numbered_headings, titled
from kinsplit.loaders.formats.pdf_headings import Bookmark, as_headings, pdf_headings
from kinsplit.loaders.formats.pdf_lines import Line, paragraphs, separators, without_running_lines
from kinsplit.support.extras import needs
from kinsplit.support.pages import join_pages

_MARK = re.compile("[\ufffe\x02]")
_WORD = re.compile(r"\w+(?:-\w+)*")
_FIRST_WORD, _LAST_WORD = re.compile(r"\w+"), re.compile(r"(?<!\w)\w+\Z")
_FINE = 1_000_000  # resolution of a page's height
_FAR = 1_000  # points, more than most pages are high
_STRAIGHT = 0.9  # cosine of the angle between a line and the page
_LONGEST = 40  # maximum characters of half a word
_READABLE = {**SYMBOLS, **str.maketrans({"\xad": "-", "\xa0": " ", "\t": " "})}
_PRIVATE = re.compile("[\x00\x01\x03-\x08\x0e-\x1f\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")
_FIRST_PRIVATE = re.compile(r"^(\s*)[\ue000-\uf8ff](?=\s)")
# The letters and some signs of the font Symbol.
_SYMBOLS = dict(
    zip(
        (*range(0x41, 0x5B), *range(0x61, 0x7B), *b"\xa3\xa5\xae\xb1\xb3\xb4\xb8\xb9\xbb\xd6\xe5\xf2"),
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞→±≥×÷≠≈√∑∫",
        strict=True,
    )
) | {code: chr(code) for code in (*range(0x28, 0x40), 0x5B, 0x5D, 0x7B, 0x7C, 0x7D)}
_BOLD = re.compile(rb"bold|black|heavy|demi|CMBX|SFBX", re.IGNORECASE)
_BOLD_WEIGHT = 600
_LONGEST_NAME = 200  # bytes of a font's name
_MOST_BOOKMARKS = 5_000
_DEEPEST_BOOKMARK = 6
_PDFIUM = threading.Lock()  # PDFium is not thread-safe


def read(data: bytes) -> Reading:
    """Return the text of a PDF file with its page map and title."""
    with _PDFIUM:
        file = _extract(data)
    pages = without_running_lines(file.pages)
    raw = [paragraphs(page) for page in pages]
    if not any(page.strip() for page in raw):
        raise UnreadableError(f"none of its {len(raw)} pages holds text; it may be scanned. Run OCR first (ocrmypdf).")
    warnings = []
    if file.broken:
        warnings.append(f"pages that can't be read: {_listed(file.broken)}")
    if empty := [n for n, page in enumerate(raw, 1) if not page.strip() and n not in file.broken]:
        warnings.append(f"pages without text, perhaps scanned: {_listed(empty)}")
    words = set(_words(raw))
    mended = [_mended(page, words) for page in raw]
    text, starts = join_pages([page.text for page in mended])
    spans = [_spans(*of_page) for of_page in zip(pages, mended, starts, strict=True)]
    title, *others = (as_headings(layer, spans) for layer in pdf_headings(pages, file.bookmarks, file.is_wide))
    filing = filing_headings(text)
    if filing:  # The largest line of a filing's cover names the authority.
        title = []
    headings = layered(title, filing, *others) or numbered_headings(text)
    name = file.title or (title[0].title if title else None)
    headings = headings if title else titled(headings, file.title)
    return Reading((Content(text, name, pages=tuple(starts), headings=headings),), tuple(warnings))


class _File(NamedTuple):
    pages: list[list[Line]]
    title: str | None
    broken: list[int]  # Numbers of the pages that can't be read, from 1.
    bookmarks: list[Bookmark]
    is_wide: bool


def _extract(data: bytes) -> _File:
    with needs("files"):
        import pypdfium2
        from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in {FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY}:
            raise UnreadableError("is protected by a password. Save a copy without it (qpdf --decrypt).") from error
        reason = f"is broken or not a valid PDF: {error} Open it in a viewer and save it again."
        raise UnreadableError(reason) from error
    pages: list[list[Line]] = []
    broken: list[int] = []
    wide = 0
    with closing(pdf):
        if len(pdf) > len(data):  # Each page takes bytes; without this check, every claimed page would be searched for.
            raise UnreadableError(f"claims {len(pdf):,} pages, more than it has bytes. Open and save it in a viewer.")
        title = str(pdf.get_metadata_dict().get("Title", "")).strip()
        for index in range(len(pdf)):
            try:
                with closing(pdf[index]) as page, closing(page.get_textpage()) as text:
                    pages.append(list(_lines(page, text)))
                    wide += page.get_width() > page.get_height()
            except pypdfium2.PdfiumError:
                pages.append([])
                broken.append(index + 1)
        bookmarks = list(_bookmarks(pdf))
    known = title if title.lower() not in {"", "untitled"} else None
    return _File(pages, known, broken, bookmarks, 2 * wide > len(pages))


def _bookmarks(pdf: Any) -> Iterator[Bookmark]:
    """Yield the bookmarks that lead to a page; of a file in which they form a circle, each once."""
    from pypdfium2 import PdfBookmark
    from pypdfium2.raw import FPDFBookmark_GetFirstChild, FPDFBookmark_GetNextSibling

    waiting = [(FPDFBookmark_GetFirstChild(pdf, None), 1)]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_BOOKMARKS:
        entry, level = waiting.pop()
        if not entry or (address := ctypes.addressof(entry.contents)) in seen:
            continue
        seen.add(address)
        waiting.append((FPDFBookmark_GetNextSibling(pdf, entry), level))
        if level < _DEEPEST_BOOKMARK:
            waiting.append((FPDFBookmark_GetFirstChild(pdf, entry), level + 1))
        bookmark = PdfBookmark(entry, pdf, level)
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            with suppress(UnicodeDecodeError):  # from a broken title
                yield Bookmark(page, level, bookmark.get_title())


def _lines(page: Any, text: Any) -> Iterator[Line]:
    """Yield a page's lines with their positions, which PDFium gives by character index."""
    from pypdfium2.raw import FPDFText_GetCharAngle, FPDFText_GetUnicode

    turned, seen, font = math.radians(page.get_rotation()), _view(page), _fonts(text)
    at = 0
    for line in text.get_text_range(errors="surrogatepass").split("\r\n"):
        first, last = at + len(line) - len(line.lstrip()), at + len(line.rstrip()) - 1
        # PDFium's text lacks characters that it can't decode, which shifts the indexes of later ones; and the first
        # characters of rotated lines are not representative.
        is_known = line.strip() and FPDFText_GetUnicode(text, first) == ord(line.lstrip()[0])
        if is_known and math.cos(FPDFText_GetCharAngle(text, first) + turned) > _STRAIGHT:
            left, bottom, right, top = text.get_charbox(first, loose=True)
            above, below = sorted((seen(left, bottom), seen(right, top)))
            look = font(at + match.start() if (match := _WORD.search(line)) else first, last)
            yield Line(_with_characters(line), (above + below) / 2, below - above, look[0], left, look[1])
        else:
            yield Line(_with_characters(line))
        at += len(line) + 2


def _fonts(text: Any) -> Callable[[int, int], tuple[float, bool]]:
    """Return a function from the first and last character of a line to the size in points and whether both are bold."""
    from pypdfium2 import raw

    name, flags, matrix = ctypes.create_string_buffer(_LONGEST_NAME), ctypes.c_int(), raw.FS_MATRIX()

    def is_bold(at: int) -> bool:
        if raw.FPDFText_GetFontWeight(text, at) >= _BOLD_WEIGHT:
            return True
        length = raw.FPDFText_GetFontInfo(text, at, name, _LONGEST_NAME, flags)
        return 0 < length <= _LONGEST_NAME and _BOLD.search(name.raw[:length]) is not None

    def look(first: int, last: int) -> tuple[float, bool]:
        scale = math.hypot(matrix.c, matrix.d) if raw.FPDFText_GetMatrix(text, first, matrix) else 1.0
        size = raw.FPDFText_GetFontSize(text, first) * scale
        return size, is_bold(first) and is_bold((first + last) // 2) and is_bold(last)

    return look


def _with_characters(line: str) -> str:
    """Return a line in which no character stands for a glyph that has none.

    Symbol fonts number their glyphs in the private use area: one at the start of a line is a bullet, those of Symbol
    are Greek letters and signs, and the others can't be read.
    """
    if _PRIVATE.search(line) is None:
        return line
    line = _FIRST_PRIVATE.sub(r"\1•", line.translate(_READABLE))
    return _PRIVATE.sub(lambda match: _SYMBOLS.get(ord(match[0]) - 0xF000, ""), line)


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


class _Page(NamedTuple):
    """The text of a page without the marks of hyphens."""

    text: str
    dropped: list[int]


def _mended(page: str, words: set[str]) -> _Page:
    """Return a page whose marks are replaced by hyphens or dropped."""
    parts: list[str] = []
    dropped: list[int] = []
    pieces = _MARK.split(page)
    at = 0
    for before, after in pairwise(pieces):
        at += len(before)
        left, right = _LAST_WORD.search(before[-_LONGEST:]), _FIRST_WORD.match(after[:_LONGEST])
        keeps = not left or not right or _keeps_hyphen(left[0].lower(), right[0].lower(), words)
        parts += [before, "-" if keeps else ""]
        dropped += [] if keeps else [at]
        at += 1
    return _Page("".join([*parts, pieces[-1]]).translate(_READABLE), dropped)


def _spans(lines: Sequence[Line], page: _Page, start: int) -> list[tuple[int, int]]:
    """Return start and end of each line of a page in the document."""
    found: list[tuple[int, int]] = []
    at = 0
    for line, separator in zip(lines, separators(lines), strict=True):
        first = at + len(line.text) - len(line.text.lstrip())
        last = max(first, at + len(line.text.rstrip()))
        found.append((start + first - bisect_left(page.dropped, first), start + last - bisect_left(page.dropped, last)))
        at += len(line.text) + len(separator)
    return found


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
