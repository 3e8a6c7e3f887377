"""Files of Excel before 2007, made byte by byte: no library that is kept writes them."""

from __future__ import annotations

import struct

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.spreadsheets import read_spreadsheet

_SECTOR = 512
_FREE, _END, _TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def compound(stream: bytes) -> bytes:
    """Return an OLE file with a stream called Workbook."""
    stream = stream.ljust(max(4096, -(-len(stream) // _SECTOR) * _SECTOR), b"\0")
    count = len(stream) // _SECTOR
    chains = [_TABLE, _END, *range(3, count + 2), _END]
    entries = b""
    for name, kind, child, start, size in (("Root Entry", 5, 1, _END, 0), ("Workbook", 2, _FREE, 2, len(stream))):
        encoded = (name + "\0").encode("utf-16-le")
        entries += encoded.ljust(64, b"\0") + struct.pack("<HBBIII", len(encoded), kind, 1, _FREE, _FREE, child)
        entries += bytes(36) + struct.pack("<IQ", start, size)
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIIII", 0, 1, 1, 0, 4096, _END, 0, _END, 0, 0) + struct.pack("<I", _FREE) * 108
    table = struct.pack(f"<{len(chains)}I", *chains).ljust(_SECTOR, b"\xff")
    return header + table + entries.ljust(_SECTOR, b"\0") + stream


def workbook(formats: dict[int, str], sheet: bytes, *, is_1904: bool = False) -> bytes:
    """Return a file with a sheet; each format is a style, from 0 on, after one without a format."""
    begin = struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0)
    styles = b""
    for number, code in formats.items():
        styles += record(0x41E, struct.pack("<HHB", number, len(code), 0) + code.encode("ascii"))
    for number in (0, *formats):
        styles += record(0xE0, struct.pack("<HH", 0, number) + bytes(16))
    font = record(0x31, struct.pack("<HHHHHBBBBBB", 200, 0, 0, 400, 0, 0, 0, 0, 0, 1, 0) + b"A")
    raised = record(0x31, struct.pack("<HHHHHBBBBBB", 200, 0, 0, 400, 1, 0, 0, 0, 0, 1, 0) + b"A")
    head = record(0x809, begin) + record(0x22, struct.pack("<H", is_1904)) + font * 4 + raised + styles
    strings = struct.pack("<II", 2, 2) + struct.pack("<HB", 1, 0) + b"a"
    strings += (
        struct.pack("<HBH", 3, 8, 1) + b"105" + struct.pack("<HH", 2, 5)
    )  # fonts count from 5 on after the fourth
    tail = record(0xFC, strings) + record(0x0A, b"")
    named = struct.pack("<BB", 1, 0) + b"S"
    at = len(head) + 4 + 6 + len(named) + len(tail)
    body = record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0)) + sheet + record(0x0A, b"")
    return compound(head + record(0x85, struct.pack("<IH", at, 0) + named) + tail + body)


def number(row: int, column: int, style: int, value: float) -> bytes:
    return record(0x203, struct.pack("<HHHd", row, column, style, value))


def string(row: int, column: int, index: int = 0) -> bytes:
    return record(0xFD, struct.pack("<HHHI", row, column, 0, index))


def test_cells_stand_as_the_application_shows_them():
    formats = {164: "0.0%", 165: "00000", 166: "[h]:mm", 167: "dd.mm.yyyy"}
    values = [0.075, 1234, 1.25, 46096]
    rows = [string(0, 0), string(0, 1)]
    for row, value in enumerate(values, 1):
        rows += [string(row, 0), number(row, 1, row, value)]
    rows += [string(5, 0), record(0x205, struct.pack("<HHHBB", 5, 1, 0, 0x2A, 1))]  # an error
    rows += [string(6, 0), string(6, 1, 1), string(7, 0), number(7, 1, 0, 2.5)]
    reading = read_spreadsheet(workbook(formats, b"".join(rows)))
    assert reading.contents[0].text.splitlines()[4:] == [
        f"| a | {shown} |" for shown in ("7.5%", "01234", "30:00", "15.03.2026", "#N/A", "10^5", "2.5")
    ]
    assert reading.warnings == ()


def test_dates_count_from_1904_if_the_file_says_so():
    rows = string(0, 0) + string(0, 1) + number(1, 0, 1, 1) + number(1, 1, 0, 7)
    assert "| 1904-01-02 | 7 |" in read_spreadsheet(workbook({164: "yyyy-mm-dd"}, rows, is_1904=True)).contents[0].text


def test_what_is_hidden_is_counted():
    hidden = record(0x208, struct.pack("<HHHHHHI", 1, 0, 2, 255, 0, 0, 0x20 | 0x100))
    column = record(0x7D, struct.pack("<HHHHHH", 1, 1, 2000, 0, 1, 0))
    rows = string(0, 0) + string(0, 1) + string(0, 2) + string(1, 0) + string(2, 0) + number(2, 2, 0, 5)
    reading = read_spreadsheet(workbook({}, column + hidden + rows))
    assert reading.contents[0].text == "## S\n\n| a | a |\n| --- | --- |\n| a | 5 |"
    assert sorted(reading.warnings) == ["1 hidden column was left out", "1 hidden row was left out"]


def test_a_damaged_file_is_told():
    with pytest.raises(UnreadableError, match="valid spreadsheet"):
        read_spreadsheet(compound(b"no workbook"))
