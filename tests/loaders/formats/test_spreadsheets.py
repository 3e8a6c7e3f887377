from __future__ import annotations

import io
import re
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.loaders.content import Attachment, UnreadableError
from kinsplit.loaders.formats.spreadsheets import read_spreadsheet
from kinsplit.loaders.sheets.number_formats import number_format
from kinsplit.loaders.sheets.xlsx import ExcelPackage
from tests.loaders.office import changed, zipped

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NUMBERS = st.integers(-(10**6), 10**6) | st.floats(0, 60_000).map(lambda value: round(value, 4))
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PICTURE = b"\x89PNG\r\n\x1a\n" + b"".join(
    (
        _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress(b"\0\0")),
        _chunk(b"IEND", b""),
    )
)


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
        "## Sales\n\n| day | euros |\n| --- | --- |\n| 1/1/2020 | 1.5 |\n| 1/2/2020 | 0.3 |\n\n## Notes\n\nonly"
    )
    assert reading.warnings == ()


def test_hidden_sheets_are_counted():
    reading = read_spreadsheet(workbook(Shown=[["a"]], hidden_one=[["secret"]]))

    assert "secret" not in reading.contents[0].text
    assert reading.warnings == ("1 hidden sheet was left out",)


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04 cut off", b"no sheet at all", zipped({"a.txt": "b"})],
    ids=["empty", "cut off", "text", "no workbook"],
)
def test_what_is_no_spreadsheet_is_told(data: bytes):
    with pytest.raises(UnreadableError, match="valid spreadsheet"):
        read_spreadsheet(data)


def written(build: Callable[[Any], None], **options: Any) -> bytes:
    """Return an Excel file as a usual program writes it."""
    target = io.BytesIO()
    with xlsxwriter.Workbook(target, options) as made:
        build(made)
    return target.getvalue()


def text_of(data: bytes) -> str:
    return read_spreadsheet(data).contents[0].text


def with_sheet(cells: str, files: dict[str, str | bytes] | None = None, *, more: str = "", prefix: str = "") -> bytes:
    """Return an Excel file with a sheet as another program might write it."""
    sheet = f'<worksheet xmlns="{_MAIN}" {more and ""}><sheetData>{cells}</sheetData>{more}</worksheet>'
    if prefix:
        sheet = re.sub(r"<(/?)(\w)", rf"<\1{prefix}:\2", sheet).replace("xmlns=", f"xmlns:{prefix}=")
    return changed(workbook(S=[["a"]]), {"xl/worksheets/s1.xml": sheet, **(files or {})})


def test_cells_stand_as_the_application_shows_them():
    shown = {
        "0.0%": (0.075, "7.5%"),
        "00000": (1234, "01234"),
        "[h]:mm": (1.25, "30:00"),
        '"$"#,##0.00': (9.5, "$9.50"),
        "dd.mm.yyyy": (46096, "15.03.2026"),
        "#,##0;(#,##0)": (-5, "(5)"),
        "yyyy-mm-dd": (0, "1900-01-00"),
    }

    def build(made: Any) -> None:
        sheet = made.add_worksheet()
        sheet.write_row(0, 0, ["code", "value"])
        for row, (code, (value, _)) in enumerate(shown.items(), 1):
            sheet.write_string(row, 0, code)
            sheet.write_number(row, 1, value, made.add_format({"num_format": code}))
        sheet.write_row("A20", [True, "007"])
        sheet.write_formula("B21", "=NA()", None, "#N/A")
        sheet.write_formula("A21", "=1/3", None, 1 / 3)

    text = text_of(written(build))
    for code, (_, value) in shown.items():
        assert f"| {code} | {value} |" in text
    assert "| TRUE | 007 |\n| 0.333333333333333 | #N/A |" in text


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("0.00%", "#,##0.0", "000", "0.00E+00", "yyyy-mm-dd", "[h]:mm", "General")), _NUMBERS
        ),
        min_size=1,
        max_size=30,
    )
)
@settings(max_examples=20)
def test_every_cell_has_its_own_format(cells: list[tuple[str, float]]):
    def build(made: Any) -> None:
        sheet = made.add_worksheet()
        sheet.write_row(0, 0, ["name", *(f"c{at}" for at in range(len(cells)))])
        sheet.write_string(1, 0, "row")
        for at, (code, value) in enumerate(cells, 1):
            sheet.write_number(1, at, value, made.add_format({"num_format": code}))

    expected = (" ".join(number_format(code).number(value).split()) for code, value in cells)
    assert text_of(written(build)).splitlines()[-1] == f"| row | {' | '.join(expected)} |"


