"""Headings of PDF files: bookmarks, sizes, weights; and glyphs without a character."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from reportlab.pdfgen import canvas
from reportlab.pdfgen.canvas import Canvas

from kinsplit.loaders.content import Content
from kinsplit.loaders.formats.pdf import read
from kinsplit.spans import Heading
from tests.loaders.formats.pages import page_of, put

BODY = [f"This is sentence number {n} of the text, and it says little." for n in range(6)]
Row = tuple[str, int, str]
PLAIN, BOLD = "Helvetica", "Helvetica-Bold"


def drawn(*pages: list[Row], size: tuple[int, int] = (600, 800), bookmarks: Sequence[tuple[str, int]] = ()) -> bytes:
    """Return a PDF with rows of text, size and font from the top, and bookmarks that lead to its first page."""
    target = io.BytesIO()
    sheet = canvas.Canvas(target, pagesize=size)
    for title, level in bookmarks:
        sheet.bookmarkPage(title)
        sheet.addOutlineEntry(title, title, level)
    for rows in pages:
        y = size[1] - 60
        for text, height, font in rows:
            sheet.setFont(font, height)
            sheet.drawString(72, y - height, text)
            y -= 1.2 * height if font == PLAIN and height == 10 else 1.8 * height
        sheet.showPage()
    sheet.save()
    return target.getvalue()


def content(data: bytes) -> Content:
    return read(data).contents[0]


def outline(data: bytes) -> list[tuple[int, str]]:
    found = content(data)
    for one in found.headings:
        assert one.start == one.end or " ".join(found.text[one.start : one.end].split()).endswith(one.title)
    return [(one.level, one.title) for one in found.headings]


def test_the_bold_first_row_of_a_table_is_no_heading() -> None:
    def draw(canvas: Canvas) -> None:
        put([(72, 60 + 12 * number, line) for number, line in enumerate(BODY)])(canvas)
        for left, name, *figures in ((72, "Region", "North", "South"), (200, "Sales", "12", "7")):
            canvas.setFont(BOLD, 10)
            put([(left, 160, name)])(canvas)
            canvas.setFont(PLAIN, 10)
            put([(left, 174, figures[0]), (left, 188, figures[1])])(canvas)

    found = content(page_of(draw))

    assert "Region Sales\nNorth 12\nSouth 7" in found.text
    assert found.headings == ()


def body() -> list[Row]:
    return [(line, 10, PLAIN) for line in BODY]


def test_larger_and_bold_lines_are_headings_below_the_title() -> None:
    first: list[Row] = [("On Owls", 24, PLAIN), ("1 Habits", 14, BOLD), *body(), ("Food", 10, BOLD), *body()]
    second: list[Row] = [("2 Voices", 14, BOLD), *body(), ("It ends with a point.", 14, BOLD), *body()]

    assert outline(drawn(first, second)) == [(0, "On Owls"), (1, "1 Habits"), (2, "Food"), (1, "2 Voices")]
    assert content(drawn(first, second)).title == "On Owls"


def test_contents_and_bold_passages_are_no_headings() -> None:
    contents: list[Row] = [("Habits . . . . . . . . 2", 14, BOLD), ("Voices 3", 14, BOLD)]
    passage: list[Row] = [(line.replace(".", ""), 10, BOLD) for line in BODY[:4]]
    second: list[Row] = [("Habits", 14, BOLD), *body(), *passage]
    third: list[Row] = [("Voices", 14, BOLD), *body()]

    assert outline(drawn([*contents, *body()], second, third)) == [(1, "Habits"), (1, "Voices")]


def test_bookmarks_decide_the_levels_of_lines_that_look_like_theirs() -> None:
    first: list[Row] = [("1 Habits", 14, BOLD), *body(), ("Food", 12, BOLD), *body()]
    second: list[Row] = [("Annex", 14, BOLD), *body()]
    data = drawn(first, second, bookmarks=[("Habits", 0), ("Food", 1), ("Absent", 1)])

    assert outline(data) == [(1, "Habits"), (2, "Food"), (1, "Annex")]


def test_bookmarks_in_a_circle_or_by_the_thousand_are_read_once() -> None:
    names = [("Habits", 0), ("Food", 0)]
    data = drawn([("Habits", 10, PLAIN), *body(), ("Food", 10, PLAIN), *body()], bookmarks=names)
    first = re.search(rb"/First (\d+ 0 R)", data)
    assert first is not None
    circle = re.sub(rb"(/Prev) \d+ 0 R", rb"/Next " + first[1], data, count=1)
    many = drawn(body(), bookmarks=[(f"Entry {n}", 0) for n in range(6_000)])

    assert circle != data
    assert [title for _, title in outline(circle)] == ["Habits", "Food"]
    assert outline(many) == []


def test_the_largest_line_at_the_top_of_a_slide_is_its_title() -> None:
    points: list[Row] = [(f"point {n}", 24, PLAIN) for n in range(5)]
    slides: list[list[Row]] = [[(title, 40, PLAIN), *points] for title in ("Habits", "Habits", "Food")]

    assert outline(drawn([("Owls", 60, PLAIN)], *slides, size=(800, 600))) == [(0, "Owls"), (1, "Habits"), (1, "Food")]


def test_offsets_hold_behind_hyphens_that_are_dropped() -> None:
    # PDFium marks the hyphen at the end of a line.
    broken: list[Row] = [("Some words are broken exam-", 10, PLAIN), ("ples, though examples occur.", 10, PLAIN)]
    found = content(drawn([*broken, *body(), ("Food", 14, BOLD), *body()]))

    assert "broken examples, though" in found.text
    assert [found.text[one.start : one.end] for one in found.headings] == ["Food"]


def test_a_title_in_the_metadata_stands_above_all() -> None:
    target = io.BytesIO()
    sheet = canvas.Canvas(target)
    sheet.setTitle("Owls")
    sheet.drawString(72, 700, "They hunt at night.")
    sheet.save()

    assert content(target.getvalue()).headings == (Heading(0, 0, 0, "Owls"),)
