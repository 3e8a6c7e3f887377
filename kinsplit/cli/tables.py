"""The two kinds of tables: rows of text, and figures with their names."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text


def listing(*headings: str) -> Table:
    """Return an empty table of texts, which fold in a narrow terminal; the first column names the row."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    table.columns[0].style = "cyan"
    table.columns[0].no_wrap = True
    return table


def figures(rows: list[tuple[str, str, str]]) -> Table:
    """Return figures below each other.

    Args:
        rows: Name, figure, and a remark or nothing.
    """
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
    """Return how many there were in a second, with two digits where it is few."""
    per_second = number / seconds if seconds > 0 else 0.0
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.1f}"