@pytest.mark.parametrize("prefix", ["", "x"])
@pytest.mark.parametrize(
    "cell",
    [
        '<c r="A2" s="1"><v>43831</v></c>',
        '<c s="1" r="A2" ><v>43831</v></c>',
        "<c r='A2' t='n' s='1'><v>43831</v></c>",
        '<c r="A2" s="1" t="n" cm="1"><f>TODAY()</f><v>43831</v></c>',
        '<c r="A2" s="1">\n  <v>43831</v>\n</c>',
        '<c\n  r="A2"\ts="1"><v>43831</v></c>',
        '<c s="1"><v>43831</v></c>',
    ],
)
def test_cells_are_read_however_programs_write_them(cell: str, prefix: str):
    header = '<row r="1"><c r="A1" t="inlineStr"><is><t>day</t></is></c><c r="B1"><v>7</v></c></row>'
    data = with_sheet(f'{header}<row r="2">{cell}<c r="B2" s="0"/></row>', prefix=prefix)
    assert "1/1/2020" in text_of(data)


@pytest.mark.parametrize("styles", [1, 100])
def test_texts_and_errors_with_a_number_format_stay_what_they_are(styles: int):
    rows = (
        '<row r="1"><c r="A1" s="1" t="s"><v>0</v></c><c r="B1" s="1" t="str" cm="1"><f>A</f><v>12</v></c>'
        '<c r="C1" s="1" cm="1" t="s"><v>1</v></c></row>'
        '<row r="2"><c r="A2" s="1" t="e"><v>#REF!</v></c><c r="B2" s="1" t="b"><v>1</v></c>'
        '<c r="C2" s="0"><v>0</v></c></row>'
    )
    parts = (("worksheet", "worksheets/s1.xml"), ("sharedStrings", "sharedStrings.xml"), ("styles", "styles.xml"))
    relations = "".join(
        f'<Relationship Id="r{at}" Type="{_RELATIONS}/{kind}" Target="{part}"/>'
        for at, (kind, part) in enumerate(parts, 1)
    )
    formats = '<xf numFmtId="10"/>' * styles
    raised = '<r><t>x</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>2</t></r>'
    files: dict[str, str | bytes] = {
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}"><si>{raised}</si><si><t>name</t></si></sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs><xf/>{formats}</cellXfs></styleSheet>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>',
    }
    assert text_of(with_sheet(rows, files)) == "## S\n\n| x^2 | 12 | name |\n| --- | --- | --- |\n| #REF! | TRUE | 0 |"


