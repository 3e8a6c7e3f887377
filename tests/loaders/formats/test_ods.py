from __future__ import annotations

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.spreadsheets import read_spreadsheet
from tests.loaders.office import zipped

_NAMES = (
    " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in (
            ("office", "office"),
            ("table", "table"),
            ("text", "text"),
            ("style", "style"),
            ("draw", "drawing"),
        )
    )
    + ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
)
_STYLES = """<style:style style:name="up" style:family="text"><style:text-properties style:text-position="super 58%"/>
</style:style><style:style style:name="gone" style:family="table"><style:table-properties table:display="false"/>
</style:style>"""


def spreadsheet(tables: str, manifest: str = "<manifest/>") -> bytes:
    content = (
        f"<office:document-content {_NAMES}><office:automatic-styles>{_STYLES}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return zipped({"mimetype": kind, "META-INF/manifest.xml": manifest, "content.xml": content})


def table(*rows: str, name: str = "Data", style: str = "", columns: str = "") -> str:
    lines = "".join(
        row if row.startswith("<") else f"<table:table-row>{cells(*row.split('|'))}</table:table-row>" for row in rows
    )
    return f'<table:table table:name="{name}" table:style-name="{style}">{columns}{lines}</table:table>'


def cells(*texts: str) -> str:
    return "".join(
        f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
        if text
        else "<table:table-cell/>"
        for text in texts
    )


def body(*rows: str, **options: str) -> str:
    return read_spreadsheet(spreadsheet(table(*rows, **options))).contents[0].text


def test_cells_stand_as_the_file_shows_them():
    shown = (
        '<table:table-cell office:value-type="percentage" office:value="0.075"><text:p>7.5%</text:p></table:table-cell>'
    )
    assert body("what|share", f"<table:table-row>{cells('tax')}{shown}</table:table-row>") == (
        "## Data\n\n| what | share |\n| --- | --- |\n| tax | 7.5% |"
    )


@pytest.mark.parametrize(
    ("attributes", "shown"),
    [
        ('office:value-type="percentage" office:value="0.075"', "7.5%"),
        ('office:value-type="percentage" office:value="1"', "100%"),
        ('office:value-type="float" office:value="3.0"', "3"),
        ('office:value-type="currency" office:currency="EUR" office:value="1234.5"', "1,234.50 EUR"),
        ('office:value-type="date" office:date-value="2026-03-15T14:30:00"', "2026-03-15 14:30:00"),
        ('office:value-type="time" office:time-value="PT30H00M00S"', "30:00:00"),
        ('office:value-type="boolean" office:boolean-value="true"', "TRUE"),
        ('office:value-type="string" office:string-value="text"', "text"),
        ('office:value-type="float" office:value="three"', "three"),
    ],
)
def test_values_without_a_text_stand_by_their_kind(attributes: str, shown: str):
    assert f"| x | {shown} |" in body(
        "a|b", f"<table:table-row>{cells('x')}<table:table-cell {attributes}/></table:table-row>"
    )


def test_merged_and_repeated_cells_keep_every_value_in_its_column():
    wide = '<table:table-cell table:number-columns-spanned="2"><text:p>both</text:p></table:table-cell>'
    covered = "<table:covered-table-cell><text:p>covered</text:p></table:covered-table-cell>"
    twice = '<table:table-cell table:number-columns-repeated="2"><text:p>x</text:p></table:table-cell>'
    gap = '<table:table-cell table:number-columns-repeated="2"/>'
    rows = (f"{wide}{covered}{cells('c')}", twice + cells("y"), gap + cells("z"))
    text = body(
        "h1|h2|h3",
        *(f"<table:table-row>{row}</table:table-row>" for row in rows),
        f'<table:table-row table:number-rows-repeated="2">{cells("r", "s", "t")}</table:table-row>',
        f'<table:table-row table:number-rows-repeated="1048576">{gap.replace("2", "16384")}</table:table-row>',
    )
    assert text.splitlines()[4:] == [
        *("| both |  | c |", "| x | x | y |", "|  |  | z |", "| r | s | t |", "| r | s | t |")
    ]


def test_exponents_line_breaks_and_spaces_are_kept_apart():
    exponent = '<text:span text:style-name="up">5</text:span>'
    cell = f"<table:table-cell><text:p>10{exponent}a<text:s/>b</text:p><text:p>c</text:p></table:table-cell>"
    assert "| 10^5a b c | y |" in body("h|i", f"<table:table-row>{cell}{cells('y')}</table:table-row>")


def test_comments_and_drawings_stand_beside_the_cells():
    note = "<office:annotation><text:p>Why?</text:p></office:annotation>"
    cell = f"<table:table-cell>{note}<text:p>5</text:p></table:table-cell>"
    shapes = (
        "<table:shapes><draw:frame><draw:image/><svg:desc>A red kite</svg:desc></draw:frame>"
        "<draw:frame><draw:image/></draw:frame><draw:frame><draw:object/></draw:frame>"
        "<draw:custom-shape><text:p>A box</text:p></draw:custom-shape></table:shapes>"
    )
    data = spreadsheet(table("a|b", f"<table:table-row>{cells('x')}{cell}</table:table-row>", shapes))
    reading = read_spreadsheet(data)
    assert reading.contents[0].text.endswith("| x | 5 |\n\nA red kite\n\nA box\n\n### Comments\n\n- B2: Why?")
    assert sorted(reading.warnings) == ["1 chart was left out", "1 picture without a text was left out"]


def test_what_is_hidden_is_counted():
    hidden = f'<table:table-row table:visibility="filter">{cells("x", "y", "z")}</table:table-row>'
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    formula = '<table:table-row><table:table-cell table:formula="of:=A1"/></table:table-row>'
    tables = table("a|b|c", "1|secret|3", hidden, formula, columns=columns) + table("gone", name="Hidden", style="gone")
    reading = read_spreadsheet(spreadsheet(tables))
    assert reading.contents[0].text == "## Data\n\n| a | c |\n| --- | --- |\n| 1 | 3 |"
    assert sorted(reading.warnings) == [
        *("1 formula without a value was left out", "1 hidden column was left out", "1 hidden row was left out"),
        "1 hidden sheet was left out",
    ]


def test_encrypted_and_broken_files_are_told():
    with pytest.raises(UnreadableError, match="password"):
        read_spreadsheet(spreadsheet("", "<manifest:encryption-data/>"))
    with pytest.raises(UnreadableError, match="password"):
        read_spreadsheet(zipped({"encrypted-package": b"x"}))
    with pytest.raises(UnreadableError, match="valid spreadsheet"):
        read_spreadsheet(zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}))


def test_cells_without_end_are_refused():
    row = f'<table:table-row table:number-rows-repeated="1048576">{cells("a") * 20}</table:table-row>'
    with pytest.raises(UnreadableError, match=r"more than 16,777,216 cells\. Split it"):
        read_spreadsheet(spreadsheet(table(row)))
