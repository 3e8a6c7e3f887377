from __future__ import annotations

import copy
import io

import pytest
from lxml import etree
from PIL import Image
from pptx.chart.data import BubbleChartData, CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE as T
from pptx.enum.shapes import MSO_CONNECTOR, PROG_ID
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from kinsplit.index import Index
from kinsplit.loaders.formats.slides import read
from kinsplit.parsers import create
from tests.loaders.helpers import document_of
from tests.loaders.office import presentation, saved

_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


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
        "## Loops\n\n- A loop repeats\n  - until told otherwise\n\n"
        "## Recursion\n\n- A function calls itself\n\n### Notes\n\nDraw the stack."
    )
    assert document.pages == (0, document.text.index("## Recursion"))
    assert document.metadata["title"] == "Loops"
    assert document.metadata["file_type"] == "slides"
    chunks = create("structure", chunk_size=20, min_chunk_size=1).chunk(document)
    assert {(chunk.context, document.page_range(chunk.start, chunk.end)) for chunk in chunks} == {
        ("Loops", (1, 1)),
        ("Loops > Recursion", (2, 2)),
        ("Loops > Recursion > Notes", (2, 2)),
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

    assert reading.contents[0].text == "## Shown\n\n\n\n## Last"
    assert reading.contents[0].pages == (0, 10, 12)
    assert reading.contents[0].title == "Week 1"
    assert reading.warnings == ("1 hidden slide was left out",)


def test_a_slide_without_any_text_is_still_a_page():
    content = read(saved(presentation("One", "", "Three"))).contents[0]

    assert [content.text[at:].partition("\n")[0] for at in content.pages] == ["## One", "", "## Three"]


def test_shapes_with_equations_are_read_as_powerpoint_shows_them():
    slides = presentation("Energy")
    body = slides.slides[0].placeholders[1]
    body.text_frame.text = "We know that"
    shape = body.element
    equation = (
        '<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"><m:oMath xmlns:m="'
        'http://schemas.openxmlformats.org/officeDocument/2006/math"><m:r><m:t>E=mc²</m:t></m:r></m:oMath></a14:m>'
    )
    paragraph = shape.txBody.p_lst[0]
    paragraph.append(etree.fromstring(equation))
    alternatives = etree.fromstring(
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        '<mc:Choice Requires="a14"/><mc:Fallback/></mc:AlternateContent>'
    )
    shape.addnext(alternatives)
    alternatives[1].append(copy.deepcopy(shape))
    alternatives[0].append(shape)

    assert read(saved(slides)).contents[0].text == "## Energy\n\n- We know thatE=mc²"


def test_equations_in_notes_and_alternatives_without_a_first_form_are_read():
    slides = presentation("Energy")
    (slide,) = slides.slides
    slide.notes_slide.notes_text_frame.text = "Recall: "
    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    equation = f"<m:oMath {math}><m:r><m:t>a=b</m:t></m:r></m:oMath>"
    a14 = 'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"'
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    slide.notes_slide.notes_text_frame.paragraphs[0]._p.append(
        etree.fromstring(
            f'<mc:AlternateContent {mc}><mc:Choice Requires="x"/><mc:Fallback><a14:m {a14}>{equation}</a14:m>'
            "</mc:Fallback></mc:AlternateContent>"
        )
    )

    assert read(saved(slides)).contents[0].text == "## Energy\n\n### Notes\n\nRecall: a=b"


def test_a_shape_with_the_titles_number_is_read():
    slides = presentation("Twice")
    body = slides.slides[0].placeholders[1]
    body.text_frame.text = "body"
    body.element.nvSpPr.cNvPr.set("id", str(slides.slides[0].shapes.title.shape_id))

    assert read(saved(slides)).contents[0].text == "## Twice\n\n- body"


def test_a_shape_without_geometry_costs_nothing():
    slides = presentation("Plain")
    box = slides.slides[0].shapes.add_textbox(0, Inches(3), Inches(1), Inches(1))
    box.text_frame.text = "still here"
    (geometry,) = box.element.spPr.iterchildren("{*}prstGeom")
    geometry.getparent().remove(geometry)
    box.element.nvSpPr.cNvSpPr.attrib.pop("txBox")

    assert read(saved(slides)).contents[0].text == "## Plain\n\nstill here"


def test_diagrams_are_lists_of_their_texts():
    slides = presentation("Steps")
    (slide,) = slides.slides
    dgm = 'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
    a = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    texts = "".join(f"<dgm:pt><dgm:t><a:p><a:r><a:t>{t}</a:t></a:r></a:p></dgm:t></dgm:pt>" for t in ("Plan", "", "Do"))
    data = f"<dgm:dataModel {dgm} {a}><dgm:ptLst>{texts}</dgm:ptLst></dgm:dataModel>"
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/vnd.x+xml", slides.part.package, data.encode())
    related = slide.part.relate_to(
        part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
    )
    frame = slide.shapes.add_table(1, 1, 0, Inches(3), Inches(1), Inches(1))._element
    graphic = frame.graphic.graphicData
    graphic.set("uri", "http://schemas.openxmlformats.org/drawingml/2006/diagram")
    graphic[:] = [etree.fromstring(f'<dgm:relIds {dgm} xmlns:r="{_RELATIONS}" r:dm="{related}"/>')]

    assert read(saved(slides)).contents[0].text == "## Steps\n\n- Plan\n- Do"


def test_an_impossible_level_is_one_below_the_others():
    slides = presentation("Deep")
    frame = slides.slides[0].placeholders[1].text_frame
    frame.text = "up\nhere"
    frame.paragraphs[1]._p.get_or_add_pPr().set("lvl", "2000000000")

    assert read(saved(slides)).contents[0].text == "## Deep\n\n- up\n  - here"


def picture() -> io.BytesIO:
    target = io.BytesIO()
    Image.new("RGB", (2, 2)).save(target, "PNG")
    return io.BytesIO(target.getvalue())


def placed_picture(shapes):
    """Put a picture where the slide's body would be."""
    body = shapes.placeholders[1]._element
    shape = shapes.add_picture(picture(), 0, Inches(3))
    shape.crop_left = 0.25
    shape._element.nvPicPr.nvPr.append(next(body.iter("{*}ph")))
    body.getparent().remove(body)
    return shape


def linked_picture(shapes):
    """Add a picture that is a file beside the presentation."""
    shape = shapes.add_picture(picture(), 0, Inches(3))
    blip = next(shape._element.iter("{*}blip"))
    blip.attrib.clear()
    blip.set(f"{{{_RELATIONS}}}link", shapes.part.relate_to("file:///a.png", f"{_RELATIONS}/image", is_external=True))
    return shape


def chart(shapes, title: str):
    data = CategoryChartData()
    data.categories = ("a", "b")
    data.add_series("s", (1, 2))
    frame = shapes.add_chart(T.PIE, 0, Inches(3), Inches(1), Inches(1), data)
    frame.chart.has_title = bool(title)
    if title:
        frame.chart.chart_title.text_frame.text = title
    return frame


_ADDED = {
    "picture": lambda shapes: shapes.add_picture(picture(), 0, Inches(3)),
    "picture in groups": lambda shapes: (
        shapes.add_group_shape().shapes.add_group_shape().shapes.add_picture(picture(), 0, 0)
    ),
    "group": lambda shapes: shapes.add_group_shape(),
    "connector": lambda shapes: shapes.add_connector(MSO_CONNECTOR.STRAIGHT, 0, 0, 9, 9),
    "cropped picture in a placeholder": lambda shapes: placed_picture(shapes),
    "linked picture": lambda shapes: linked_picture(shapes),
    "film": lambda shapes: shapes.add_movie(io.BytesIO(b"film"), 0, 0, 9, 9, picture(), "video/mp4"),
    "recording": lambda shapes: shapes.add_movie(io.BytesIO(b"talk"), 0, 0, 9, 9, None, "audio/mpeg"),
    "embedded file": lambda shapes: shapes.add_ole_object(
        io.BytesIO(b"sheet"), PROG_ID.XLSX, 0, 0, icon_file=picture()
    ),
    "drawing without text": lambda shapes: (
        shapes.build_freeform().add_line_segments([(0, 9), (9, 9)]).convert_to_shape()
    ),
}


@pytest.mark.parametrize("kind", _ADDED)
def test_what_has_no_text_of_its_own_gives_its_alternative_text(kind):
    slides = presentation("Before", "After")
    shape = _ADDED[kind](slides.slides[0].shapes)
    properties = next(shape._element.iter("{*}cNvPr"))
    properties.attrib.pop("descr", None)
    slides.slides[0].notes_slide.notes_text_frame.text = "Look."
    assert read(saved(slides)).contents[0].text == "## Before\n\n### Notes\n\nLook.\n\n## After"

    properties.set("descr", "A  tree\nof calls")
    reading = read(saved(slides))
    assert reading.contents[0].text == "## Before\n\nA tree of calls\n\n### Notes\n\nLook.\n\n## After"
    embedded = ("1 embedded object was left out",)
    assert reading.warnings == (embedded if kind == "embedded file" else ())


def test_a_charts_title_and_data_go_before_its_alternative_text():
    slides = presentation("Costs")
    shape = chart(slides.slides[0].shapes, "Cost by year")
    next(shape._element.iter("{*}cNvPr")).set("descr", "A pie")

    assert read(saved(slides)).contents[0].text == (
        "## Costs\n\nCost by year\n\n|  | s |\n| --- | --- |\n| a | 1 |\n| b | 2 |"
    )


def test_charts_of_every_kind_are_tables_of_their_data():
    kinds = [T.AREA, T.BAR_STACKED_100, T.COLUMN_CLUSTERED, T.DOUGHNUT, T.LINE_MARKERS, T.RADAR]
    slides = presentation(*(kind.name for kind in kinds), "XY_SCATTER", "BUBBLE")
    for kind, slide in zip(kinds, slides.slides, strict=False):
        data = CategoryChartData(number_format="0.0%")
        data.categories = ("a", "b")
        data.add_series("rent", (0.125, None))
        data.add_series("food", (0.5, 1))
        slide.shapes.add_chart(kind, 0, Inches(3), Inches(1), Inches(1), data)
    points, bubbles = XyChartData(), BubbleChartData()
    points.add_series("walk").add_data_point(1, 2.5)
    bubbles.add_series("city").add_data_point(1, 2, 30)
    *_, scatter, bubble = slides.slides
    scatter.shapes.add_chart(T.XY_SCATTER, 0, Inches(3), Inches(1), Inches(1), points)
    bubble.shapes.add_chart(T.BUBBLE, 0, Inches(3), Inches(1), Inches(1), bubbles)

    reading = read(saved(slides))

    table = "|  | rent | food |\n| --- | --- | --- |\n| a | 12.5% | 50.0% |\n| b |  | 100.0% |"
    assert reading.contents[0].text.split("\n\n") == [
        *(block for kind in kinds for block in (f"## {kind.name}", table)),
        "## XY_SCATTER",
        "|  | x | y |\n| --- | --- | --- |\n| walk | 1 | 2.5 |",
        "## BUBBLE",
        "|  | x | y | size |\n| --- | --- | --- | --- |\n| city | 1 | 2 | 30 |",
    ]
    assert reading.warnings == ()


def test_a_chart_with_too_many_values_gives_its_names_and_a_warning():
    slides = presentation("Measured")
    data = CategoryChartData()
    data.categories = range(1, 1001)
    data.add_series("force", range(1000))
    slides.slides[0].shapes.add_chart(T.LINE, 0, Inches(3), Inches(1), Inches(1), data).name = "Chart 4"

    reading = read(saved(slides))

    assert reading.contents[0].text == "## Measured\n\nforce"
    assert reading.warnings == ("1,000 rows of large charts were left out",)


def test_a_picture_in_the_place_of_the_title_and_merged_cells_are_read():
    slides = presentation("")
    shapes = slides.slides[0].shapes
    title = shapes.title._element
    shape = shapes.add_picture(picture(), 0, 0)
    shape._element.nvPicPr.nvPr.append(next(title.iter("{*}ph")))
    shape._element.nvPicPr.cNvPr.set("descr", "The logo")
    title.getparent().remove(title)
    table = shapes.add_table(2, 3, 0, Inches(3), Inches(4), Inches(1)).table
    for cell, text in zip(table.iter_cells(), "abcdef", strict=True):
        cell.text = text
    table.cell(0, 0).merge(table.cell(0, 1))
    malformed = shapes.add_textbox(0, Inches(5), Inches(1), Inches(1))
    malformed.text_frame.text = "out of place"
    next(malformed._element.iter("{*}off")).set("y", "top")

    reading = read(saved(slides))

    assert sorted(reading.contents[0].text.split("\n\n")) == [
        "The logo",
        "out of place",
        "| a b |  | c |\n| --- | --- | --- |\n| d | e | f |",
    ]
    assert reading.warnings == ()


def test_a_folder_with_such_presentations_is_indexed(tmp_path):
    slides = presentation("Trees")
    shapes = slides.slides[0].shapes
    shapes.add_picture(picture(), 0, Inches(3))._element.nvPicPr.cNvPr.set("descr", "A balanced tree")
    chart(shapes, "Depth")
    (tmp_path / "week1.pptx").write_bytes(saved(slides))

    with Index("memory:", embedder="hash") as index:
        report = index.add(tmp_path)
        (passage,) = index.search("balanced tree", top_k=1)

    assert not report.failed
    assert "A balanced tree" in passage.text
    assert "| a | 1 |" in passage.text
    assert passage.pages == (1, 1)


def test_a_shape_that_cannot_be_read_costs_a_warning_and_no_more():
    slides = presentation("One", "Two")
    shape = chart(slides.slides[1].shapes, "Lost")
    next(shape._element.iter("{*}chart")).attrib.clear()
    shape.name = "Chart 7"
    slides.slides[1].shapes.add_textbox(0, Inches(6), Inches(1), Inches(1)).text_frame.text = "kept"

    reading = read(saved(slides))

    assert reading.contents[0].text == "## One\n\n## Two\n\nkept"
    assert reading.warnings == ("1 part that can't be read was left out",)
