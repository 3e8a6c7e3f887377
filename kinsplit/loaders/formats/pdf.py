"""PDF files as one text with a page map.

Pages are joined by a blank line: it is the one boundary that every splitter understands, and a page of slides is a
unit. Where a sentence continues on the next page, a line feed joins them. `Document.pages` contains the offset of each
page, including pages without text. PDFium's output is made readable before offsets are assigned:

- Pieces of text are put into reading order, columns one after the other and rows of tables on one line, with values of
  form fields and comments among them, and raised characters apart (see `kinsplit.loaders.pdf`).
- Lines end with a single line feed, which doesn't end sentences; tabs and no-break spaces become spaces.
- Running headers and footers and page numbers are removed (see `without_running_lines`).
- A blank line separates paragraphs, which are recognised by the distance and size of lines (see `paragraphs`).
- PDFium marks a hyphen at the end of a line by U+FFFE or U+0002, whether the word was only broken there (`exam-ple`) or
  has a hyphen of its own (`lithium-ion`); hyphens at the ends of columns and pages get the mark here. The hyphen stays
  if the hyphenated word occurs elsewhere in the document, or if the joined word doesn't but both halves do as words,
  or next to a digit, or before a capital letter. Otherwise the word is joined.
- A soft hyphen (U+00AD) is visible on the page, so it becomes a hyphen.
- Bullets and arrows of Symbol and Wingdings, which Word writes as private-use code points, become those of Unicode;
  other glyphs without a character become bullets, Greek letters or nothing (see `READABLE`).

Headings are found among the lines that remain (see `pdf_headings`), with their offsets in the final text.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kinsplit.loaders.content import PICTURE, Content, Format, LeftOut, Reading, UnreadableError
from kinsplit.loaders.markup.headings import filing_headings, layered, numbered_headings, titled
from kinsplit.loaders.pdf.file import pdf_file
from kinsplit.loaders.pdf.headings import as_headings, pdf_headings
from kinsplit.loaders.pdf.lines import Line, paragraphs, separators, with_hyphens, without_running_lines
from kinsplit.loaders.pdf.pieces import HYPHENS, READABLE
from kinsplit.support.pages import join_pages

_MARK = re.compile(f"[{HYPHENS}]")
_WORD = re.compile(r"\w+(?:-\w+)*")
_FIRST_WORD, _LAST_WORD = re.compile(r"\w+"), re.compile(r"(?<!\w)\w+\Z")
_BROKEN_WORD, _REST = re.compile(rf"[^\W\d_][-\u2010\xad{HYPHENS}]\Z"), re.compile(r"\S+\s*")
_LONGEST = 40  # maximum characters of half a word
_PDFIUM = threading.Lock()  # PDFium is not thread-safe


def read(data: bytes) -> Reading:
    """Return the text of a PDF file with its page map and title."""
    with _PDFIUM:
        file = pdf_file(data)
    pages = [with_hyphens(page) for page in without_running_lines(file.pages)]
    raw = [paragraphs(page) for page in pages]
    if not any(page.strip() for page in raw):
        raise UnreadableError(f"none of its {len(raw)} pages holds text; it may be scanned. Run OCR first (ocrmypdf).")
    warnings, left_out = [*file.warnings], LeftOut()
    if file.broken:
        warnings.append(f"pages that can't be read: {_listed(file.broken)}")
    if empty := [n for n, page in enumerate(raw, 1) if not page.strip() and n not in file.broken]:
        warnings.append(f"pages without text, perhaps scanned: {_listed(empty)}")
    if file.pictures > len(empty):
        left_out.add(*PICTURE, file.pictures - len(empty))
    whole = _with_whole_words(raw)
    words = _words([page for page, _ in whole])
    mended = [_mended(*page, words) for page in whole]
    text, starts = join_pages([page.text for page in mended])
    spans = [_spans(*of_page) for of_page in zip(pages, mended, starts, strict=True)]
    title, *others = (as_headings(layer, spans) for layer in pdf_headings(pages, file.bookmarks, file.is_wide))
    filing = filing_headings(text)
    if filing:  # The largest line of a filing's cover names the authority.
        title = []
    headings = layered(title, filing, *others) or numbered_headings(text)
    name = file.title or (title[0].title if title else None)
    headings = headings if title else titled(headings, file.title)
    return Reading((Content(text, name, pages=tuple(starts), headings=headings),), (*warnings, *left_out.warnings))


class _Page(NamedTuple):
    """The text of a page without the marks of hyphens."""

    text: str
    dropped: list[int]


def _with_whole_words(pages: Sequence[str]) -> list[tuple[str, int]]:
    """Return pages, with words that go on over a page moved to its end, and the characters that the next one loses."""
    whole, lost = list(pages), [0] * len(pages)
    filled = [number for number, page in enumerate(pages) if page]
    for before, after in pairwise(filled):
        rest = _REST.match(whole[after])
        if rest and rest[0][0].islower() and rest.end() < len(whole[after]) and _BROKEN_WORD.search(whole[before][-2:]):
            whole[before] = f"{whole[before][:-1]}{HYPHENS[0]}{rest[0].rstrip()}"
            whole[after], lost[after] = whole[after][rest.end() :], rest.end()
    return list(zip(whole, lost, strict=True))


def _mended(page: str, lost: int, words: set[str]) -> _Page:
    """Return a page whose marks are replaced by hyphens or dropped, after it lost its first characters."""
    parts: list[str] = []
    dropped = list(range(lost))
    pieces = _MARK.split(page)
    at = lost
    for before, after in pairwise(pieces):
        at += len(before)
        left, right = _LAST_WORD.search(before[-_LONGEST:]), _FIRST_WORD.match(after[:_LONGEST])
        keeps = not left or not right or _keeps_hyphen(left[0], right[0], words)
        parts += [before, "-" if keeps else ""]
        dropped += [] if keeps else [at]
        at += 1
    return _Page("".join([*parts, pieces[-1]]).translate(READABLE), dropped)


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
    if left[-1].isdigit() or right[0].isdigit() or (left[-1].islower() and right[0].isupper()):
        return True
    left, right = left.lower(), right.lower()
    if f"{left}-{right}" in words:
        return True
    return left + right not in words and left in words and right in words


def _words(pages: list[str]) -> set[str]:
    """Return the words without marks, and the parts of the hyphenated ones."""
    if not any(map(_MARK.search, pages)):
        return set()
    found: set[str] = set()
    for page in pages:
        pieces = _MARK.split(page.lower())
        for number, piece in enumerate(pieces, 1):
            words = _WORD.findall(piece)
            if words and number > 1 and piece.startswith(words[0]):  # the second half of a word
                del words[0]
            if words and number < len(pieces) and piece.endswith(words[-1]):  # the first half of one
                del words[-1]
            found.update(words)
    return found.union(*(word.split("-") for word in found if "-" in word))


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (f" and {len(numbers) - 10:,} more" if len(numbers) > 10 else "")


FORMAT = Format("pdf", (".pdf",), "the text of all pages, with a page map", read)
