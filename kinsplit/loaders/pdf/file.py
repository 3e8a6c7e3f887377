"""A PDF file, as PDFium gives it: its lines, its bookmarks, and the texts that a page has beside its own.

Values of form fields and free text stand at their places, comments and alternative texts of pictures below the lines of
their page. What has no text is counted, for a warning of each kind.
"""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

from kinsplit.loaders.content import LeftOut, UnreadableError
from kinsplit.loaders.pdf.headings import Bookmark
from kinsplit.loaders.pdf.layout import in_reading_order
from kinsplit.loaders.pdf.lines import Line, joined, line_of
from kinsplit.loaders.pdf.pieces import PagePiece, fonts, pieces_of, resolved, view
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
        self._left_out = LeftOut()
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
        pieces, comments = with_annotations(self._pdf, page, pieces_of(page, text), self._left_out)
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
            attachments = LeftOut()
            attachments.add("attachment", count=number)
            warnings.append(f"{attachments.warnings[0]}: {', '.join(names)}")
        return [*warnings, *self._left_out.warnings]

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


_MOST_BYTES = 200_000  # of a field's value or a comment
_MOST_ELEMENTS = 20_000  # of a page's structure
_FEWEST_PIXELS = 1_024  # of a picture; smaller ones are ornaments
_LONGEST_HEAD = 2_000  # bytes of a picture's dictionary
_HIDDEN = 2 | 32  # flags of annotations: hidden, and not shown on screens
_PASSWORD = 1 << 13  # flag of form fields
_SIZE = 12.0  # points, of text without a line beside it
_MOST_BESIDE = 200  # pieces beside a form field
_INVISIBLE = 3  # mode in which a scan's text is drawn
_IMAGE = re.compile(rb"/Subtype\s*/Image\b")
_NUMBER, _WIDTH, _HEIGHT = (
    re.compile(rb"(?<!\d)(\d+)\s+\d+\s+$"),
    re.compile(rb"/Width\s+(\d+)"),
    re.compile(rb"/Height\s+(\d+)"),
)
_MASK, _STENCIL = re.compile(rb"/S?Mask\s+(\d+)\s+\d+\s+R"), re.compile(rb"/ImageMask\s+true")


def picture_count(data: bytes) -> int:
    """Return the number of a file's pictures without masks and ornaments; they are never in compressed objects."""
    masks = {int(match[1]) for match in _MASK.finditer(data)}
    found: set[int] = set()
    for match in _IMAGE.finditer(data):
        start = data.rfind(b"obj", max(0, match.start() - _LONGEST_HEAD), match.start())
        head = data[max(0, start) : data.find(b"stream", match.end(), match.end() + _LONGEST_HEAD)]
        number = _NUMBER.search(data[max(0, start - 30) : max(0, start)])
        width, height = _WIDTH.search(head), _HEIGHT.search(head)
        pixels = int(width[1]) * int(height[1]) if width and height else _FEWEST_PIXELS
        if pixels >= _FEWEST_PIXELS and not _STENCIL.search(head):
            found.add(int(number[1]) if number else -match.start())
    return len(found - masks)


def is_scanned(text: Any) -> bool:
    """Return whether a page's text is invisible, as that of a scan is, over its picture."""
    from pypdfium2.raw import FPDFText_GetTextObject, FPDFTextObj_GetTextRenderMode

    first = FPDFText_GetTextObject(text, 0)
    return bool(first) and FPDFTextObj_GetTextRenderMode(first) == _INVISIBLE


def with_annotations(
    pdf: Any, page: Any, pieces: list[PagePiece], left_out: LeftOut
) -> tuple[list[PagePiece], list[str]]:
    """Return a page's pieces with values and free text among them, and its comments; count what has no text."""
    from pypdfium2 import raw

    shown: list[PagePiece] = []
    comments: list[str] = []
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        if note := raw.FPDFPage_GetAnnot(page, number):
            _Annotation(pdf, page, note).add_to(shown, comments, left_out)
            raw.FPDFPage_CloseAnnot(note)
    return _beside(pieces, shown) if shown else pieces, comments


