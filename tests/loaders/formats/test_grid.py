from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.markup.grid import Value, in_columns


def rows_of(*rows: list[tuple[int, int, str]]) -> list[list[str]] | None:
    return in_columns([[Value(*value) for value in row] for row in rows])


def test_signs_in_cells_of_their_own_belong_to_their_number_below_its_header():
    rows = rows_of(
        [(1, 3, "2011"), (4, 3, "2010")],
        [(0, 1, "Profit"), (1, 1, "$"), (2, 1, "148,568"), (4, 1, "$"), (5, 1, "(1,141"), (6, 1, ")")],
        [(0, 1, "Other"), (2, 1, "—"), (5, 1, "204")],
        [(0, 1, "Rate"), (2, 1, "2.5"), (3, 1, "%"), (5, 1, "3")],
    )

    assert rows == [
        ["", "2011", "2010"],
        ["Profit", "$148,568", "$(1,141)"],
        ["Other", "—", "204"],
        ["Rate", "2.5%", "3"],
    ]


def test_signs_without_a_merged_header_belong_to_their_number_too():
    rows = rows_of(
        [(0, 1, "Profit"), (2, 1, "2011"), (4, 1, "Share")],
        [(0, 1, "North"), (1, 1, "$"), (2, 1, "(5"), (3, 1, ")"), (4, 1, "7"), (5, 1, "%")],
    )

    assert rows == [["Profit", "2011", "Share"], ["North", "$(5)", "7%"]]


def test_values_below_a_merged_header_stay_apart():
    rows = [
        [(0, 2, "Sales"), (2, 2, "Costs")],
        [(0, 1, "high"), (1, 1, "low"), (2, 1, "$"), (3, 1, "5")],
        [(1, 1, "3"), (3, 1, "6")],
    ]

    assert rows_of(*rows) == [["Sales", "", "Costs"], ["high", "low", "$5"], ["", "3", "6"]]


def test_without_a_sign_every_column_stays():
    rows = [[(0, 1, "a"), (1, 2, "b")], [(0, 2, "c"), (2, 1, "1")], [(0, 1, "%"), (2, 1, "$")]]

    assert rows_of(*rows) == [["a", "b"], ["c", "", "1"], ["%", "", "$"]]


TEXTS = st.sampled_from(["$", ")", "%", "(5", "12", "—", "word", "2011", "[1]", "("])
ROWS = st.lists(st.lists(st.tuples(st.integers(1, 3), TEXTS), max_size=6), min_size=1, max_size=6)


@given(ROWS)
def test_no_two_values_become_one_and_none_is_lost(widths):
    rows = []
    for cells in widths:
        starts = [sum(width for width, _ in cells[:at]) for at in range(len(cells))]
        rows.append([Value(start, width, text) for start, (width, text) in zip(starts, cells, strict=True)])
    lines = in_columns(rows) or []

    assert ["".join(line) for line in lines] == ["".join(value.text for value in row) for row in rows]
    assert not any("12" in cell and "word" in cell for line in lines for cell in line)


def test_a_table_of_hardly_any_value_is_none():
    assert rows_of(*([(column, 1, "x")] for column in range(2_000))) is None
