"""Tables of figures that are wider than the terminal, as several below each other: figures are never folded."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from kinsplit.display import inline

_GAP = 2
#: The name column never gets narrower than this, in cells.
_NAME = 14


def blocks(headings: Sequence[str], rows: Sequence[Sequence[Text]], width: int) -> list[Table]:
    """Return tables that show all columns.

    Args:
        headings: Of the columns, the first of which names the row and is repeated in each table.
        rows: The cells of each row.
        width: Of the terminal, in cells.
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
