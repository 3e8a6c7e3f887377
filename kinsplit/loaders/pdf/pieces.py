"""Pieces of a PDF page: runs of text with their places on the page as it is shown, and marks of what is raised.

PDFium's lines are split at the hyphens over which it joined two lines, and, where a page has columns, at gaps. What
stands close together on one line is joined again: PDFium ends its line at a raised character.

Raised and lowered characters are told from the others: `10^5`, not `105`, and `word[1]` for the mark of a note.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any
from unicodedata import east_asian_width

from kinsplit.loaders.decoding import SYMBOLS

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
_WIDE = 60  # characters of a line that may hold those of two columns of prose
_MOST_DIGITS = 0.2  # share of the characters of such a line
_EVERY = 4  # lines, of which one is searched for gaps, and the others if it has one
_SHIFT = 0.15  # multiple of the height, by which a character is raised
_LOWER = 0.02  # multiple of the height, by which it is lowered
_FAR = 1_000  # points, more than most pages are high
_MOST_SPACES = 80  # before a line
_LONGEST_CELLS = 50  # characters
_LONGEST_TOKEN = 40  # characters
_LONGEST_NAME = 200  # bytes of a font's name
_BOLD = re.compile(rb"bold|black|heavy|demi|CMBX|SFBX", re.IGNORECASE)
_BOLD_WEIGHT = 600
_TOKEN, _DIGIT = re.compile(r"\S+"), re.compile(r"\d")
_PART = re.compile(f"[^{HYPHENS}]+[{HYPHENS}]?|[{HYPHENS}]")
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
class PagePiece:
    """A run of text on one line of a page.

    Places are in points from the upper left corner of the page as it is shown.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    base: float  # of its first character
    first: int = -1  # index of its first character on the page; -1 if unknown
    last: int = -1  # index of its last character
    is_straight: bool = True  # whether it stands as the page does
    is_vertical: bool = False  # whether its characters stand below each other
    is_even: bool = True  # whether its last character is as high as its first
    is_level: bool = True  # whether its last character stands on the line of the first
    order: int = 0  # number in the order of the file
    indent: int = 0  # spaces before it, as in code

    @property
    def height(self) -> float:
        """The height of its line, from the highest to the lowest letter."""
        return self.bottom - self.top


def pieces_of(page: Any, text: Any) -> list[PagePiece]:
    """Return a page's pieces in the order in which PDFium gives them."""
    return _joined(_Page(page, text).pieces())


def same_line(one: PagePiece, other: PagePiece) -> bool:
    """Return whether two pieces stand on one line."""
    return abs(one.base - other.base) <= _SAME_BASE * min(one.height, other.height)


def space_between(one: PagePiece, after: PagePiece) -> str:
    """Return the white space between two pieces of a line."""
    return " " if abs(after.left - one.right) > _SPACE * min(one.height, after.height) else ""


