"""Columns, tables and what lies across them, in whatever order a file draws them."""

from __future__ import annotations

import random
from itertools import chain, zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from kinsplit.loaders.formats.pdf import read
from tests.loaders.formats.pages import HEIGHT, Text, block, page_of, put, text_of

WORDS = [
    "river",
    "stone",
    "heron",
    "winter",
    "the",
    "cloud",
    "paints",
    "a",
    "light",
    "boat",
    "over",
    "field",
    "and",
    "wind",
    "under",
    "paper",
    "ropes",
    "of",
    "spring",
]


def prose(seed: int, lines: int, width: int = 38) -> list[str]:
    """Return lines of sentences of about a width in characters."""
    chance = random.Random(seed)
    found = []
    for _ in range(lines):
        line = chance.choice(WORDS)
        while len(line) < width - 8:
            line += f" {chance.choice(WORDS)}"
        found.append(line)
    return [found[0].capitalize(), *found[1:-1], f"{found[-1]}."]


def interleaved(*columns: list[Text]) -> list[Text]:
    return [each for row in zip_longest(*columns) for each in row if each]


LEFT, RIGHT = prose(1, 12), prose(2, 12)


@pytest.mark.parametrize("order", ["in turn", "from the right", "by line", "any"])
def test_columns_are_read_one_after_the_other(order: str) -> None:
    left, right = block(50, 100, LEFT), block(320, 100, RIGHT)
    texts = {"in turn": left + right, "from the right": right + left, "by line": interleaved(left, right)}
    texts["any"] = random.Random(3).sample(left + right, len(left + right))

    assert list(filter(None, text_of(texts[order]).split("\n"))) == LEFT + RIGHT


def test_three_columns_that_end_at_different_heights() -> None:
    columns = [prose(4, 14, 26), prose(5, 12, 26), prose(6, 5, 26)]
    texts = [block(50 + 180 * number, 100, lines) for number, lines in enumerate(columns)]

    assert text_of(interleaved(*texts)).split() == " ".join(chain(*columns)).split()


def test_columns_whose_lines_are_not_at_the_same_height() -> None:
    assert text_of(block(320, 107, RIGHT), block(50, 100, LEFT)).split() == " ".join(LEFT + RIGHT).split()


@pytest.mark.parametrize("heading", ["Two", "A heading that goes across both of the columns of the page"])
def test_a_heading_across_columns_divides_them(heading: str) -> None:
    first, second = prose(7, 6), prose(8, 6)
    third, fourth = prose(9, 6), prose(10, 6)
    above = interleaved(block(50, 100, first), block(320, 100, second))
    below = interleaved(block(50, 240, third), block(320, 240, fourth))

    found = text_of(above, [(50, 200, heading)], below)

    assert found.split() == " ".join([*first, *second, heading, *third, *fourth]).split()


@pytest.mark.parametrize("left", [50, 320])
def test_a_larger_heading_stays_in_its_column(left: int) -> None:
    def draw(canvas: Canvas) -> None:
        put([(50, 30, "Lake Report"), (540, 30, "1")])(canvas)
        for column, lines in ((50, LEFT), (320, RIGHT)):
            put(block(column, 100, lines[:5]) + block(column, 196 if column == left else 160, lines[5:]))(canvas)
            if column == left:
                canvas.setFont("Helvetica-Bold", 16)
                put([(column, 178, "2. Food")])(canvas)
                canvas.setFont("Helvetica", 10)

    above, below = (LEFT[:5], LEFT[5:] + RIGHT) if left == 50 else (LEFT + RIGHT[:5], RIGHT[5:])
    expected = " ".join(["Lake Report 1", *above, "2. Food", *below])
    assert read(page_of(draw)).contents[0].text.split() == expected.split()


