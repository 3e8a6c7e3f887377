"""The lines of a PDF file, its bookmarks, and what it holds without a text, as PDFium gives them."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any, NamedTuple

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.pdf.headings import Bookmark
from kinsplit.loaders.pdf.layout import in_reading_order
from kinsplit.loaders.pdf.lines import Line, joined, line_of
from kinsplit.loaders.pdf.marks import resolved
from kinsplit.loaders.pdf.parts import alternatives, is_scanned, picture_count, with_annotations
from kinsplit.loaders.pdf.pieces import fonts, pieces_of
from kinsplit.support.extras import needs

_MOST_BOOKMARKS = 5_000
_DEEPEST_BOOKMARK = 6
_MOST_NAMES = 10  # attachments that a warning names


class PdfFile(NamedTuple):
    """The text, structure and properties that PDFium reads from a file."""

    pages: list[list[Line]]
    title: str | None
    broken: list[int]  # Numbers of the pages that can't be read, from 1.
    bookmarks: list[Bookmark]
    is_wide: bool
    pictures: int  # Number of pictures without a text, those of pages without text included.
    warnings: list[str]


def pdf_file(data: bytes) -> PdfFile:
    """Return what PDFium reads of a file; it must not be used by two threads at once."""
    with closing(_opened(data)) as pdf:
        if len(pdf) > len(data):  # Each page takes bytes; without this check, every claimed page would be searched for.
            raise UnreadableError(f"claims {len(pdf):,} pages, more than it has bytes. Open and save it in a viewer.")
        return _Reader(pdf, data).file()


def left_out(number: int, noun: str) -> str:
    """Return a warning of things that were left out, named by a noun in the singular."""
    first, *rest = noun.split(" ", 1)
    plural = " ".join([first + "s", *rest])
    return f"{number:,} {noun} was left out" if number == 1 else f"{number:,} {plural} were left out"


def _opened(data: bytes) -> Any:
    with needs("files"):
        import pypdfium2
        from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in {FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY}:
            raise UnreadableError("is protected by a password. Save a copy without it (qpdf --decrypt).") from error
        reason = f"is broken or not a valid PDF: {error} Open it in a viewer and save it again."
        raise UnreadableError(reason) from error


class _Reader:
    """Reads an open file page by page, and counts what has no text."""

    def __init__(self, pdf: Any, data: bytes) -> None:
        from pypdfium2.raw import FORMTYPE_NONE, FPDFCatalog_IsTagged

        self._pdf, self._data = pdf, data
        self._is_tagged = bool(FPDFCatalog_IsTagged(pdf))
        self._described = self._scanned = 0
        self._lost: Counter[str] = Counter()
        if pdf.get_formtype() != FORMTYPE_NONE:
            pdf.init_forms()

    def file(self) -> PdfFile:
        """Return all that is read of the file."""
        import pypdfium2

        pdf = self._pdf
        pages: list[list[Line]] = []
        broken: list[int] = []
        wide = 0
        for index in range(len(pdf)):
            try:
                with closing(pdf[index]) as page, closing(page.get_textpage()) as text:
                    pages.append(self._lines(page, text))
                    wide += page.get_width() > page.get_height()
            except pypdfium2.PdfiumError:
                pages.append([])
                broken.append(index + 1)
        title = str(pdf.get_metadata_dict().get("Title", "")).strip()
        known = title if title.lower() not in {"", "untitled"} else None
        pictures = max(0, picture_count(self._data) - self._described - self._scanned)
        return PdfFile(pages, known, broken, list(self._bookmarks()), 2 * wide > len(pages), pictures, self._warnings())

    def _lines(self, page: Any, text: Any) -> list[Line]:
        """Return a page's lines in reading order, then its comments and the alternative texts of its pictures."""
        pieces, comments = with_annotations(self._pdf, page, pieces_of(page, text), self._lost)
        self._scanned += is_scanned(text)
        described = list(alternatives(page)) if self._is_tagged else []
        self._described += len(described)
        height = page.get_height() or 1.0
        rows = in_reading_order(pieces)
        texts, look = resolved(map(joined, rows)), fonts(text)
        lines = [line_of(row, its_text, height, look) for row, its_text in zip(rows, texts, strict=True)]
        return [*lines, *(Line(text) for text in (*described, *comments))]

    def _warnings(self) -> list[str]:
        from pypdfium2.raw import FORMTYPE_XFA_FULL

        pdf = self._pdf
        warnings = []
        if pdf.get_formtype() == FORMTYPE_XFA_FULL:
            warnings.append("is an XFA form, whose fields can't be read. Open it in Acrobat and print it to a PDF")
        if number := pdf.count_attachments():
            names = [pdf.get_attachment(at).get_name() for at in range(min(number, _MOST_NAMES))]
            warnings.append(f"{left_out(number, 'attachment')}: {', '.join(names)}")
        return warnings + [left_out(number, noun) for noun, number in sorted(self._lost.items())]

    def _bookmarks(self) -> Iterator[Bookmark]:
        """Yield the bookmarks that lead to a page; of a file in which they form a circle, each once."""
        from pypdfium2 import PdfBookmark
        from pypdfium2.raw import FPDFBookmark_GetFirstChild, FPDFBookmark_GetNextSibling

        pdf = self._pdf
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
