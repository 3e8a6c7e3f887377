"""A page of a PDF file as a picture, with the lines of a text marked.

The text of a document was cleaned while it was read: hyphens at line ends, running headers and odd characters are gone,
so its offsets are not those of the page. The lines are found by their letters and digits alone, in whatever case and
form; a line that is not there as a whole, since it was joined or goes on on another page, is looked for in halves.
"""

from __future__ import annotations

import hashlib
import io
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pypdfium2
from PIL import Image, ImageChops
from pypdfium2.raw import FPDFText_GetUnicode

from kinsplit.spans import Span, unite

#: Pixels of a picture; a page that is long or wide gets fewer across than asked for.
PIXELS = 8_000_000

_COLOUR = (255, 224, 120)
_FEWEST_WORDS = 4  # of a part of a line that is looked for on its own
_FEWEST_LETTERS = 12  # of a line that may be anywhere on the page
_NEAR = 200  # letters between another line and a shorter one
_SHORTEST = 3  # letters of a line that is looked for before another one
_SAME_LINE = 0.5  # share of the height
_SPACE = 1.5  # multiple of the height between two words of one line
_FORMS = 20_000  # characters whose forms are kept
_MARGIN = 0.08  # multiple of the height around a line


class PageError(Exception):
    """A page that can't be drawn: "gone", "changed", "refused" (by PDFium), or "page" if there are fewer pages."""

    def __init__(self, reason: str, pages: int = 0) -> None:
        super().__init__(reason, pages)
        self.reason, self.pages = reason, pages


class Box(NamedTuple):
    """A line on a page, in shares of its width and height from the top left."""

    left: float
    top: float
    right: float
    bottom: float


class Picture(NamedTuple):
    """A picture of a page."""

    png: bytes
    lines: tuple[Box, ...]


def draw(path: Path, digest: str, page: int, text: str, before: str, width: int) -> Picture:
    """Draw a page of a file with a SHA-256; pages count from 1, and the width is in pixels.

    The text to mark may continue on other pages; the text before it tells repeated texts apart.

    Raises:
        PageError: The file or the page is not there, or PDFium refuses it.
    """
    try:
        data = path.read_bytes()
    except OSError:
        raise PageError("gone") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise PageError("changed")
    try:
        with closing(pypdfium2.PdfDocument(data)) as pdf:
            if not 1 <= page <= len(pdf):
                raise PageError("page", len(pdf))
            with closing(pdf[page - 1]) as drawn:
                return _picture(drawn, text, before, width)
    except pypdfium2.PdfiumError:
        raise PageError("refused") from None


def _picture(page: Any, text: str, before: str, width: int) -> Picture:
    across, down = page.get_size()
    if across <= 0 or down <= 0:
        raise PageError("refused")
    scale = min(width / across, (PIXELS / (across * down)) ** 0.5)
    with closing(page.render(scale=scale)) as bitmap:
        image = bitmap.to_pil().convert("RGB")
        to_bitmap = bitmap.get_posconv(page).to_bitmap
        lines = tuple(_lines(page, text, before, to_bitmap, image.size))
    file = io.BytesIO()
    _marked(image, lines).save(file, "PNG")
    return Picture(file.getvalue(), lines)


def _marked(image: Image.Image, lines: Sequence[Box]) -> Image.Image:
    """Return a picture whose lines are coloured as by a marker pen, which leaves the letters dark."""
    if not lines:
        return image
    width, height = image.size
    pen = Image.new("RGB", image.size, "white")
    for left, top, right, bottom in lines:
        pen.paste(_COLOUR, (int(left * width), int(top * height), round(right * width), round(bottom * height)))
    return ImageChops.multiply(image, pen)


def _lines(page: Any, text: str, before: str, to_bitmap: Any, size: tuple[int, int]) -> Iterator[Box]:
    """Yield the lines of a page that hold a text."""
    with closing(page.get_textpage()) as characters:
        codes = [FPDFText_GetUnicode(characters, at) for at in range(characters.count_chars())]
        shown = "".join(map(_character, codes))
        letters, places = _letters(shown), [at for at, each in enumerate(shown) for _ in _letters(each)]
        boxes = []
        for start, end in located(letters, text, before):
            first, last = _with_punctuation(shown, places[start], places[end - 1])
            for at in range(characters.count_rects(first, last - first + 1)):
                left, bottom, right, top = characters.get_rect(at)
                (x, y), (other_x, other_y) = to_bitmap(left, bottom), to_bitmap(right, top)
                boxes.append(Box(min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)))
    for box in _joined(boxes):
        margin = _MARGIN * (box.bottom - box.top)
        yield Box(
            max(0.0, (box.left - margin) / size[0]),
            max(0.0, (box.top - margin) / size[1]),
            min(1.0, (box.right + margin) / size[0]),
            min(1.0, (box.bottom + margin) / size[1]),
        )