def test_a_title_a_caption_and_a_footnote_across_columns() -> None:
    title, caption = (
        "On the life of herons and the boats that pass them by",
        "Figure 1. The boats of the year, by month",
    )
    note = "1 This note goes across the whole page, below both of its columns, as notes often do in books."
    texts = interleaved(block(50, 100, LEFT), block(320, 100, RIGHT))

    found = text_of([(170, 60, title)], texts, [(200, 300, caption)], [(50, 700, note)])

    assert found.split() == " ".join([title, *LEFT, *RIGHT, caption, note]).split()


def test_lists_with_hanging_numbers_stay_as_they_are() -> None:
    items = [prose(number, 2, 60) for number in range(4)]
    texts = [
        each
        for number, lines in enumerate(items)
        for each in [(50, 100 + 30 * number, f"{number + 1}."), *block(75, 100 + 30 * number, lines)]
    ]

    assert text_of(texts).split("\n\n") == [f"{n}. {one}\n{two}" for n, (one, two) in enumerate(items, 1)]


TABLE = [["Region", "Q1", "Q2", "Q3"], ["North", "5", "", "7"], ["South", "", "6", "8"], ["East", "1", "2", "3"]]


def cells(rows: list[list[str]], *, step: float = 18, width: float = 100, by_column: bool = False) -> list[Text]:
    found = [
        (60 + width * column, 100 + step * row, text)
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
        if text
    ]
    return sorted(found) if by_column else found


@pytest.mark.parametrize("by_column", [False, True])
def test_the_cells_of_a_row_stand_on_one_line(by_column: bool) -> None:
    found = text_of(cells(TABLE, by_column=by_column))

    assert found.split("\n") == ["Region Q1 Q2 Q3", "North 5 7", "South 6 8", "East 1 2 3"]


def test_rows_of_words_that_are_drawn_by_column() -> None:
    rows = [["Bird", "Home", "Food"], ["Heron", "Lake", "Fish"], ["Gull", "Coast", "Crabs"], ["Owl", "Wood", "Mice"]]

    assert text_of(cells(rows, by_column=True)).split("\n") == [" ".join(row) for row in rows]


def test_figures_that_end_at_one_place() -> None:
    rows = [["Sales", "1,204", "980"], ["Costs", "87", "1,001,200"], ["Left", "(3)", "—"]]

    def draw(canvas: Canvas) -> None:
        for row, (name, *figures) in enumerate(rows):
            canvas.drawString(60, 700 - 14 * row, name)
            for column, figure in enumerate(figures):
                canvas.drawRightString(300 + 120 * column, 700 - 14 * row, figure)

    assert read(page_of(draw)).contents[0].text.split("\n") == [" ".join(row) for row in rows]


def test_cells_of_several_lines_are_one_row() -> None:
    rows = [
        [["Heron"], ["A grey bird that", "stands in shallow", "water for hours"], ["common"]],
        [["Night", "heron"], ["A smaller bird that", "feeds after dark"], ["rare in", "the north"]],
    ]
    texts = [
        each
        for row, in_row in enumerate(rows)
        for column, lines in enumerate(in_row)
        for each in block(60 + 130 * column, 100 + 50 * row, lines)
    ]

    assert [" ".join(line.split()) for line in text_of(texts).split("\n") if line] == [
        "Heron A grey bird that stands in shallow water for hours common",
        "Night heron A smaller bird that feeds after dark rare in the north",
    ]


@pytest.mark.parametrize("first", [[], [(345, 340, "Lecture on birds 4")]])
def test_the_boxes_of_a_picture_are_read_one_by_one_though_the_file_gives_the_footer_first(first: list[Text]) -> None:
    boxes = [*block(60, 200, ["SENSORY", "ORGANS"]), *block(330, 200, ["CENTRAL NERVOUS", "SYSTEM"])]
    below = [(80, 240, "eyes and ears"), (350, 240, "brain and cord"), (120, 300, "FOOD"), (360, 300, "FLIGHT")]

    assert text_of(first, boxes, below).split()[:5] == ["SENSORY", "ORGANS", "CENTRAL", "NERVOUS", "SYSTEM"]