class _Annotation:
    """An annotation that PDFium has opened."""

    def __init__(self, pdf: Any, page: Any, note: Any) -> None:
        from pypdfium2 import raw

        self._raw, self._page, self._note = raw, page, note
        self._form = pdf.formenv.raw if pdf.formenv else None

    def add_to(self, shown: list[PagePiece], comments: list[str], left_out: LeftOut) -> None:
        """Add the annotation's text to what is shown or to the comments, or count it as left out."""
        raw = self._raw
        kind = raw.FPDFAnnot_GetSubtype(self._note)
        if raw.FPDFAnnot_GetFlags(self._note) & _HIDDEN or kind in {raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_LINK}:
            return
        if kind == raw.FPDF_ANNOT_WIDGET:
            self._field(shown, left_out)
            return
        text = self._entry(b"Contents").strip()
        if kind == raw.FPDF_ANNOT_FREETEXT:
            shown += self._pieces(text)
        elif text:
            author = self._entry(b"T").strip()
            comments.append(f"[Comment by {author}: {text}]" if author else f"[Comment: {text}]")
        elif kind in {raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_INK}:
            left_out.add("stamp or drawing", "stamps or drawings")
        elif kind in {raw.FPDF_ANNOT_SOUND, raw.FPDF_ANNOT_MOVIE, raw.FPDF_ANNOT_SCREEN, raw.FPDF_ANNOT_RICHMEDIA}:
            left_out.add("recording")
        elif kind == raw.FPDF_ANNOT_THREED:
            left_out.add("3D model")
        if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
            left_out.add("attachment")

    def _field(self, shown: list[PagePiece], left_out: LeftOut) -> None:
        raw, note = self._raw, self._note
        kind = raw.FPDFAnnot_GetFormFieldType(self._form, note) if self._form else raw.FPDF_FORMFIELD_TEXTFIELD
        if kind in {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}:
            shown += self._pieces("☒" if raw.FPDFAnnot_IsChecked(self._form, note) else "☐")
        elif kind == raw.FPDF_FORMFIELD_SIGNATURE:
            left_out.add("signature")
        elif kind != raw.FPDF_FORMFIELD_PUSHBUTTON:
            if self._form and raw.FPDFAnnot_GetFormFieldFlags(self._form, note) & _PASSWORD:
                return
            shown += self._pieces(", ".join(self._chosen()) or self._value())

    def _value(self) -> str:
        if not self._form:
            return self._entry(b"V")
        return _string(lambda *space: self._raw.FPDFAnnot_GetFormFieldValue(self._form, self._note, *space))

    def _chosen(self) -> Iterator[str]:
        """Yield the labels of a list's chosen options."""
        raw, form, note = self._raw, self._form, self._note
        for at in range(raw.FPDFAnnot_GetOptionCount(form, note) if form else 0):
            if raw.FPDFAnnot_IsOptionSelected(form, note, at):
                yield _string(lambda *space, at=at: raw.FPDFAnnot_GetOptionLabel(form, note, at, *space))

    def _entry(self, name: bytes) -> str:
        return _string(lambda *space: self._raw.FPDFAnnot_GetStringValue(self._note, name, *space))

    def _pieces(self, text: str) -> Iterator[PagePiece]:
        """Yield the lines of a text in the annotation's rectangle."""
        rect, seen = self._raw.FS_RECTF(), view(self._page)
        self._raw.FPDFAnnot_GetRect(self._note, rect)
        (left, top), (right, bottom) = seen(rect.left, rect.top), seen(rect.right, rect.bottom)
        left, right, top, bottom = min(left, right), max(left, right), min(top, bottom), max(top, bottom)
        lines = text.strip().splitlines()
        step = min(_SIZE * 1.2, (bottom - top) / max(1, len(lines)))
        for number, line in enumerate(lines):
            if line.strip():
                base = bottom - 0.3 * step if len(lines) == 1 else top + (number + 0.8) * step
                yield PagePiece(line.strip(), left, top, right, bottom, base)


def _beside(pieces: Sequence[PagePiece], shown: Sequence[PagePiece]) -> list[PagePiece]:
    """Return pieces with others among them, each on the line that stands beside it."""
    lines = sorted((piece for piece in pieces if piece.is_straight), key=lambda one: one.base)
    bases = [piece.base for piece in lines]
    before: dict[int, list[PagePiece]] = {}
    after: dict[int, list[PagePiece]] = {}
    rest = []
    for piece in shown:
        start, end = bisect_left(bases, piece.top), bisect_left(bases, piece.bottom + 0.3 * _SIZE)
        near = lines[start : min(end, start + _MOST_BESIDE)]
        left = max((one for one in near if one.left < piece.left), key=lambda one: one.left, default=None)
        right = min((one for one in near if one.left >= piece.left), key=lambda one: one.left, default=None)
        label = left or right
        size = label.height if label else _SIZE
        piece.base = label.base if label else piece.base
        piece.top, piece.bottom = piece.base - 0.8 * size, piece.base + 0.2 * size
        places = after if left else before
        if label:
            places.setdefault(id(label), []).append(piece)
        else:
            rest.append(piece)
    found: list[PagePiece] = []
    for piece in pieces:
        found += [*before.get(id(piece), []), piece, *after.get(id(piece), [])]
    return found + rest


def alternatives(page: Any) -> Iterator[str]:
    """Yield the alternative texts in a page's structure."""
    from pypdfium2 import raw

    tree = raw.FPDF_StructTree_GetForPage(page)
    if not tree:
        return
    waiting = [raw.FPDF_StructTree_GetChildAtIndex(tree, n) for n in range(raw.FPDF_StructTree_CountChildren(tree))]
    waiting.reverse()
    seen = 0
    while waiting and seen < _MOST_ELEMENTS:
        element, seen = waiting.pop(), seen + 1
        if not element:
            continue
        text = _string(lambda *space, element=element: raw.FPDF_StructElement_GetAltText(element, *space)).strip()
        if text:
            yield text
        children = range(max(0, raw.FPDF_StructElement_CountChildren(element)))
        waiting += [raw.FPDF_StructElement_GetChildAtIndex(element, number) for number in reversed(children)]
    raw.FPDF_StructTree_Close(tree)


def _string(fill: Callable[..., int]) -> str:
    """Return the text that a function of PDFium writes as UTF-16 into space that it is given."""
    length = fill(None, 0)
    if not 2 < length <= _MOST_BYTES:
        return ""
    space = ctypes.create_string_buffer(length)
    fill(ctypes.cast(space, ctypes.POINTER(ctypes.c_ushort)), length)
    return space.raw[: length - 2].decode("utf-16-le", "replace").replace("\r\n", "\n").replace("\r", "\n")
