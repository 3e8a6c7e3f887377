"""Tables, and numbers in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from kinsplit.errors import inline

_GAP = 2
#: Minimum width of the name column in cells.
_NAME = 14


def blocks(headings: Sequence[str], rows: Sequence[Sequence[Text]], width: int) -> list[Table]:
    """Return one or more tables that show all columns in a given width in cells; figures are never folded.

    The first column names the row and is repeated in each table.
    """
    needed = [max(map(cell_len, (heading, *(row[n].plain for row in rows)))) for n, heading in enumerate(headings)]
    name = min(needed[0], max(_NAME, width // 3))
    groups: list[list[int]] = [[]]
    used = name
    for column in range(1, len(headings)):
        if groups[-1] and used + _GAP + needed[column] > width:
            groups.append([])
            used = name
        groups[-1].append(column)
        used += _GAP + needed[column]
    return [_block(headings, rows, columns, name) for columns in groups]


def _block(headings: Sequence[str], rows: Sequence[Sequence[Text]], columns: Sequence[int], name: int) -> Table:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(headings[0], style="cyan", overflow="fold", max_width=name)
    for column in columns:
        table.add_column(Text(inline(headings[column])), justify="right", overflow="fold")
    for row in rows:
        table.add_row(row[0], *(row[column] for column in columns))
    return table


def text_table(*headings: str, rows: Iterable[Sequence[str]] = (), right: slice | None = None) -> Table:
    """Return a table whose texts fold in a narrow terminal, and whose first column names the row.

    `right` is the columns to align at the right.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    table.columns[0].style = "cyan"
    table.columns[0].no_wrap = True
    for column in () if right is None else table.columns[right]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row)
    return table


def figures(rows: list[tuple[str, str, str]]) -> Table:
    """Return a table of figures from the name, figure and remark of each row; a remark may be empty."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim", overflow="fold")
    for name, figure, remark in rows:
        table.add_row(name, Text(figure, "bold" if figure != "0" else "dim"), remark)
    return table


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 chunk`, `1,200 chunks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rate(number: int, seconds: float) -> str:
    """Return a number per second, with a decimal below 10."""
    per_second = number / seconds if seconds > 0 else 0.0
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.1f}"
