"""Formats, hidden parts and notes of a sheet of a binary Excel file (`.xlsb`), beside the values of its cells."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from kinsplit.loaders.sheets.number_formats import BUILT_IN
from kinsplit.loaders.sheets.xlsx import EPOCH_1904, ExcelPackage, SheetParts, letters_of, unless_general

# Kinds of records.
_ROW, _SMALL, _ERROR, _REAL, _FORMULA_NUMBER, _FORMULA_ERROR = 0, 2, 3, 5, 9, 11
_FORMAT, _STYLE, _COLUMNS, _PROPERTIES, _SHEET = 44, 47, 60, 153, 156
_STYLES, _STYLES_END, _COMMENT, _COMMENT_TEXT = 617, 618, 635, 637
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}


class BinaryPackage(ExcelPackage):
    """The parts of a binary Excel file by sheet.

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
        data = self._read(part)
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