def test_thousands_of_styles_are_no_burden():
    styles = "".join(f'<xf numFmtId="{14 if at % 2 else 0}"/>' for at in range(60_000))
    cells = "".join(f'<row r="{at}"><c r="A{at}" s="{at}"><v>43831</v></c></row>' for at in range(1, 50_001))
    data = with_sheet(cells, {"xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs>{styles}</cellXfs></styleSheet>'})
    start = time.process_time()
    text = text_of(data)
    assert time.process_time() - start < 10
    assert text.count("1/1/2020") == text.count("43831") == 25_000


def test_dates_count_from_1904_if_the_file_says_so():
    def build(made: Any) -> None:
        sheet = made.add_worksheet()
        sheet.write_row(0, 0, ["day", "time", "hours"])
        for column, (code, value) in enumerate([("yyyy-mm-dd", 1.0), ("h:mm", 0.5), ("[h]:mm", 1.5)]):
            sheet.write_number(1, column, value, made.add_format({"num_format": code}))

    assert "| 1904-01-02 | 12:00 | 36:00 |" in text_of(written(build, date_1904=True))
    assert "| 1900-01-01 | 12:00 | 36:00 |" in text_of(written(build))


def test_exponents_and_indices_are_not_joined_to_digits():
    def build(made: Any) -> None:
        up, down = made.add_format({"font_script": 1}), made.add_format({"font_script": 2})
        sheet = made.add_worksheet()
        sheet.write_row(0, 0, ["what", "count"])
        sheet.write_string(1, 0, "cells")
        sheet.write_rich_string(1, 1, "10", up, "5", " & H", down, "2", "O")

    assert "| cells | 10^5 & H2O |" in text_of(written(build))
    run = '<r><t>10</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>5</t></r>'
    cells = f'<row r="1"><c r="A1" t="inlineStr"><is>{run}</is></c><c r="B1" t="inlineStr"><is><t>x</t></is></c></row>'
    assert "| 10^5 | x |" in text_of(with_sheet(cells))


def test_merged_cells_stand_once_in_their_own_column():
    def build(made: Any) -> None:
        sheet = made.add_worksheet()
        sheet.write_row(0, 0, ["region", "quarter", "sales"])
        sheet.merge_range("A2:A3", "North")
        sheet.merge_range("B4:C4", "none")
        sheet.write_row(1, 1, ["Q1", 130])
        sheet.write_row(2, 1, ["Q2", 140])
        sheet.write(3, 0, "South")
        sheet.write(2, 0, "hidden by the merged cell")

    expected = "| North | Q1 | 130 |\n|  | Q2 | 140 |\n| South | none |  |"
    assert expected in text_of(written(build))


def test_tables_with_empty_rows_or_columns_between_them_have_their_own_headers():
    def build(made: Any) -> None:
        sheet = made.add_worksheet()
        for row, values in enumerate(
            [
                *(["Report of the year"], ["city", "people", "", "river", "length"], ["Bern", 5, "", "Aare", 288]),
                *(["Rome", 6, "", "Tiber", 406], [], ["", 11], [], ["bird", "count"], ["owl", 2], [], ["crow", 3]),
            ]
        ):
            for column, value in enumerate(values):
                if value != "":
                    sheet.write(row, column, value)

    assert text_of(written(build)) == (
        "## Sheet1\n\nReport of the year\n\n"
        "| city | people |\n| --- | --- |\n| Bern | 5 |\n| Rome | 6 |\n\n"
        "| river | length |\n| --- | --- |\n| Aare | 288 |\n| Tiber | 406 |\n\n11\n\n"
        "| bird | count |\n| --- | --- |\n| owl | 2 |\n| crow | 3 |"
    )


def test_rows_above_a_header_are_paragraphs():
    rows: list[list[str | float]] = [["Report"], ["Date", "May"], ["bird", "count", "site", "note"]]
    text = text_of(workbook(S=[*rows, ["owl", 2.0, "barn", "seen"], ["crow", 3.0, "field", "heard"]]))
    assert text.startswith("## S\n\nReport\n\nDate May\n\n| bird | count | site | note |\n| --- |")


@pytest.mark.parametrize(
    ("rows", "tables"),
    [
        ([["name", "role"], ["Ann", "chief"], [""], ["Bob", "cook"], ["Cid", "clerk"]], 1),
        ([["name", "age"], ["Ann", 50.0], [""], ["Bob", 40.0], ["Cid", 30.0]], 1),
        ([["name", "age"], ["Ann", 50.0], [""], ["city", "river"], ["Bern", "Aare"]], 2),
        ([["name", "role"], ["Ann", "chief"], [""], ["city", "people"], ["Bern", 5.0]], 2),
        ([["name", "age"], ["Ann", 50.0], [""], ["a", "b", "c"], ["d", "e", "f"]], 2),
        ([["item", "2023"], ["tax", 5.0], [""], ["item", "2024"], ["tax", 6.0]], 2),
        ([["name", "age"], ["Ann", 50.0], [""], ["Total", 50.0]], 1),
        ([["name", "since"], ["Ann", "5 May 2020"], [""], ["Bob", "6 May 2020"], ["Cid", "7 May 2020"]], 1),
        ([["name", "paid"], ["Ann", "€ 5"], [""], ["item", "price"], ["owl", "€ 6"]], 2),
    ],
)
def test_rows_below_an_empty_one_are_a_table_if_they_have_a_header(rows: list[list[str | float]], tables: int):
    assert text_of(workbook(S=rows)).count("\n| --- |") == tables


def test_an_empty_column_inside_a_table_keeps_its_rows_whole():
    text = text_of(
        workbook(S=[["item", "", "2023", "", "2022"], ["sales", "", 5.0, "", 4.0], ["tax", "", 3.0, "", 2.0]])
    )
    assert "| sales | 5 | 4 |" in text


def test_what_stands_beside_cells_is_kept():
    def build(made: Any) -> None:
        sheet = made.add_worksheet("Data")
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_row(1, 0, [1, 2])
        sheet.write_comment("B2", "Checked\ntwice.")
        sheet.insert_textbox("D1", "Text of a box")
        sheet.insert_image("D9", "kite.png", {"image_data": io.BytesIO(PICTURE), "description": "A red kite"})
        sheet.set_header('&LACME Ltd&C&"Arial,Bold"&14Annual report&RPage &P')

    reading = read_spreadsheet(written(build))
    assert reading.contents[0].text.endswith(
        "| 1 | 2 |\n\nA red kite\n\nText of a box\n\n### Comments\n\n- B2: Checked twice.\n\nACME Ltd Annual report"
    ) or reading.contents[0].text.endswith(
        "| 1 | 2 |\n\nText of a box\n\nA red kite\n\n### Comments\n\n- B2: Checked twice.\n\nACME Ltd Annual report"
    )
    assert reading.warnings == ()


def test_threaded_comments_replace_the_notes_that_announce_them():
    cells = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
    note = (
        '<comments xmlns="{}"><commentList><comment ref="{}"><text><t>{}</t></text></comment></commentList></comments>'
    )
    thread = (
        '<ThreadedComments xmlns="u"><threadedComment ref="A1"><text>Why?</text></threadedComment></ThreadedComments>'
    )
    relations = "".join(
        f'<Relationship Id="r{kind}" Type="u/{kind}" Target="../{kind}.xml"/>'
        for kind in ("comments", "threadedComment")
    )
    files: dict[str, str | bytes] = {
        "xl/worksheets/_rels/s1.xml.rels": f'<R xmlns="{_PACKAGE}/relationships">{relations}</R>',
        "xl/comments.xml": note.format(_MAIN, "A1", "[Threaded comment]"),
        "xl/threadedComment.xml": thread,
    }
    assert text_of(with_sheet(cells, files)) == "## S\n\na\n\n### Comments\n\n- A1: Why?"


def test_what_is_left_out_is_counted():
    def build(made: Any) -> None:
        sheet = made.add_worksheet("Data")
        sheet.write_row(0, 0, ["a", "b", "c"])
        for row in range(1, 5):
            sheet.write_row(row, 0, [f"r{row}", row, "secret"])
        sheet.set_row(2, None, None, {"hidden": True})
        sheet.set_row(90, None, None, {"hidden": True})
        sheet.set_column("C:E", None, None, {"hidden": True})
        chart = made.add_chart({"type": "line"})
        chart.add_series({"values": "=Data!$B$2:$B$5"})
        sheet.insert_chart("H1", chart)
        for place in ("H20", "H30"):
            sheet.insert_image(place, "kite.png", {"image_data": io.BytesIO(PICTURE)})
        made.add_worksheet("Hidden").hide()
        made.add_chartsheet("Chart").set_chart(other := made.add_chart({"type": "bar"}))
        other.add_series({"values": "=Data!$B$2:$B$5"})

    reading = read_spreadsheet(written(build))
    assert reading.contents[0].text == "## Data\n\n| a | b |\n| --- | --- |\n| r1 | 1 |\n| r3 | 3 |\n| r4 | 4 |"
    assert sorted(reading.warnings) == [
        *("1 chart sheet was left out", "1 chart was left out", "1 hidden column was left out"),
        *("1 hidden row was left out", "1 hidden sheet was left out", "2 pictures without a text were left out"),
    ]


def test_formulas_without_a_value_are_counted():
    cells = (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1"><f>SUM(A2:A9)</f></c>'
        '<c r="C1"><f>1+1</f><v/></c><c r="D1"><f>2</f><v></v></c><c r="E1" t="str"><f>""</f><v></v></c>'
        '<c r="F1"><f t="shared" si="0"/></c><c r="G1"><f>3</f><v>3</v></c></row>'
    )
    assert read_spreadsheet(with_sheet(cells)).warnings == ("4 formulas without a value were left out",)


def test_files_inside_a_sheet_are_attachments():
    relations = '<Relationship Id="r1" Type="u/package" Target="../embeddings/Plan.docx"/>'
    relations += '<Relationship Id="r2" Type="u/oleObject" Target="../embeddings/object.bin"/>'
    files: dict[str, str | bytes] = {
        "xl/worksheets/_rels/s1.xml.rels": f'<R xmlns="{_PACKAGE}/relationships">{relations}</R>',
        "xl/embeddings/Plan.docx": b"plan",
        "xl/embeddings/object.bin": b"x",
    }
    reading = read_spreadsheet(with_sheet('<row r="1"><c r="A1"><v>1</v></c></row>', files))
    assert reading.attachments == (Attachment("Plan.docx", b"plan"),)
    assert reading.warnings == ("1 embedded object was left out",)


def test_macros_are_counted():
    data = changed(workbook(S=[["a"]]), {"xl/vbaProject.bin": b"x"})
    assert read_spreadsheet(data).warnings == ("1 macro project was left out",)


def test_cells_without_references_follow_each_other():
    rows = "".join(f'<row><c><v>{row}</v></c><c s="1"><v>{43831 + row}</v></c><c/></row>' for row in range(3))
    assert "| 0 | 1/1/2020 |\n| 1 | 1/2/2020 |\n| 2 | 1/3/2020 |" in text_of(with_sheet(rows))


def test_a_broken_part_is_named():
    part = "xl/worksheets/_rels/s1.xml.rels"
    with pytest.raises(UnreadableError, match=part):
        read_spreadsheet(changed(workbook(S=[["a"]]), {part: "<broken"}))


@pytest.mark.parametrize(
    "piece", ["<c ", '<c r="A1" ', '<c r="A1" s="1">', '<c r="A1"><f>', "<row ", "<x:row ", '<c r="A1" t="e"><v>']
)
def test_hostile_sheets_take_linear_time(piece: str):
    package = ExcelPackage(with_sheet(piece * 300_000))
    start = time.process_time()
    package.sheet("S")
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (b"<html><table><tr><td>a<td>b</tr><tr><td>1<td>2</tr></table></html>", "| 1 | 2 |"),
        (b"\xef\xbb\xbf<!DOCTYPE html><table><tr><td>a<td>b</tr><tr><td>1<td>2</tr></table>", "| 1 | 2 |"),
        (b'<?xml version="1.0"?>\n<html><table><tr><td>a<td>b</tr><tr><td>1<td>2</tr></table></html>', "| 1 | 2 |"),
        (b"a\tb\n1\t2\n", "| 1 | 2 |"),
        ("a\tb\n1\té\n".encode("utf-16"), "| 1 | é |"),
    ],
)
def test_files_that_only_have_the_suffix_are_read_as_what_they_are(data: bytes, row: str):
    reading = read_spreadsheet(data)
    assert row in reading.contents[0].text
    assert any("rather than a spreadsheet" in warning for warning in reading.warnings)


def test_parts_are_found_whatever_the_case_of_their_names():
    data = workbook(S=[["day", "b"], [43831, 1]])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["xl/Styles.xml"] = files.pop("xl/styles.xml")
    assert "| 1/1/2020 | 1 |" in text_of(zipped(files))
