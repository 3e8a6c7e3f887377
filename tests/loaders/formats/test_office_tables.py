"""Tables with merged cells in Word documents and presentations, and parts of documents in any order."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.formats import slides, word
from tests.loaders.formats.test_slide_text import frame, pptx, slide
from tests.loaders.office import paragraph, run
from tests.loaders.office import word as document

Grid = list[list[tuple[int, int]]]  # where the cell at a place begins


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Draw the cells of a table, of which some cover several rows and columns."""
    rows, columns = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    begins: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(rows):
        for column in range(columns):
            if (row, column) in begins:
                continue
            width = 1
            while column + width < columns and (row, column + width) not in begins and draw(st.booleans()):
                width += 1
            height = draw(st.integers(1, rows - row))
            begins |= {(row + down, column + right): (row, column) for down in range(height) for right in range(width)}
    return [[begins[row, column] for column in range(columns)] for row in range(rows)]


def in_word(grid: Grid) -> bytes:
    rows = []
    for row, places in enumerate(grid):
        cells = []
        for column, begin in enumerate(places):
            if column and places[column - 1] == begin:
                continue
            span = f'<w:gridSpan w:val="{places.count(begin)}"/>'
            merge = '<w:vMerge w:val="restart"/>' if begin == (row, column) else "<w:vMerge/>"
            text = paragraph(f"r{row}c{column}") if begin == (row, column) else "<w:p/>"
            cells.append(f"<w:tc><w:tcPr>{span}{merge}</w:tcPr>{text}</w:tc>")
        rows.append(f"<w:tr>{''.join(cells)}</w:tr>")
    return document(f"<w:tbl>{''.join(rows)}</w:tbl>")


def in_slides(grid: Grid) -> bytes:
    rows = []
    for row, places in enumerate(grid):
        cells = []
        for column, (top, left) in enumerate(places):
            width, height = places.count((top, left)), sum(1 for other in grid if (top, left) in other)
            covered = f'hMerge="{int(column > left)}" vMerge="{int(row > top)}"'
            text = f"<a:r><a:t>r{row}c{column}</a:t></a:r>" if (top, left) == (row, column) else ""
            body = f"<a:txBody><a:p>{text}</a:p></a:txBody>"
            cells.append(f'<a:tc gridSpan="{width}" rowSpan="{height}" {covered}>{body}</a:tc>')
        rows.append(f"<a:tr>{''.join(cells)}</a:tr>")
    return pptx(slide(frame(f"<a:tbl>{''.join(rows)}</a:tbl>")))


@pytest.mark.parametrize(("make", "read"), [(in_word, word.read), (in_slides, slides.read)])
@given(grid=grids())
def test_every_value_stands_once_and_in_its_own_column(make, read, grid: Grid):
    shown = [
        [f"r{row}c{column}" if begin == (row, column) else "" for column, begin in enumerate(places)]
        for row, places in enumerate(grid)
    ]
    columns = [column for column in range(len(grid[0])) if any(row[column] for row in shown)]
    shown = [[row[column] for column in columns] for row in shown if any(row)]

    lines = [line for line in read(make(grid)).contents[0].text.splitlines() if not line.startswith("| ---")]

    if len(shown) > 1 and len(columns) > 1:
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        assert [row + [""] * (len(columns) - len(row)) for row in cells] == shown
    else:
        assert " ".join(lines).split() == [value for row in shown for value in row if value]


_ENDS = {
    "<w:p>": "</w:p>",
    "<w:r>": "</w:r>",
    "<w:tbl><w:tr><w:tc>": "</w:tc></w:tr></w:tbl>",
    "<w:tr><w:tc>": "</w:tc></w:tr>",
    "<w:sdt><w:sdtContent>": "</w:sdtContent></w:sdt>",
    "<w:txbxContent>": "</w:txbxContent>",
}
_PIECES = [
    *_ENDS,
    "",  # the end of what was opened last
    '<w:fldChar w:fldCharType="begin"/>',
    '<w:fldChar w:fldCharType="separate"/>',
    '<w:fldChar w:fldCharType="end"/>',
    "<w:instrText> PAGE </w:instrText>",
    '<w:footnoteReference w:id="1"/>',
    '<w:pPr><w:outlineLvl w:val="77"/><w:numPr><w:ilvl w:val="x"/><w:numId/></w:numPr></w:pPr>',
    "<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>",
    '<w:sym w:char="zz"/>',
    "<w:drawing><wp:docPr/></w:drawing>",
    "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>",
    "<w:tab/><w:br/>",
    '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>',
]


@given(st.lists(st.sampled_from(_PIECES) | st.integers(0, 99).map(lambda number: run(f"word{number} ")), max_size=30))
def test_elements_in_any_order_lose_no_text(pieces: list[str]):
    opened: list[str] = []
    xml = ""
    for piece in pieces:
        if piece in _ENDS:
            opened.append(_ENDS[piece])
        xml += piece or (opened.pop() if opened else "")
    xml += "".join(reversed(opened))
    note = f'<w:footnote w:id="1">{paragraph("note")}</w:footnote>'

    text = word.read(document(xml, footnotes=note)).contents[0].text

    if "fldChar" not in xml:
        assert sorted(re.findall(r"word\d+", text)) == sorted(re.findall(r"word\d+", xml))
