"""Running headers and footers, paragraphs, and sentences that run over pages."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import closing

import pypdfium2
import pytest
from reportlab.pdfgen import canvas
from reportlab.pdfgen.canvas import Canvas

from kinsplit.loaders.formats.pdf import read
from kinsplit.parsers.units.sentences import sentences
from tests.loaders.formats.pages import page_of, put

Line = tuple[float, str] | tuple[float, str, float]


def text_of(*pages: list[Line]) -> str:
    return read(drawn(*pages)).contents[0].text


def drawn(*pages: list[Line]) -> bytes:
    """Return a PDF with lines at heights from the bottom, in points of 800, and a size where it isn't 10."""
    target = io.BytesIO()
    sheet = canvas.Canvas(target, pagesize=(600, 800))
    for lines in pages:
        for y, text, *size in lines:
            sheet.setFont("Helvetica", *size or [10])
            sheet.drawString(72, y, text)
        sheet.showPage()
    sheet.save()
    return target.getvalue()


def test_headers_and_page_numbers_are_left_out_and_the_header_stays_once():
    text = text_of(
        *[[(770, "Course 6.0001"), (500, f"Topic {chr(65 + n)}."), (20, f"Page {n} of 9")] for n in range(9)]
    )

    assert text == "Course 6.0001\n\n" + "\n\n".join(f"Topic {chr(65 + n)}." for n in range(9))


def test_a_footer_that_is_broken_in_two_on_some_pages_goes_too():
    pages: list[list[Line]] = [[(500, f"Topic {chr(65 + n)}."), (20, f"Lecture 1 {n + 4}")] for n in range(6)]
    pages[3] = [(500, "Topic D."), (26, "7"), (20, "Lecture 1")]

    assert text_of(*pages) == "\n\n".join(f"Topic {letter}." for letter in "ABCDEF")


def test_chapter_titles_over_a_stretch_of_pages_are_left_out():
    titles = ["Alpha"] * 9 + ["Beta"] * 9 + ["Gamma"]
    text = text_of(*[[(770, title), (500, f"Body {chr(65 + n)}.")] for n, title in enumerate(titles)])

    assert [text.count(title) for title in ("Alpha", "Beta", "Gamma")] == [1, 1, 1]


def test_a_page_number_below_text_of_any_length_is_left_out():
    text = text_of(*[[(600, f"Body {chr(65 + n)}."), (300 + 20 * n, str(n + 31))] for n in range(6)])

    assert text == "\n\n".join(f"Body {letter}." for letter in "ABCDEF")


def test_lines_that_only_look_like_it_stay():
    problems: list[list[Line]] = [[(770, f"Problem {n * n + 1}"), (500, f"Do {chr(65 + n)}.")] for n in range(6)]
    titles: list[list[Line]] = [[(770, "EXAMPLE", 30), (500, f"Case {chr(65 + n)}."), (470, "More.")] for n in range(6)]
    body: list[list[Line]] = [[(500, "Answer:"), (450 - 20 * n, f"It is {chr(65 + n)}.")] for n in range(6)]
    few: list[list[Line]] = [[(770, "Notes"), (500, "One.")], [(770, "Notes"), (500, "Two.")]]
    nothing_else: list[list[Line]] = [[(770, f"Sheet {n}")] for n in range(6)]

    assert all(f"Problem {n * n + 1}" in text_of(*problems) for n in range(6))
    assert text_of(*titles).count("EXAMPLE") == 6
    assert text_of(*body).count("Answer:") == 6
    assert text_of(*few).count("Notes") == 2
    assert all(f"Sheet {n}" in text_of(*nothing_else) for n in range(6))


@pytest.mark.parametrize(
    "title", ["Question {}", "Q{}", "{}.", "{}) Rivers", "Question {} of 6", "Aufgabe Nr {}", "第{}問"]
)
def test_a_numbered_title_at_the_top_of_each_page_stays(title: str) -> None:
    found = text_of(*[[(780, title.format(n + 1)), (700, f"Do {chr(65 + n)}.")] for n in range(6)])

    if title.isascii():  # the font has no others
        assert all(title.format(n + 1) in found for n in range(6))


