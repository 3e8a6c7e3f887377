from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.markup.writer import MarkdownWriter

Script = Callable[[MarkdownWriter, str], None]
SUP, SUB, MARK = MarkdownWriter.superscript, MarkdownWriter.subscript, MarkdownWriter.mark


def line(*parts: str | tuple[Script, str]) -> str:
    writer = MarkdownWriter()
    for part in parts:
        if isinstance(part, str):
            writer.text(part)
        else:
            part[0](writer, part[1])
    return writer.finish()


def table(*rows: list[str | tuple[str, int, int]]) -> str:
    writer = MarkdownWriter()
    fill(writer, rows)
    return writer.finish()


def fill(writer: MarkdownWriter, rows: tuple[list[str | tuple[str, int, int]], ...]) -> None:
    writer.start_table()
    for row in rows:
        writer.start_row()
        for cell in row:
            text, columns, lines = (cell, 1, 1) if isinstance(cell, str) else cell
            writer.start_cell(columns, lines)
            writer.text(text)
    writer.end_table()


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("10", (SUP, "5"), " ohms"), "10^5 ohms"),
        (("10", (SUP, "-3"), " m"), "10^-3 m"),
        (("10", (SUP, "\u22123")), "10^\u22123"),
        (("10", (SUP, "5"), "3"), "10^(5)3"),
        (("x", (SUP, "n+1"), "."), "x^(n+1)."),
        (("2", (SUP, "0.5")), "2^0.5"),
        (("5 m", (SUP, "2"), " and 9 inches", (SUP, "2")), "5 m^2 and 9 inches^2"),
        (("(a+b)", (SUP, "2")), "(a+b)^2"),
        (("See note", (SUP, "12"), " and that.", (SUP, "3, 4")), "See note[12] and that.[3, 4]"),
        (("Costs 25", (SUP, "1"), " euros or 12,500", (SUP, "2")), "Costs 25[1] euros or 12,500[2]"),
        (("25%", (SUP, "2"), " and 漢字", (SUP, "3")), "25%[2] and 漢字[3]"),
        (((SUP, "1"), " Smith, 1999"), "[1] Smith, 1999"),
        (("Sales", (SUP, "(1)"), " of 25", (SUP, "(2)"), " x", (SUP, "(3)")), "Sales(1) of 25(2) x^(3)"),
        (("Table", (SUP, "a"), " 25%", (SUP, "b"), " 10", (SUP, "n"), " n", (SUP, "o")), "Table[a] 25%[b] 10^n n^o"),
        (("2", (SUP, "1"), "/", (SUB, "2"), " or ", (SUP, "3"), "\u2044", (SUB, "4")), "2 1/2 or 3\u20444"),
        (("10", (SUP, "6"), "/L, m", (SUP, "2"), "/s"), "10^6/L, m^2/s"),
        (("the 1", (SUP, "st"), " and 22", (SUP, "nd"), " floor"), "the 1st and 22nd floor"),
        (("Kite", (SUP, "®"), " is best", (SUP, "*")), "Kite® is best*"),
        (("some ", (SUP, "14"), "C is left"), "some ^14C is left"),
        (("water is H", (SUB, "2"), "O"), "water is H2O"),
        (("SO", (SUB, "4"), (SUP, "2-")), "SO4^2-"),
        (("x", (SUB, "i"), (SUP, "2")), "x_i^2"),
        (("v", (SUB, "max"), " and log", (SUB, "10"), "100"), "v_max and log_(10)100"),
        (("1010", (SUB, "2"), " is ten"), "1010_2 is ten"),
        (("word", (MARK, "1"), " and", (MARK, "[2]")), "word[1] and[2]"),
        (("1", (SUP, " "), "2"), "1 2"),
        (("10", (SUP, "1"), (SUP, "2"), " of x", (SUB, "a"), (SUB, "b")), "10^12 of x_ab"),
    ],
)
def test_scripts_never_join_the_number_beside_them(parts, text):
    assert line(*parts) == text


@given(
    st.from_regex(r"[0-9]{1,4}", fullmatch=True),
    st.from_regex(r"[0-9]{1,3}", fullmatch=True),
    st.sampled_from([SUP, SUB, MARK]),
)
def test_two_numbers_stay_two(base, script, kind):
    assert base + script not in line(base, (kind, script), " end")
    assert script + base not in line((kind, script), base) or kind is SUB


@pytest.mark.parametrize(
    ("style", "numbers"),
    [
        ("1", ["0", "1", "27"]),
        ("a", ["0", "a", "aa"]),
        ("A", ["0", "A", "AA"]),
        ("i", ["0", "i", "xxvii"]),
        ("I", ["0", "I", "XXVII"]),
    ],
)
def test_items_have_the_numbers_that_are_shown(style, numbers):
    writer = MarkdownWriter()
    writer.start_list(ordered=True, start=0, style=style)
    for value in (None, None, 27):
        writer.start_item(value)
        writer.text("item")
    writer.end_list()

    assert writer.finish() == "\n".join(f"{number}. item" for number in numbers)


