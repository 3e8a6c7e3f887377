"""Pieces of a PDF page: runs of text with their places on the page as it is shown.

PDFium's lines are split at the hyphens over which it joined two lines, and, where a page has columns, at gaps. What
stands close together on one line is joined again: PDFium ends its line at a raised character.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from kinsplit.loaders.decoding import SYMBOLS
from kinsplit.loaders.formats.pdf_marks import LOWERED, RAISED, is_mark

#: PDFium's marks of a hyphen at the end of a line.
HYPHENS = "\ufffe\x02"
#: A bullet or number at the start of a line.
LABEL = re.compile(r"\W{0,2}(?:[\dIVXivx]{1,5}(?:\.\d{1,3}){0,4}|[A-Za-z])?\W{0,2}")
_FINE = 1_000_000  # resolution of a page's height
_STRAIGHT = 0.9  # cosine of the angle between a line and the page
_GAP = 0.75  # multiple of the height, between two pieces
_SPACE = 0.12  # multiple of the height, between two words
_SAME_BASE = 0.25  # multiple of the height
_SMALLER = 0.88  # multiple of the height, for raised and lowered characters
_FEWEST_SPACES = 3  # of a line that may have words of two columns
_EVERY = 3  # lines, of which one is searched for gaps, and the others if it has one
_SHIFT = 0.15  # multiple of the height, by which a character is raised
_LOWER = 0.02  # multiple of the height, by which it is lowered
_FAR = 1_000  # points, more than most pages are high
_LONGEST_TOKEN = 40  # characters
_LONGEST_NAME = 200  # bytes of a font's name
_BOLD = re.compile(rb"bold|black|heavy|demi|CMBX|SFBX", re.IGNORECASE)
_BOLD_WEIGHT = 600
_LETTER, _TOKEN, _DIGIT = re.compile(r"\w"), re.compile(r"\S+"), re.compile(r"\d")
_PART = re.compile(f"[^{HYPHENS}]+[{HYPHENS}]?|[{HYPHENS}]")
_WITH_DIGIT = re.compile(r"[^\s\d]{0,40}\d\S*")
_MIXED = re.compile(r"[^\W\d_]\d|[)\]]\d|\d[^\W\d_]")
_PRIVATE = re.compile("[\x00\x01\x03-\x08\x0e-\x1f\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")
_FIRST_PRIVATE = re.compile(r"^(\s*)[\ue000-\uf8ff](?=\s)")
#: Characters that become others of the same length.
READABLE = {**SYMBOLS, **str.maketrans({"\xad": "-", "\xa0": " ", "\t": " "})}
# The letters and some signs of the font Symbol.
_SYMBOLS = dict(
    zip(
        (*range(0x41, 0x5B), *range(0x61, 0x7B), *b"\xa3\xa5\xae\xb1\xb3\xb4\xb8\xb9\xbb\xd6\xe5\xf2"),
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞→±≥×÷≠≈√∑∫",
        strict=True,
    )
) | {code: chr(code) for code in (*range(0x28, 0x40), 0x5B, 0x5D, 0x7B, 0x7C, 0x7D)}


@dataclass(slots=True)
class Piece:
    """A run of text on one line of a page.

    Places are in points from the upper left corner of the page as it is shown.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    base: float  # of its first character
    size: float = 0.0
    is_bold: bool = False
    is_straight: bool = True  # whether it stands as the page does
    is_vertical: bool = False  # whether its characters stand below each other
    first: int = -1  # index of its first character on the page; -1 if unknown
    order: int = 0  # number in the order of the file

    @property
    def height(self) -> float:
        """The height of its line, from the highest to the lowest letter."""
        return self.bottom - self.top


def pieces_of(page: Any, text: Any) -> list[Piece]:
    """Return a page's pieces in the order in which PDFium gives them."""
    return _joined(_Page(page, text).pieces())


def same_line(one: Piece, other: Piece) -> bool:
    """Return whether two pieces stand on one line."""
    return abs(one.base - other.base) <= _SAME_BASE * min(one.height, other.height)


def space_between(one: Piece, after: Piece) -> str:
    """Return the white space between two pieces of a line."""
    return " " if abs(after.left - one.right) > _SPACE * min(one.height, after.height) else ""


