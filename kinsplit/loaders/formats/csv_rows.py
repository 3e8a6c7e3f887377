"""Tables of separated values (`.csv`, `.tsv`) as Markdown pipe tables of a few rows each, with the header repeated.

So a chunk of any strategy rarely holds rows without their header. The first row is the header. Empty rows and columns
are dropped, and line breaks in cells become spaces. The separator of `.csv` is whichever of comma, semicolon, tab and
bar divides the first rows most evenly.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.formats.markdown import pipe_table, without_blanks

_SEPARATORS = ",;\t|"
_LOOKED_AT = 20  # rows from which the separator is inferred
_GROUP = 1000  # code points of rows after which the header is repeated
_LONGEST_CELL = 2**24


def read(data: bytes, separators: str = _SEPARATORS) -> Reading:
    """Return the rows of a table, whose cells are separated by one of the characters."""
    text, warnings = decode(data)
    csv.field_size_limit(_LONGEST_CELL)
    try:
        separator = max(separators, key=lambda separator: _evenness(text, separator))
        rows = [[" ".join(cell.split()) for cell in row] for row in _rows(text, separator)]
    except csv.Error as error:
        raise UnreadableError(f"is not a table of separated values: {error}. Save it again as CSV.") from error
    return Reading((Content("\n\n".join(row_groups(rows))),), warnings)


def row_groups(rows: Iterable[list[str]]) -> Iterator[str]:
    """Yield pipe tables of some rows each, all with the first row as their header."""
    header, *body = without_blanks(list(rows)) or [[]]
    width = max(map(len, (header, *body)))
    if width and not body:
        yield pipe_table([header])
    header = header + [""] * (width - len(header))
    group: list[list[str]] = []
    size = 0
    for row in body:
        length = sum(map(len, row)) + 3 * len(row)
        if group and size + length > _GROUP:
            yield pipe_table([header, *group])
            group, size = [], 0
        group.append(row)
        size += length
    if group:
        yield pipe_table([header, *group])


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)


def _evenness(text: str, separator: str) -> tuple[int, int]:
    """Return how many of the first rows have the same number of cells, beyond one, and this number."""
    widths = Counter(len(row) for row in itertools.islice(_rows(text, separator), _LOOKED_AT) if row)
    width, count = max(widths.items(), key=lambda item: (item[0] > 1, item[1]), default=(0, 0))
    return (count, width) if width > 1 else (0, 0)


_TEXT = "pipe tables of a few rows each, with the header repeated"
CSV = Format("table", (".csv",), _TEXT, read)
TSV = Format("table", (".tsv", ".tab"), _TEXT, partial(read, separators="\t"))