def _with_punctuation(shown: str, first: int, last: int) -> tuple[int, int]:
    """Extend a range of a page's characters by the punctuation at its ends."""
    while first and not shown[first - 1].isalnum() and not shown[first - 1].isspace():
        first -= 1
    while last + 1 < len(shown) and not shown[last + 1].isalnum() and not shown[last + 1].isspace():
        last += 1
    return first, last


def _character(code: int) -> str:
    # Halves of surrogate pairs, and what is no character at all, stand for nothing.
    return chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else " "


class _Forms(dict[int, str]):
    """The letters and digits that characters stand for, in one form, as `str.translate` looks them up."""

    def __missing__(self, code: int) -> str:
        form = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", chr(code)).casefold()))
        if len(self) < _FORMS:
            self[code] = form
        return form


_forms = cache(_Forms)


def _letters(text: str) -> str:
    """Return the letters and digits of a text in one form."""
    return text.translate(_forms())


def located(letters: str, text: str, before: str = "") -> list[tuple[int, int]]:
    """Return the ranges of a text among the case-folded letters and digits of a page; none if it is not on the page.

    Parts of the text may be on other pages; the text before it tells repeated texts apart.
    """
    wanted = _letters(text)
    if not wanted:
        return []
    if whole := _best(letters, wanted, _letters(before)):
        return [whole]
    lines = text.splitlines()
    found: list[list[tuple[int, int]]] = []
    after = None
    for line in lines:
        found.append(list(_parts(letters, line, after, before)))
        after = found[-1][-1][1] if found[-1] else after
        before = (before + line)[-_NEAR:]
    _find_before(letters, lines, found)
    return list(unite(Span(*each) for parts in found for each in parts))


def _find_before(letters: str, lines: Sequence[str], found: list[list[tuple[int, int]]]) -> None:
    """Add short lines, such as headings, that stand shortly before one that was found."""
    before = None
    for at in reversed(range(len(lines))):
        wanted = _letters(lines[at])
        if found[at]:
            before = found[at][0][0]
        elif before is not None and _FEWEST_LETTERS > len(wanted) >= _SHORTEST:
            start = letters.rfind(wanted, max(0, before - _NEAR), before)
            if start >= 0:
                found[at], before = [(start, start + len(wanted))], start


def _best(letters: str, wanted: str, before: str) -> tuple[int, int] | None:
    """Return the occurrence before which the most of a text stands."""
    found, at = [], letters.find(wanted)
    while at >= 0:
        found.append(at)
        at = letters.find(wanted, at + 1)
    if not found:
        return None

    def shared(at: int) -> int:
        count = 0
        while count < min(at, len(before)) and letters[at - 1 - count] == before[-1 - count]:
            count += 1
        return count

    start = max(found, key=shared)
    return start, start + len(wanted)


def _parts(letters: str, line: str, after: int | None, before: str) -> Iterator[tuple[int, int]]:
    """Yield the place of a line, or of its parts, preferably soon after what was found last."""
    wanted = _letters(line)
    if not wanted:
        return
    start = -1 if after is None else letters.find(wanted, after)
    if len(wanted) < _FEWEST_LETTERS:
        if after is not None and 0 <= start - after <= _NEAR:
            yield start, start + len(wanted)
        return
    place = (start, start + len(wanted)) if start >= 0 else _best(letters, wanted, _letters(before[-_NEAR:]))
    if place is not None:
        yield place
        return
    words = line.split()
    if len(words) >= 2 * _FEWEST_WORDS:
        halves = " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])
        yield from _parts(letters, halves[0], after, before)
        yield from _parts(letters, halves[1], after, before + halves[0])


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """Join the pieces of lines, which PDFium cuts at every word where the font changes, from the top."""
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: box.top + box.bottom):
        row = rows[-1] if rows else []
        if row and min(row[0].bottom, box.bottom) - max(row[0].top, box.top) > _SAME_LINE * (box.bottom - box.top):
            row.append(box)
        else:
            rows.append([box])
    return [line for row in rows for line in _runs(sorted(row))]


def _runs(row: Sequence[Box]) -> Iterator[Box]:
    """Yield the runs of boxes, from the left, between which there is more than a space."""
    run = row[0]
    for box in row[1:]:
        if box.left - run.right < _SPACE * max(box.bottom - box.top, run.bottom - run.top):
            run = Box(run.left, min(run.top, box.top), max(run.right, box.right), max(run.bottom, box.bottom))
        else:
            yield run
            run = box
    yield run