class _Page:
    """A page that PDFium has opened, with the places of its characters by index."""

    def __init__(self, page: Any, text: Any) -> None:
        from pypdfium2 import raw

        self._raw, self._handle = raw, text.raw
        self._text = text.get_text_range(errors="surrogatepass")
        self._turned = math.radians(page.get_rotation())
        self._look, self._seen = _fonts(text), view(page)
        self._before = Piece("", 0.0, 0.0, 0.0, 0.0, 0.0)  # what is shown nowhere goes with the piece before
        self._start = _upright_start(self._seen)
        self._loose_box = raw.FPDFText_GetLooseCharBox
        self._rect, self._origin = raw.FS_RECTF(), (ctypes.c_double(), ctypes.c_double())

    def pieces(self) -> list[Piece]:
        """Return the pieces of all lines."""
        is_wide = bool(self._text) and max(self._text) > "\uffff"
        lines: list[list[Piece]] = []
        at = 0
        for line in self._text.split("\r\n"):
            lines.append([self._piece(part[0], at + part.start()) for part in _PART.finditer(line) if part[0].strip()])
            at += (len(line.encode("utf-16-le", "surrogatepass")) // 2 if is_wide else len(line)) + 2
        self._split_columns(lines)
        pieces = [piece for line in lines for piece in line]
        for piece in pieces:
            piece.text = self._marked(piece)
        return pieces

    def _split_columns(self, lines: list[list[Piece]]) -> None:
        """Split lines at gaps; only if one of a few lines has a gap, its neighbours are searched."""
        until = gapped = -1
        for number in range(len(lines)):
            if number % _EVERY and gapped != number - 1:
                continue
            at = number
            while at > until and self._split(lines, at):
                gapped, at = number, at - 1
            until = number

    def _split(self, lines: list[list[Piece]], number: int) -> bool:
        parts = [part for piece in lines[number] for part in self._at_gaps(piece)]
        is_split = len(parts) > len(lines[number])
        lines[number] = parts
        return is_split

    def _piece(self, text: str, at: int) -> Piece:
        stripped = text.strip()
        first = at + text.index(stripped[0])
        raw = self._raw
        if raw.FPDFText_GetUnicode(self._handle, first) != ord(stripped[0]):
            # PDFium's text lacks characters that it can't decode, which shifts the indexes of later ones.
            first = raw.FPDFText_GetCharIndexFromTextIndex(self._handle, first)
            if raw.FPDFText_GetUnicode(self._handle, first) != ord(stripped[0]):
                return replace(self._before, text=stripped, first=-1)
        last = first + len(stripped) - 1
        angle = math.cos(raw.FPDFText_GetCharAngle(self._handle, first) + self._turned)
        left, top, right, bottom = self._box(first)
        end, end_top, end_right, end_bottom = self._box(last)
        word = _LETTER.search(stripped)
        size, is_bold = self._look(first + word.start() if word else first, last)
        height = bottom - top
        is_vertical = len(stripped) > 1 and end_top >= bottom - 0.1 * height and abs(end - left) < 1.1 * height
        self._before = Piece(
            stripped,
            min(left, end),
            top,
            max(right, end_right),
            end_bottom if is_vertical else bottom,
            self._base(first),
            size,
            is_bold,
            angle > _STRAIGHT,
            is_vertical,
            first,
        )
        return self._before

    def _box(self, at: int) -> tuple[float, float, float, float]:
        """Return the left, top, right and bottom of a character, as high as its line."""
        rect = self._rect
        self._loose_box(self._handle, at, rect)
        if self._start is not None:
            x, y = self._start
            return x + rect.left, y - rect.top, x + rect.right, y - rect.bottom
        left, top = self._seen(rect.left, rect.top)
        right, bottom = self._seen(rect.right, rect.bottom)
        return min(left, right), min(top, bottom), max(left, right), max(top, bottom)

    def _base(self, at: int) -> float:
        x, y = self._origin
        self._raw.FPDFText_GetCharOrigin(self._handle, at, x, y)
        return self._seen(x.value, y.value)[1]

    def _at_gaps(self, piece: Piece) -> list[Piece]:
        """Return the parts of a piece between wide gaps."""
        if piece.first < 0 or not piece.is_straight or piece.is_vertical or piece.text.count(" ") < _FEWEST_SPACES:
            return [piece]
        cuts = [0]
        before: tuple[float, float, float, float] | None = None
        for token in _TOKEN.finditer(piece.text):
            box = self._box(piece.first + token.start())
            if before and max(box[0] - before[2], before[0] - box[2]) > _GAP * piece.height:
                cuts.append(token.start())
            before = self._box(piece.first + token.end() - 1)
        if len(cuts) == 1:
            return [piece]
        cuts.append(len(piece.text))
        return [self._piece(piece.text[start:end], piece.first + start) for start, end in pairwise(cuts)]

    def _marked(self, piece: Piece) -> str:
        """Return a piece's text with marks around raised and lowered characters."""
        text = piece.text
        if piece.first < 0 or not piece.is_straight or not _DIGIT.search(text):
            return _with_characters(text)
        parts = []
        at = 0
        for token in _TOKEN.finditer(text):
            if len(token[0]) > 1 and len(token[0]) <= _LONGEST_TOKEN and _DIGIT.search(token[0]):
                parts += [
                    _with_characters(text[at : token.start()]),
                    self._token(token[0], piece.first + token.start()),
                ]
                at = token.end()
        return "".join([*parts, _with_characters(text[at:])])

    def _token(self, token: str, first: int) -> str:
        """Return a word with marks around its raised and lowered characters."""
        last = max(at for at, each in enumerate(token) if each.isalnum())
        ends = self._box(first), self._box(first + last)
        height = max(box[3] - box[1] for box in ends)
        is_even = abs(ends[0][3] - ends[1][3]) < _SHIFT * height and abs(ends[0][1] - ends[1][1]) < _SHIFT * height
        if is_even and not _MIXED.search(token):
            return _with_characters(token)
        boxes = [self._box(first + at) for at in range(len(token))]
        height = max(box[3] - box[1] for box in boxes)
        bottom = next(box[3] for box in boxes if box[3] - box[1] == height)
        shifts = [_shift(box, height, bottom) for box in boxes]
        runs = groupby(range(len(token)), key=shifts.__getitem__)
        return "".join(_wrapped(_with_characters("".join(token[at] for at in run)), shift) for shift, run in runs)


def _shift(box: tuple[float, float, float, float], height: float, bottom: float) -> int:
    """Return 1 for a raised character, -1 for a lowered one, else 0."""
    if box[3] - box[1] >= _SMALLER * height:
        return 0
    return 1 if box[3] < bottom - _SHIFT * height else -1 if box[3] > bottom + _LOWER * height else 0


def _wrapped(text: str, shift: int) -> str:
    first, last = {0: ("", ""), 1: RAISED, -1: LOWERED}[shift]
    return f"{first}{text}{last}"


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Join pieces that stand close together on a line, of which one may be raised."""
    joined: list[Piece] = []
    for piece in pieces:
        if not joined or not _together(joined[-1], piece):
            joined.append(piece)
            continue
        before = joined[-1]
        between = space_between(before, piece)
        if not between and _is_raised(piece, before):
            before.text += _wrapped(piece.text, 1)
        elif not between and _is_raised(before, piece):
            piece.text, piece.left = _wrapped(before.text, 1) + piece.text, before.left
            joined[-1] = piece
        else:
            before.text += between + piece.text
            before.is_bold = before.is_bold and piece.is_bold
        joined[-1].right = piece.right
    return joined


def _together(one: Piece, after: Piece) -> bool:
    """Return whether a piece goes on where another ends."""
    if one.text[-1] in HYPHENS or not one.is_straight or not after.is_straight or one.is_vertical or after.is_vertical:
        return False
    height = min(one.height, after.height)
    if not -_SHIFT * height <= after.left - one.right <= _GAP * height:
        return False
    return same_line(one, after) or _is_raised(after, one) or _is_raised(one, after)


def _is_raised(one: Piece, other: Piece) -> bool:
    """Return whether a piece is a raised mark or power beside another."""
    if one.height >= _SMALLER * other.height or not is_mark(one.text):
        return False
    return other.top - _SHIFT * other.height < one.bottom < other.bottom - _SHIFT * other.height


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
    line = _FIRST_PRIVATE.sub(r"\1•", line.translate(READABLE))
    return _PRIVATE.sub(lambda match: _SYMBOLS.get(ord(match[0]) - 0xF000, ""), line)


def view(page: Any) -> Callable[[float, float], tuple[float, float]]:
    """Return a function from a point of a page to its place as shown, whatever the page's rotation and crop."""
    from pypdfium2.raw import FPDF_PageToDevice

    across, down = ctypes.c_int(), ctypes.c_int()
    width, height = page.get_size()

    def seen(x: int, y: int) -> tuple[float, float]:
        FPDF_PageToDevice(page, 0, 0, _FINE, _FINE, 0, x, y, across, down)
        return across.value / _FINE * width, down.value / _FINE * height

    (left, top), (right, right_down), (up, up_down) = seen(0, 0), seen(_FAR, 0), seen(0, _FAR)
    xx, xy, yx, yy = (right - left) / _FAR, (right_down - top) / _FAR, (up - left) / _FAR, (up_down - top) / _FAR
    return lambda x, y: (left + xx * x + yx * y, top + xy * x + yy * y)


def _upright_start(seen: Callable[[float, float], tuple[float, float]]) -> tuple[float, float] | None:
    """Return where a page's lower left corner is shown, or None for a rotated or scaled page."""
    start, end = seen(0, 0), seen(_FAR, _FAR)
    is_upright = abs(end[0] - start[0] - _FAR) < 1 and abs(end[1] - start[1] + _FAR) < 1
    return start if is_upright else None
