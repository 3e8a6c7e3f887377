"""Formats, hidden parts and notes of a sheet of a binary Excel file, beside the values of its cells.

Of an `.xlsb`, they are read from the records of its parts; of an `.xls`, the format before 2007, they are xlrd's.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kinsplit.loaders.markup.scripts import Script, written
from kinsplit.loaders.sheets.number_formats import BUILT_IN, number_format
from kinsplit.loaders.sheets.xlsx import EPOCH_1904, ExcelPackage, SheetParts, letters_of, unless_general
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.sheet import Sheet

# Kinds of records.
_ROW, _SMALL, _ERROR, _REAL, _FORMULA_NUMBER, _FORMULA_ERROR = 0, 2, 3, 5, 9, 11
_FORMAT, _STYLE, _COLUMNS, _PROPERTIES, _SHEET = 44, 47, 60, 153, 156
_STYLES, _STYLES_END, _COMMENT, _COMMENT_TEXT = 617, 618, 635, 637
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}


class BinaryPackage(ExcelPackage):
    """The parts of an `.xlsb` by sheet.

    Raises:
        UnreadableError: A part is damaged.
        ValueError: A record is cut off.
    """

    def _open(self, workbook: str, by_id: Mapping[str, str], by_kind: Mapping[str, str]) -> None:
        for kind, data in self._records(workbook):
            if kind == _PROPERTIES:
                self._is_1904 = bool(data[0] & 1)
            elif kind == _SHEET:
                relation, end = _string(data, 8)
                self._parts[_string(data, end)[0]] = by_id.get(relation, "")
        codes, is_style = dict(BUILT_IN), False
        for kind, data in self._records(by_kind["styles"]) if "styles" in by_kind else ():
            if kind == _FORMAT:
                codes[_short(data, 0)] = _string(data, 2)[0]
            elif kind in (_STYLES, _STYLES_END):
                is_style = kind == _STYLES
            elif kind == _STYLE and is_style:
                self._formats.append(unless_general(codes.get(_short(data, 2), "General")))

    def _notes(self, part: str) -> Iterator[tuple[str, str]]:
        reference = ""
        for kind, data in self._records(part):
            if kind == _COMMENT:
                row, _, column, _ = struct.unpack_from("<4I", data, 4)
                reference = f"{letters_of(column)}{row + 1}"
            elif kind == _COMMENT_TEXT:
                yield reference, _string(data, 1)[0]

    def _read_cells(self, part: str, found: SheetParts) -> None:
        row = 0
        for kind, data in self._records(part):
            if kind == _ROW:
                row = _long(data, 0)
                if data[11] & 16:
                    found.hidden_rows.add(row)
            elif kind in (_SMALL, _REAL, _FORMULA_NUMBER):
                style = _long(data, 4) & 0xFFFFFF
                if style < len(self._formats) and (shown := self._formats[style]):
                    value = _small(_long(data, 8)) if kind == _SMALL else struct.unpack_from("<d", data, 8)[0]
                    offset = EPOCH_1904 * (self._is_1904 and shown.is_date)
                    found.shown[row, _long(data, 0)] = shown.number(value + offset)
            elif kind in (_ERROR, _FORMULA_ERROR):
                found.shown[row, _long(data, 0)] = _ERRORS.get(data[8], "#ERR!")
            elif kind == _COLUMNS and _short(data, 16) & 1:
                found.hidden_columns.update(range(_long(data, 0), min(_long(data, 4) + 1, 2**14)))

    def _records(self, part: str) -> Iterator[tuple[int, bytes]]:
        data = self._archive.read(part)
        at = 0
        while at < len(data):
            kind, at = _packed(data, at, 2)
            size, at = _packed(data, at, 4)
            yield kind, data[at : at + size]
            at += size


def _packed(data: bytes, at: int, most: int) -> tuple[int, int]:
    """Return a number of seven bits for each byte, and where it ends."""
    number = 0
    for shift in range(most):
        byte = data[at] if at < len(data) else 0
        number |= (byte & 127) << 7 * shift
        at += 1
        if byte < 128:
            break
    return number, at


def _small(packed: int) -> float:
    """Return a number that is packed into 30 bits."""
    if packed & 2:
        number: float = (packed >> 2) - (1 << 30 if packed & 1 << 31 else 0)
    else:
        number = struct.unpack("<d", bytes(4) + struct.pack("<I", packed & ~3))[0]
    return number / 100 if packed & 1 else number


def _short(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _string(data: bytes, at: int) -> tuple[str, int]:
    """Return a text with the number of its characters before it, and where it ends."""
    end = at + 4 + 2 * _long(data, at)
    return data[at + 4 : end].decode("utf-16-le", "replace"), end


# Kinds of cells of xlrd: numbers and dates, and errors.
_XLRD_NUMBERS, _XLRD_ERROR = (2, 3), 5
_SCRIPTS: dict[int, Script] = {1: "superscript", 2: "subscript"}


def sheets(data: bytes) -> dict[str, SheetParts]:
    """Return the parts of each sheet of an `.xls`; none if the file is too damaged."""
    with needs("files"):
        import xlrd

    try:
        book = xlrd.open_workbook(file_contents=data, formatting_info=True, logfile=io.StringIO())
        return {sheet.name: _parts(book, sheet) for sheet in book.sheets()}
    except MemoryError:
        raise
    except Exception:  # xlrd raises exceptions of any kind for a damaged file
        return {}


def _parts(book: Book, sheet: Sheet) -> SheetParts:
    found = SheetParts()
    found.shown = dict(_shown(book, sheet))
    found.hidden_rows = {row for row, info in sheet.rowinfo_map.items() if info.hidden}
    found.hidden_columns = {column for column, info in sheet.colinfo_map.items() if info.hidden}
    notes = sorted(sheet.cell_note_map.items())
    found.comments = [(f"{letters_of(column)}{row + 1}", note.text) for (row, column), note in notes]
    return found


def _shown(book: Book, sheet: Sheet) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the texts of the cells that don't show their value."""
    from xlrd import error_text_from_code

    formats = [number_format(book.format_map[style.format_key].format_str) for style in book.xf_list]
    offset = EPOCH_1904 * book.datemode
    for row in range(sheet.nrows):
        kinds, values = sheet.row_types(row), sheet.row_values(row)
        for column, kind in enumerate(kinds):
            if kind in _XLRD_NUMBERS:
                shown = formats[sheet.cell_xf_index(row, column)]
                if not shown.is_general:
                    yield (row, column), shown.number(values[column] + offset * shown.is_date)
            elif kind == _XLRD_ERROR:
                yield (row, column), error_text_from_code.get(values[column], "#ERR!")
    for (row, column), runs in sheet.rich_text_runlist_map.items():
        text, starts = str(sheet.cell_value(row, column)), [start for start, _ in runs]
        scripts = [_SCRIPTS.get(book.font_list[font].escapement) for _, font in runs]
        if any(scripts):
            joined = text[: starts[0]]
            for start, end, script in zip(starts, [*starts[1:], len(text)], scripts, strict=True):
                run = text[start:end]
                joined += written(run, script, joined[-100:], text[end:]) if script else run
            yield (row, column), joined