class _Page:
    """A page that PDFium has opened, with the places of its characters by index."""

    def __init__(self, page: Any, text: Any) -> None:
        from pypdfium2 import raw

        self._raw, self._handle = raw, text.raw
        self._text = text.get_text_range(errors="surrogatepass")
        self._is_shifted = text.count_chars() != len(self._text)
        self._turned = math.radians(page.get_rotation())
        self._seen = view(page)
        self._before = PagePiece("", 0.0, 0.0, 0.0, 0.0, 0.0)  # what is shown nowhere goes with the piece before
        self._is_prose = True  # whether no line of words begins in the right half
        self._start = _upright_start(self._seen)
        self._loose_box = raw.FPDFText_GetLooseCharBox
        self._rect, self._origin = raw.FS_RECTF(), (ctypes.c_double(), ctypes.c_double())

    def pieces(self) -> list[PagePiece]:
        """Return the pieces of all lines."""
        is_wide = bool(self._text) and max(self._text) > "\uffff"
        lines: list[list[PagePiece]] = []
        at = 0
        for line in self._text.split("\r\n"):
            parts = [self._piece(part[0], at + part.start()) for part in _PART.finditer(line) if part[0].strip()]
            lines.append([one for piece in parts for one in (self._cells(piece) if _may_be_cells(piece) else [piece])])
            at += (len(line.encode("utf-16-le", "surrogatepass")) // 2 if is_wide else len(line)) + 2
        self._split_columns(lines)
        pieces = [piece for line in lines for piece in line]
        for piece in pieces:
            piece.text = self._marked(piece)
        return pieces

    def _split_columns(self, lines: list[list[PagePiece]]) -> None:
        """Split lines at gaps.

        Where no line of words begins in the right half, one of a few lines is searched, and its neighbours if it has a
        gap.
        """
        pieces = [piece for line in lines for piece in line if piece.is_straight]
        middle = (min((one.left for one in pieces), default=0) + max((one.right for one in pieces), default=0)) / 2
        self._is_prose = not any(piece.left > middle and piece.text.count(" ") > 1 for piece in pieces)
        every = _EVERY if self._is_prose else 1
        until = gapped = -1
        for number in range(len(lines)):
            if number % every and gapped != number - 1:
                continue
            at = number
            while at > until and self._split(lines, at):
                gapped, at = number, at - 1
            until = number

    def _split(self, lines: list[list[PagePiece]], number: int) -> bool:
        parts = [part for piece in lines[number] for part in self._at_gaps(piece)]
        is_split = len(parts) > len(lines[number])
        lines[number] = parts
        return is_split

    def _piece(self, text: str, at: int) -> PagePiece:
        stripped = text.strip()
        first = at + text.index(stripped[0])
        if self._is_shifted:
            first = self._index(stripped[0], first)
            if first < 0:
                return replace(self._before, text=stripped, first=-1, last=-1)
        last = first + len(stripped) - 1
        left, top, right, bottom = self._box(first)
        end, end_top, end_right, end_bottom = self._box(last) if last > first else (left, top, right, bottom)
        height = bottom - top
        is_even = abs(end_top - top) < _SHIFT * height and abs(end_bottom - bottom) < _SHIFT * height
        is_level = abs(end_bottom - bottom) < height / 2
        is_straight = (is_even and end > left) or self._is_straight(first)
        is_vertical = last > first and end_top >= bottom - 0.1 * height and abs(end - left) < 1.1 * height
        base = self._base(first)
        if is_vertical:
            bottom = end_bottom
        elif not is_even and stripped[0].isdigit() and end_bottom > bottom:  # a raised mark
            top, bottom, base = end_top, end_bottom, self._base(last)
        left, right = (left, end_right) if end >= left else (end, right)
        shape = is_straight, is_vertical, is_even, is_level
        self._before = piece = PagePiece(stripped, left, top, right, bottom, base, first, last, *shape)
        if text[0] == " ":
            piece.indent = self._indent(first - text.index(stripped[0]), left)
        return piece

    def _indent(self, at: int, left: float) -> int:
        """Return the number of spaces before a line, of which PDFium gives one."""
        start, _, end, _ = self._box(at)
        return min(_MOST_SPACES, round((left - start) / (end - start))) if end > start else 1

    def _is_straight(self, at: int) -> bool:
        return math.cos(self._raw.FPDFText_GetCharAngle(self._handle, at) + self._turned) > _STRAIGHT

    def _cells(self, piece: PagePiece) -> list[PagePiece]:
        """Return the parts of a piece whose characters stand on different lines, as cells of a table do."""
        if not piece.text[0].isdigit() and abs(self._base(piece.last) - piece.base) < _SHIFT * piece.height:
            return [piece]  # a bullet of another font
        bottoms = [self._box(piece.first + at)[3] for at in range(len(piece.text))]
        _, top, _, bottom = self._box(piece.first)
        cuts = [at for at in range(1, len(bottoms)) if abs(bottoms[at] - bottoms[at - 1]) > (bottom - top) / 2]
        parts = pairwise([0, *cuts, len(bottoms)])
        found = [(piece.text[start:end], piece.first + start) for start, end in parts]
        return [self._piece(*part) for part in found if part[0].strip()] if cuts else [piece]

    def _index(self, character: str, at: int) -> int:
        """Return the index of a character; PDFium's text lacks those that it can't decode, and its indexes don't."""
        for index in (at, self._raw.FPDFText_GetCharIndexFromTextIndex(self._handle, at)):
            if self._raw.FPDFText_GetUnicode(self._handle, index) == ord(character):
                return index
        return -1

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

    def _at_gaps(self, piece: PagePiece) -> list[PagePiece]:
        """Return the parts of a piece between wide gaps."""
        text = piece.text
        if piece.first < 0 or not piece.is_straight or piece.is_vertical or " " not in text:
            return [piece]
        if len(_DIGIT.findall(text)) > _MOST_DIGITS * len(text):  # a row of figures
            return [piece]
        rect, gap, first = self._rect, _GAP * piece.height, piece.first
        cuts = [0]
        left, right, bottom, top = -_FAR, math.inf, -_FAR, math.inf
        margin = len(text) // 6 if self._is_prose and len(text) > _WIDE else 0  # no gutter is there
        for token in _TOKEN.finditer(text, text.rfind(" ", 0, margin) + 1, len(text) - margin):
            start, end = token.span()
            self._loose_box(self._handle, first + start, rect)
            if max(rect.left - right, left - rect.right, rect.bottom - top, bottom - rect.top) > gap:
                cuts.append(start)
            if end > start + 1:
                self._loose_box(self._handle, first + end - 1, rect)
            left, right, bottom, top = rect.left, rect.right, rect.bottom, rect.top
        if len(cuts) == 1:
            return [piece]
        return [self._piece(text[start:end], first + start) for start, end in pairwise([*cuts, len(text)])]

    def _marked(self, piece: PagePiece) -> str:
        """Return a piece's text with marks around raised and lowered characters."""
        text = piece.text
        if piece.first < 0 or not piece.is_straight or not _DIGIT.search(text):
            return _with_characters(text)
        parts = []
        at = 0
        for token in _TOKEN.finditer(text):
            start, end = token.span()
            if not 1 < end - start <= _LONGEST_TOKEN or not _DIGIT.search(text, start, end):
                continue
            is_whole = piece.is_even and end - start == len(text)
            if _MIXED.search(text, start, end) or not (is_whole or self._is_even(token[0], piece.first + start)):
                parts += [_with_characters(text[at:start]), self._token(token[0], piece.first + start)]
                at = end
        return "".join([*parts, _with_characters(text[at:])])

    def _is_even(self, token: str, first: int) -> bool:
        """Return whether a word's last letter or digit is as high as its first character."""
        last = first + len(token) - 1
        while not token[last - first].isalnum():
            last -= 1
        _, top, _, bottom = self._box(first)
        _, end_top, _, end_bottom = self._box(last)
        shift = _SHIFT * max(bottom - top, end_bottom - end_top)
        return abs(end_bottom - bottom) < shift and abs(end_top - top) < shift

    def _token(self, token: str, first: int) -> str:
        """Return a word with marks around its raised and lowered characters."""
        boxes = [self._box(first + at) for at in range(len(token))]
        height = max(box[3] - box[1] for box in boxes)
        bottom = next(box[3] for box in boxes if box[3] - box[1] == height)
        shifts = [_shift(box, height, bottom) for box in boxes]
        runs = groupby(range(len(token)), key=shifts.__getitem__)
        return "".join(_wrapped(_with_characters("".join(token[at] for at in run)), shift) for shift, run in runs)


def _may_be_cells(piece: PagePiece) -> bool:
    """Return whether a piece may have cells that stand below each other: it is short, and no East Asian column."""
    text = piece.text
    if piece.first < 0 or not piece.is_straight or not 1 < len(text) <= _LONGEST_CELLS:
        return False
    return text.replace(" ", "").isdigit() or not (piece.is_level or east_asian_width(text[0]) in {"W", "F"})


def _shift(box: tuple[float, float, float, float], height: float, bottom: float) -> int:
    """Return 1 for a raised character, -1 for a lowered one, else 0."""
    if box[3] - box[1] >= _SMALLER * height:
        return 0
    return 1 if box[3] < bottom - _SHIFT * height else -1 if box[3] > bottom + _LOWER * height else 0


def _wrapped(text: str, shift: int) -> str:
    first, last = {0: ("", ""), 1: RAISED, -1: LOWERED}[shift]
    return f"{first}{text}{last}"


def _joined(pieces: Iterable[PagePiece]) -> list[PagePiece]:
    """Join pieces that stand close together on a line, of which one may be raised."""
    joined: list[PagePiece] = []
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
        joined[-1].right, joined[-1].last = piece.right, piece.last
    return joined


def _together(one: PagePiece, after: PagePiece) -> bool:
    """Return whether a piece goes on where another ends."""
    if one.text[-1] in HYPHENS or not one.is_straight or not after.is_straight or one.is_vertical or after.is_vertical:
        return False
    height = min(one.height, after.height)
    if not -_SHIFT * height <= after.left - one.right <= _GAP * height:
        return False
    return same_line(one, after) or _is_raised(after, one) or _is_raised(one, after)


def _is_raised(one: PagePiece, other: PagePiece) -> bool:
    """Return whether a piece is a raised mark or power beside another."""
    if one.height >= _SMALLER * other.height or not is_mark(one.text):
        return False
    return other.top - _SHIFT * other.height < one.bottom < other.bottom - _SHIFT * other.height


def fonts(text: Any) -> Callable[[int, int], tuple[float, bool]]:
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


#: Noncharacters around raised and lowered characters, until the page's notes are known.
RAISED, LOWERED = ("\ufdd0", "\ufdd1"), ("\ufdd2", "\ufdd3")
_RAISED, _LOWERED = (re.compile(f"{first}([^{first}{last}]*){last}") for first, last in (RAISED, LOWERED))
_ANY = re.compile("[\ufdd0-\ufdd3]")
_FIRST = re.compile(f"\\s*\\W?{RAISED[0]}([^{RAISED[1]}]*){RAISED[1]}")
_NOTE = re.compile(r"\d{1,3}(?:[,–-]\d{1,3})*")
_POWER = re.compile(r"[-+−–]?(?:\d+|[^\W\d_])")
_SIGN = re.compile(r"[\d+−–-]|[^\W\d_]")
_UNIT = re.compile(r"(?<![^\W\d_])(?:[kmcdµ]?m|km|in|ft|yd|mi|s|g|kg|cm|mm|dm)\Z")
_MOST = 8  # characters that may be raised


def is_mark(text: str) -> bool:
    """Return whether a raised text may be a power or the mark of a note."""
    return len(text) <= _MOST and not any(map(str.isspace, text)) and _SIGN.match(text) is not None


def resolved(texts: Iterable[str]) -> list[str]:
    """Return the texts of a page with `^` before powers, and brackets around the marks of notes.

    Digits after a number are a note's mark if a line of the page begins with the same raised digits.
    """
    texts = list(texts)
    if not any(map(_ANY.search, texts)):
        return texts
    notes = {match[1] for text in texts if (match := _FIRST.match(text))}
    return [_resolved(text, notes) if _ANY.search(text) else text for text in texts]


def _resolved(text: str, notes: set[str]) -> str:
    def raised(match: re.Match[str]) -> str:
        inner, before, after = match[1], text[max(0, match.start() - 20) : match.start()], text[match.end() :][:1]
        if _NOTE.fullmatch(inner):
            if not before.strip():
                return f"[{inner}] " if after.strip() else f"[{inner}]"
            if after in {"/", "⁄"} and before[-1:].isdigit():
                return f" {inner}"
            if after and (after.isalnum() or after in "+-−*/=<>|"):
                is_note = inner in notes
            elif before[-1:].isdigit() or not before[-1:].isalpha():
                is_note = inner in notes or before[-1:] in ".,;:!?\"”’»'"
            else:
                is_note = inner in notes or not (_UNIT.search(before) or not before[-2:-1].isalpha())
            return f"[{inner}]" if is_note else f"^{inner}"
        if before[-1:].isalnum() or before[-1:] in {")", "]", "}"}:
            if _POWER.fullmatch(inner):
                return f"^{inner}"
            return f"^({inner})" if any(map(str.isdigit, inner)) else inner
        return inner

    def lowered(match: re.Match[str]) -> str:
        joins = match[1][:1].isdigit() and text[: match.start()][-1:].isdigit()
        return f"_{match[1]}" if joins else match[1]

    text = _LOWERED.sub(lowered, text)
    return _ANY.sub("", _RAISED.sub(raised, text))
