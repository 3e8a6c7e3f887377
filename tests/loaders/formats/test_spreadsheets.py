from __future__ import annotations

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.spreadsheets import read_spreadsheet
from tests.loaders.office import zipped

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(**sheets: list[list[str | float]]) -> bytes:
    """Return an Excel file; a sheet whose name begins with `hidden` is hidden, and the second style is a date."""
    listed, relations, files = "", "", {}
    for number, (name, rows) in enumerate(sheets.items(), 1):
        state = 'state="hidden" ' if name.startswith("hidden") else ""
        listed += f'<sheet name="{name}" sheetId="{number}" {state}r:id="r{number}"/>'
        relations += f'<Relationship Id="r{number}" Type="{_RELATIONS}/worksheet" Target="worksheets/s{number}.xml"/>'
        body = ""
        for y, row in enumerate(rows, 1):
            cells = (
                f'<c r="{chr(65 + x)}{y}" t="inlineStr"><is><t>{cell}</t></is></c>'
                if isinstance(cell, str)
                else f'<c r="{chr(65 + x)}{y}" s="{int(cell > 40000)}"><v>{cell}</v></c>'
                for x, cell in enumerate(row)
            )
            body += f'<row r="{y}">{"".join(cells)}</row>'
        files[f"xl/worksheets/s{number}.xml"] = f'<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData></worksheet>'
    opening = f'<Relationships xmlns="{_PACKAGE}/relationships">'
    styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    relations += f'<Relationship Id="r0" Type="{_RELATIONS}/styles" Target="styles.xml"/>'
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
            "_rels/.rels": (
                f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
                f'Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
            ),
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f"{opening}{relations}</Relationships>",
            "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">{styles}</styleSheet>',
            **files,
        }
    )


@pytest.fixture(autouse=True)
def _library() -> None:
    pytest.importorskip("python_calamine")


def test_sheets_are_headings_with_tables():
    data = workbook(Sales=[["", ""], ["day", "euros"], [43831, 1.5], [43832, 0.1 + 0.2]], Empty=[], Notes=[["only"]])

    reading = read_spreadsheet(data)

    assert reading.contents[0].text == (
        "## Sales\n\n| day | euros |\n| --- | --- |\n| 2020-01-01 | 1.5 |\n| 2020-01-02 | 0.3 |\n\n"
        "## Notes\n\n| only |\n| --- |"
    )
    assert reading.warnings == ()


def test_hidden_sheets_are_counted():
    reading = read_spreadsheet(workbook(Shown=[["a"]], hidden_one=[["secret"]]))

    assert "secret" not in reading.contents[0].text
    assert reading.warnings == ("1 hidden sheets were left out",)


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04 cut off", b"no sheet at all", zipped({"a.txt": "b"})],
    ids=["empty", "cut off", "text", "no workbook"],
)
def test_what_is_no_spreadsheet_is_told(data: bytes):
    with pytest.raises(UnreadableError, match="valid spreadsheet"):
        read_spreadsheet(data)
