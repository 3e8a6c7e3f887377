"""Binary Excel files, made byte by byte: no Python library writes them."""

from __future__ import annotations

import struct

import pytest

from kinsplit.loaders.formats.spreadsheets import read_spreadsheet
from tests.loaders.office import zipped

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def record(kind: int, data: bytes = b"") -> bytes:
    head = bytes((kind,)) if kind < 128 else bytes((kind & 127 | 128, kind >> 7))
    size = bytes((len(data),)) if len(data) < 128 else bytes((len(data) & 127 | 128, len(data) >> 7))
    return head + size + data


def string(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def row(number: int, *cells: bytes, hidden: bool = False) -> bytes:
    return record(0, struct.pack("<IIHBBBI", number, 0, 300, 0, 16 * hidden, 0, 0)) + b"".join(cells)


def cell(kind: int, column: int, value: bytes, style: int = 0) -> bytes:
    return record(kind, struct.pack("<II", column, style) + value)


def text(column: int, value: str) -> bytes:
    return cell(6, column, string(value))


def real(column: int, value: float, style: int = 0) -> bytes:
    return cell(5, column, struct.pack("<d", value), style)


def relations(*kinds: tuple[str, str]) -> str:
    each = (
        f'<Relationship Id="r{at}" Type="{_OFFICE}/{kind}" Target="{part}"/>' for at, (kind, part) in enumerate(kinds)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(each)}</Relationships>'


def workbook(
    formats: list[str], *rows: bytes, columns: bytes = b"", comments: bytes = b"", is_1904: bool = False
) -> bytes:
    """Return a file with a sheet; each format is a style, from 1 on."""
    codes = b"".join(record(44, struct.pack("<H", 164 + at) + string(code)) for at, code in enumerate(formats))
    styles = [0, *range(164, 164 + len(formats))]
    styles_ = b"".join(record(47, struct.pack("<HH", 0, number) + bytes(12)) for number in styles)
    size = struct.pack("<4I", 0, 20, 0, 5)
    sheet = record(129) + record(148, size) + columns + record(145) + b"".join(rows) + record(146) + record(130)
    listed = record(156, struct.pack("<II", 0, 1) + string("r0") + string("S"))
    properties = record(153, struct.pack("<III", int(is_1904), 0, 0))
    count = struct.pack("<I", len(formats))
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
            "_rels/.rels": relations(("officeDocument", "xl/workbook.bin")),
            "xl/workbook.bin": record(131) + properties + record(143) + listed + record(144) + record(132),
            "xl/_rels/workbook.bin.rels": relations(("worksheet", "worksheets/sheet1.bin"), ("styles", "styles.bin")),
            "xl/styles.bin": record(278) + record(615, count) + codes + record(616)
            + record(617, struct.pack("<I", len(styles))) + styles_ + record(618) + record(279),
            "xl/worksheets/sheet1.bin": sheet,
            "xl/worksheets/_rels/sheet1.bin.rels": relations(("comments", "../comments1.bin")),
            "xl/comments1.bin": comments,
        }
    )  # fmt: skip


def test_cells_stand_as_the_application_shows_them():
    small = cell(2, 1, struct.pack("<I", 1234 << 2 | 2), 2)
    hundredth = cell(2, 1, struct.pack("<I", (-550 & 0x3FFFFFFF) << 2 | 3), 3)
    reading = read_spreadsheet(
        workbook(
            ["0.0%", "00000", "#,##0.00;(#,##0.00)", "[h]:mm"],
            row(0, text(0, "what"), text(1, "value")),
            row(1, text(0, "a"), real(1, 0.075, 1)),
            row(2, text(0, "b"), small),
            row(3, text(0, "c"), hundredth),
            row(4, text(0, "d"), cell(9, 1, struct.pack("<dHI", 1.25, 0, 0) + bytes(4), 4)),
            row(5, text(0, "e"), cell(3, 1, b"\x2a")),
            row(6, text(0, "f"), real(1, 2.5)),
        )
    )
    assert reading.contents[0].text.splitlines()[4:] == [
        *("| a | 7.5% |", "| b | 01234 |", "| c | (5.50) |", "| d | 30:00 |", "| e | #N/A |", "| f | 2.5 |")
    ]
    assert reading.warnings == ()


@pytest.mark.parametrize(("is_1904", "shown"), [(False, "1900-01-01"), (True, "1904-01-02")])
def test_dates_count_from_1904_if_the_file_says_so(is_1904: bool, shown: str):
    rows = row(0, text(0, "day"), text(1, "b")), row(1, real(0, 1, 1), text(1, "x"))
    assert f"| {shown} | x |" in read_spreadsheet(workbook(["yyyy-mm-dd"], *rows, is_1904=is_1904)).contents[0].text


def test_comments_are_kept_and_what_is_hidden_is_counted():
    comment = record(635, struct.pack("<5I", 0, 2, 2, 1, 1) + bytes(16)) + record(637, b"\0" + string("Why?"))
    column = record(60, struct.pack("<4IH", 2, 2, 2000, 0, 1))
    rows = (
        row(0, text(0, "a"), text(1, "b"), text(2, "secret")),
        row(1, text(0, "x"), text(1, "y"), hidden=True),
        row(2, text(0, "v"), real(1, 1)),
    )
    reading = read_spreadsheet(workbook([], *rows, columns=record(390) + column + record(391), comments=comment))
    assert reading.contents[0].text == "## S\n\n| a | b |\n| --- | --- |\n| v | 1 |\n\n### Comments\n\n- B3: Why?"
    assert sorted(reading.warnings) == ["1 hidden column was left out", "1 hidden row was left out"]