def test_a_label_stands_as_it_is_shown():
    writer = MarkdownWriter()
    writer.start_heading(2, "2.1.1")
    writer.text("Deputies")
    writer.end_heading()
    writer.start_list(ordered=True)
    writer.start_item(label="(a)")
    writer.text("one")
    writer.line_break()
    writer.text("more")

    assert writer.finish() == "## 2.1.1 Deputies\n\n(a) one\n    more"


def test_a_merged_cell_stands_once_and_moves_no_other():
    text = table(["Region", "Quarter", "Sales"], [("North", 1, 2), "Q1", "100"], ["Q2", "140"], ["South", "Q1", "90"])

    assert text == (
        "| Region | Quarter | Sales |\n| --- | --- | --- |\n| North | Q1 | 100 |\n|  | Q2 | 140 |\n| South | Q1 | 90 |"
    )


SPANS = st.lists(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=4), min_size=2, max_size=5
)


def grid(spans: list[list[tuple[int, int]]]) -> dict[tuple[int, int], str]:
    """Return the places of cells by the algorithm of the HTML standard."""
    taken: set[tuple[int, int]] = set()
    places = {}
    for row, cells in enumerate(spans):
        column = 0
        for number, (columns, rows) in enumerate(cells):
            while (row, column) in taken:
                column += 1
            places[row, column] = f"v{row}.{number}"
            taken |= {(row + down, column + right) for down in range(rows) for right in range(columns)}
            column += columns
    return places


@given(SPANS)
def test_merged_cells_are_placed_as_in_the_html_standard(spans):
    rows = [[(f"v{row}.{at}", *span) for at, span in enumerate(cells)] for row, cells in enumerate(spans)]
    places = grid(spans)
    columns = sorted({column for _, column in places})
    written = [
        [cell.strip() for cell in text.strip("|").split("|")] for text in table(*rows).split("\n") if "---" not in text
    ]

    if len(columns) > 1:
        expected = [[places.get((row, column), "") for column in columns] for row in range(len(spans))]
        assert [row + [""] * (len(columns) - len(row)) for row in written] == expected


def test_a_table_in_a_cell_leaves_the_outer_row_whole():
    writer = MarkdownWriter()
    writer.start_table()
    for name, inner, note in (("Kite 6", [["span", "2 m"], ["mass", "3 kg"]], "heavy"), ("Kite 7", [], "light")):
        writer.start_row()
        writer.start_cell()
        writer.text(name)
        writer.start_cell()
        if inner:
            writer.text("Facts")
            fill(writer, tuple(inner))
        writer.start_cell()
        writer.text(note)
    writer.end_table()

    assert writer.finish() == (
        "| Kite 6 | Facts span 2 m; mass 3 kg | heavy |\n| --- | --- | --- |\n| Kite 7 |  | light |"
    )


def test_a_row_with_code_divides_a_table_and_the_rest_keeps_its_header():
    writer = MarkdownWriter()
    writer.start_table()
    for name, value in (("Name", "Use"), ("a", "1"), ("b", "x =\n  1"), ("c", "3")):
        writer.start_row()
        writer.start_cell()
        writer.text(name)
        writer.start_cell()
        if "\n" in value:
            writer.start_pre("")
        writer.text(value)
    writer.end_table()

    assert writer.finish() == (
        "| Name | Use |\n| --- | --- |\n| a | 1 |\n\nb\n\n```\nx =\n  1\n```\n\n"
        "| Name | Use |\n| --- | --- |\n| c | 3 |"
    )


def test_items_in_a_cell_keep_their_numbers():
    writer = MarkdownWriter()
    writer.start_table()
    for ordered in (True, False):
        writer.start_row()
        writer.start_cell()
        writer.start_list(ordered=ordered)
        for item in ("one", "two"):
            writer.start_item()
            writer.text(item)
        writer.end_list()
        writer.start_cell()
        writer.text("x")
    writer.end_table()

    assert writer.finish() == "| 1. one 2. two | x |\n| --- | --- |\n| one; two | x |"


def test_spaces_that_carry_meaning_stay():
    assert line("1\u202f000 \u2009m\u3000次\n\t \u00a0x") == "1\u202f000 \u2009m\u3000次 x"


def test_hostile_tables_stay_small():
    deep = MarkdownWriter()
    for _ in range(3_000):
        deep.start_table()
        deep.start_row()
        deep.start_cell()
        deep.text("word")
    wide = MarkdownWriter()
    wide.start_table()
    for row in range(4_000):
        wide.start_row()
        for _ in range(1 if row else 1_000):
            wide.start_cell(1_000, 65_534)
            wide.text("x")

    assert deep.finish().count("word") == 3_000
    assert len(wide.finish()) < 100_000
