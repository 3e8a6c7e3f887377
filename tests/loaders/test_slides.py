from __future__ import annotations

from pptx.util import Inches

from kinsplit.loaders.slides import read
from kinsplit.parsers import create

from .helpers import document_of
from .office import presentation, saved


def test_every_slide_is_a_page_that_begins_with_its_title(tmp_path):
    slides = presentation("Loops", "Recursion")
    first, second = slides.slides
    first.placeholders[1].text_frame.text = "A loop repeats"
    below = first.placeholders[1].text_frame.add_paragraph()
    below.text, below.level = "until told otherwise", 1
    second.placeholders[1].text_frame.text = "A function calls itself"
    second.notes_slide.notes_text_frame.text = "Draw the stack."

    document = document_of(tmp_path / "week 1.pptx", saved(slides))

    assert document.text == (
        "## Loops\n\nA loop repeats\n- until told otherwise\n\n"
        "## Recursion\n\nA function calls itself\n\n### Notes\n\nDraw the stack."
    )
    assert document.pages == (0, document.text.index("## Recursion"))
    assert document.metadata["title"] == "Loops"
    assert document.metadata["file_type"] == "slides"
    chunks = create("structure", chunk_size=20, min_chunk_size=1).chunk(document)
    assert {(chunk.context, document.page_range(chunk.start, chunk.end)) for chunk in chunks} == {
        ("Loops", (1, 1)),
        ("Recursion", (2, 2)),
        ("Recursion > Notes", (2, 2)),
    }


def test_shapes_are_read_from_the_top_left_and_tables_as_tables():
    slides = presentation("Figures")
    shapes = slides.slides[0].shapes
    table = shapes.add_table(2, 2, Inches(1), Inches(5), Inches(4), Inches(1)).table
    for row, cells in enumerate((("name", "a|b"), ("x", "1"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    for left, top, text in ((6, 3, "right"), (1, 3.1, "left"), (1, 2, "above"), (1, 4, "# no heading")):
        shapes.add_textbox(Inches(left), Inches(top), Inches(1), Inches(0.3)).text_frame.text = text
    group = shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(6.5), Inches(1), Inches(0.3)).text_frame.text = "grouped"

    blocks = read(saved(slides)).contents[0].text.split("\n\n")

    assert blocks[:5] == ["## Figures", "above", "left", "right", "\\# no heading"]
    assert blocks[5:] == ["| name | a\\|b |\n| --- | --- |\n| x | 1 |", "grouped"]


def test_hidden_slides_are_left_out_and_counted():
    slides = presentation("Shown", "Hidden", "Last")
    slides.slides[1].element.set("show", "0")
    slides.core_properties.title = "Week 1"

    reading = read(saved(slides))

    assert reading.contents[0].text == "## Shown\n\n## Last"
    assert reading.contents[0].title == "Week 1"
    assert reading.warnings == ("1 hidden slides were left out",)


def test_a_slide_without_any_text_is_still_a_page():
    content = read(saved(presentation("One", "", "Three"))).contents[0]

    assert [content.text[at:].partition("\n")[0] for at in content.pages] == ["## One", "", "## Three"]
