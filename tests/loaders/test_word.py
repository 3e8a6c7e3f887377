from __future__ import annotations

import docx

from kinsplit.loaders.word import read

from .office import saved


def test_headings_lists_and_tables_come_in_order():
    made = docx.Document()
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
        "# Syllabus\n\n# Grading\n\nProblem sets count most.\n\n- Quizzes\n- Final exam\n\n"
        "| part | weight |\n| --- | --- |\n| quiz | 40 % |\n\n\\# not a heading"
    )
    assert content.title == "The syllabus"


def test_the_title_is_the_first_heading_where_the_properties_have_none():
    made = docx.Document()
    made.core_properties.title = ""
    made.add_heading("Recursion", 1)

    assert read(saved(made)).contents[0].title == "Recursion"
