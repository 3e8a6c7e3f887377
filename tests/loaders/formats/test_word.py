from __future__ import annotations

import io
import zipfile

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.word import read
from tests.loaders.office import changed, document, saved


def test_headings_lists_and_tables_come_in_order():
    made = document()
    made.add_heading("Syllabus", 0)
    made.add_heading("Grading", 1)
    made.add_paragraph("Problem sets count most.")
    made.add_paragraph("Quizzes", style="List Bullet")
    made.add_paragraph("Final exam", style="List Bullet")
    table = made.add_table(2, 2)
    for number, text in enumerate(("part", "weight", "quiz", "40 %")):
        table.cell(number // 2, number % 2).text = text
    made.add_paragraph("# not a heading")
    made.sections[0].header.paragraphs[0].text = "6.0001, fall term"
    made.core_properties.title = "The syllabus"

    content = read(saved(made)).contents[0]

    assert content.text == (
        "6.0001, fall term\n\n# Syllabus\n\n# Grading\n\nProblem sets count most.\n\n- Quizzes\n- Final exam\n\n"
        "| part | weight |\n| --- | --- |\n| quiz | 40 % |\n\n\\# not a heading"
    )
    assert content.title == "The syllabus"


def test_the_title_is_the_first_heading_where_the_properties_have_none():
    made = document()
    made.core_properties.title = ""
    made.add_heading("Recursion", 1)

    assert read(saved(made)).contents[0].title == "Recursion"


_MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def test_equations_fields_and_text_of_another_direction_are_kept():
    made = document()
    made.add_paragraph("See ")
    data = saved(made)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        body = archive.read("word/document.xml").decode()
    equation = f'<m:oMath xmlns:m="{_MATH}"><m:r><m:t>x=1</m:t></m:r></m:oMath>'
    run = "<w:r><w:t>{}</w:t></w:r>".format
    more = (
        f'<w:fldSimple w:instr=" REF f "><w:bdo w:val="rtl">{run("Figure 1")}</w:bdo></w:fldSimple>'
        f'{run(": ")}{equation}<m:oMathPara xmlns:m="{_MATH}"><m:oMathParaPr/>{equation}</m:oMathPara></w:p>'
    )

    reading = read(changed(data, {"word/document.xml": body.replace("</w:p>", more, 1)}))

    assert reading.contents[0].text == "See Figure 1: x=1\nx=1"


@pytest.mark.parametrize("name", ["w:fldSimple", "m:e", "w:x"])
def test_content_nested_without_end_is_one_error(name):
    deep = (
        f'<w:fldSimple w:instr=""/><m:oMath xmlns:m="{_MATH}">{f"<{name}>" * 50_000}{f"</{name}>" * 50_000}</m:oMath>'
    )
    data = saved(document())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        body = archive.read("word/document.xml").decode()

    with pytest.raises(UnreadableError, match="nests its content too deeply"):
        read(changed(data, {"word/document.xml": body.replace("<w:body>", f"<w:body>{deep}")}))