@pytest.mark.parametrize(
    "header", ["Page {}", "{}", "- {} -", "p. {}", "A-{}", "Rivers | {}", "Report 2024 {}", "Seite {}/6"]
)
def test_a_page_number_at_the_top_goes(header: str) -> None:
    found = text_of(*[[(780, header.format(n + 1)), (700, f"Do {chr(65 + n)}.")] for n in range(6)])

    assert found == "\n\n".join(f"Do {letter}." for letter in "ABCDEF")


def test_a_page_number_apart_from_a_title_at_the_top_goes() -> None:
    def draw(number: int) -> Callable[[Canvas], None]:
        return put([(72, 20, "Rivers"), (500, 20, str(number)), (72, 100, f"Do {chr(64 + number)}.")])

    found = read(page_of(*map(draw, range(1, 7)))).contents[0].text

    assert found == "\n\n".join(f"Do {letter}." for letter in "ABCDEF")


def test_paragraphs_and_headings_stand_apart():
    text = text_of(
        [
            *((700, "Grading", 16), (676, "Problem sets count"), (664, "for most of the grade."), (652, "So do them.")),
            *((628, "The final exam"), (616, "counts for the rest.")),
        ]
    )

    assert (
        text
        == "Grading\n\nProblem sets count\nfor most of the grade.\nSo do them.\n\nThe final exam\ncounts for the rest."
    )
    assert text[: sentences(text).ends[0]] == "Grading"


def test_a_sentence_is_seen_through_lines_figures_and_pages():
    first: list[Line] = [
        (500, "Merge sort halves a list,"),
        (488, "sorts both halves and"),
        (440, "merges them in linear"),
    ]
    data = drawn(
        [*first, (20, "1")], [(700, "time. Then it ends."), (20, "2")], [(700, "Quick sort differs."), (20, "3")]
    )
    content = read(data).contents[0]

    assert content.text == (
        "Merge sort halves a list,\nsorts both halves and\nmerges them in linear\n"
        "time. Then it ends.\n\nQuick sort differs."
    )
    assert [content.text[at : at + 5] for at in content.pages] == ["Merge", "time.", "Quick"]
    assert content.text[: sentences(content.text).ends[0]].endswith("in linear\ntime.")


def test_no_break_spaces_become_spaces():
    assert text_of([(500, "the\u00a0starting salary")]) == "the starting salary"


def turned(rotation: int, *, upright: bool, crop: tuple[int, int, int, int] | None = None) -> bytes:
    """Return a PDF of four pages that are shown with a rotation, with their text upright or on its side."""
    made = io.BytesIO()
    sheet = canvas.Canvas(made, pagesize=(600, 800) if rotation % 180 == 0 or not upright else (800, 600))
    for page in range(1, 5):
        if upright:
            sheet.translate(*{0: (0, 0), 90: (800, 0), 180: (600, 800), 270: (0, 600)}[rotation])
            sheet.rotate(rotation)
        for place, text in ((760, "The course"), (40, f"Page {page}")):
            sheet.drawString(72, place, text)
        for line in range(3):
            sheet.drawString(72, 600 - 15 * line, f"What is repeated in line {line}.")
            sheet.drawString(72, 500 - 15 * line, f"This is line {line} of {page}.")
        sheet.showPage()
    sheet.save()
    with closing(pypdfium2.PdfDocument(made.getvalue())) as document:
        for page in document:
            page.set_rotation(rotation)
            if crop:
                page.set_cropbox(*crop)
            page.close()
        saved = io.BytesIO()
        document.save(saved)
    return saved.getvalue()


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_rotated_page_is_read_as_it_is_shown(rotation):
    straight = read(turned(0, upright=True)).contents[0].text

    assert straight.count("repeated") == 12
    assert straight.count("The course") == 1
    assert "Page" not in straight
    assert read(turned(rotation, upright=True)).contents[0].text == straight


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_of_text_on_its_side_nothing_is_left_out(rotation):
    text = read(turned(rotation, upright=False)).contents[0].text

    assert text.count("repeated") == 12
    assert text.count("The course") == 4


def test_a_crop_moves_the_margins():
    # Cut down to where the paragraphs are: what is repeated now stands in the upper margin.
    text = read(turned(0, upright=True, crop=(0, 450, 600, 620))).contents[0].text

    assert text.count("repeated in line 0") == 1
    assert text.count("This is line 0") == 4