def test_a_label_of_two_lines_beside_figures_in_its_middle() -> None:
    texts = [*block(60, 100, ["Distributions to", "other interests"]), (300, 106, "46"), (400, 106, "113")]
    rest = [(60, 140, "Buy-outs"), (300, 140, "11"), (400, 140, "34")]

    assert text_of(texts, rest).split() == [
        "Distributions",
        "to",
        "other",
        "interests",
        "46",
        "113",
        "Buy-outs",
        "11",
        "34",
    ]


def test_a_fraction_is_not_taken_apart_into_another_statement() -> None:
    texts = [(60, 100, "The mean is m ="), (150, 94, "a + b"), (160, 107, "2"), (190, 100, "for two values.")]

    assert "m = 2" not in text_of(texts)


def test_blocks_beside_each_other_are_not_mixed() -> None:
    bill = ["Bill to", "Anna Meier", "12 Main Street", "Dover"]
    ship = ["Ship to", "Robert Ray", "4 Side Street", "Calais"]

    assert text_of(block(60, 100, bill), block(330, 100, ship)).split() == " ".join(bill + ship).split()


def test_text_on_its_side_stands_apart_at_the_end() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.saveState()
        canvas.rotate(90)
        canvas.drawString(200, -30, "sideways label")
        canvas.restoreState()
        put(block(60, 100, LEFT))(canvas)
        canvas.saveState()
        canvas.translate(300, 400)
        canvas.rotate(45)
        canvas.drawString(0, 0, "DRAFT")
        canvas.restoreState()
        put(block(60, 244, RIGHT))(canvas)

    found = read(page_of(draw)).contents[0].text

    assert found.split("\n\n")[0].split("\n") == LEFT + RIGHT
    assert sorted(found.split("\n\n")[1].split("\n")) == ["DRAFT", "sideways label"]


def test_a_shadow_is_read_once() -> None:
    assert text_of([(60, 100, "Shade"), (60.8, 100.8, "Shade"), (60, 140, "Shade")]) == "Shade\n\nShade"


def test_what_is_drawn_last_stands_where_it_is_shown() -> None:
    assert text_of(block(60, 300, LEFT), [(60, 100, "Top.")]).split() == ["Top.", *" ".join(LEFT).split()]


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(st.from_regex(r"[1-9][0-9]{0,3}", fullmatch=True), min_size=4, max_size=4), min_size=3, max_size=9
    ),
    st.sampled_from([11, 14, 20]),
    st.booleans(),
    st.booleans(),
)
def test_any_table_of_figures(figures: list[list[str]], step: float, by_column: bool, to_the_right: bool) -> None:
    rows = [[f"Row{chr(65 + number)}", *row] for number, row in enumerate(figures)]

    def draw(canvas: Canvas) -> None:
        for left, down, text in cells(rows, step=step, by_column=by_column):
            (canvas.drawRightString if to_the_right else canvas.drawString)(left, HEIGHT - down, text)

    assert read(page_of(draw)).contents[0].text.split("\n") == [" ".join(row) for row in rows]


@settings(max_examples=25)
@given(st.lists(st.integers(4, 30), min_size=2, max_size=3), st.randoms(use_true_random=False), st.sampled_from("tls"))
def test_any_columns_of_prose(counts: list[int], chance: random.Random, order: str) -> None:
    width = 74 // len(counts)
    columns = [prose(chance.randrange(1000), count, width) for count in counts]
    texts = [block(40 + 540 / len(counts) * number, 100, lines) for number, lines in enumerate(columns)]
    drawn = {"t": [*chain(*texts)], "l": interleaved(*texts), "s": chance.sample([*chain(*texts)], sum(counts))}[order]

    assert text_of(drawn).split() == " ".join(chain(*columns)).split()


def test_vertical_lines_are_read_from_right_to_left() -> None:
    def draw(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3", isVertical=True))
        canvas.setFont("HeiseiMin-W3", 14)
        put([(500, 100, "日本語の縦書き文章。"), (480, 100, "二行目の文章です。")])(canvas)

    assert read(page_of(draw)).contents[0].text == "日本語の縦書き文章。\n二行目の文章です。"
