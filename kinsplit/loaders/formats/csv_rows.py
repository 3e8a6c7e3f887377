"""Tables of separated values (`.csv`, `.tsv`) as Markdown pipe tables of a few rows each, with the header repeated.

So a chunk of any strategy rarely holds rows without their header. The header is the first row, unless lines above the
table don't have its cells: these become paragraphs. A table whose first row has numbers where the other rows have them,
too, has no header, and empty column names. Empty rows and columns are dropped, and line breaks in cells become spaces.

The separator of `.csv` is the one that a first line such as `sep=;` names, or else whichever of tab, semicolon, bar and
comma divides the first rows most evenly. A quotation mark that opens a cell and is never closed, or closed only after
lines that are whole rows themselves, is a character like any other, and counted in a warning.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.markup.markdown import escaped, pipe_table, without_blanks

_SEPARATORS = "\t;|,"  # Where several divide rows evenly, the first: decimals and thousands have commas.
_NONE = "\x1f"  # separates units, and is in no text
_LOOKED_AT = 100  # rows from which the separator is inferred
_COMPARED = 1000  # rows from which the width of the table and the types of its columns are inferred
_GROUP = 1000  # code points of rows after which the header is repeated
_LONGEST_CELL = 2**24
_NAMED = re.compile(r'"?sep=([^\r\n])"?[ \t]*(?:\r\n|\n|\r|\Z)', re.IGNORECASE)
_QUOTED = re.compile(r' *"')
_BACKSLASHED = re.compile(r'(?<!\\)\\"')
_SWALLOWED = 8  # cells beyond the first ones of the lines between two quotation marks that are rows, not one cell
_NUMBER = re.compile(r"[-+(]?[^\w\s]?\d[\d.,:/\s-]*[%)]?")
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")


class _Rows(NamedTuple):
    """The rows of a table, and the lines whose quotation mark is a character like any other."""

    cells: list[list[str]]
    stray: list[int]


def read(data: bytes, separators: str = _SEPARATORS) -> Reading:
    """Return the rows of a table, whose cells are separated by one of the characters."""
    text, decisions = decode(data)
    warnings = [*decisions]
    csv.field_size_limit(_LONGEST_CELL)
    named = _NAMED.match(text)
    text = text[named.end() :] if named else text
    try:
        separator = named[1] if named else _separator(text, separators)
        rows, stray = _sound_rows(text, separator) or _rows(text, separator)
    except csv.Error as error:
        raise UnreadableError(f"is not a table of separated values: {error}. Save it again as CSV.") from error
    if stray:
        number = "1 quotation mark is" if len(stray) == 1 else f"{len(stray):,} quotation marks are"
        warnings.append(f"{number} never closed, and read as text (line {stray[0] + 1 + bool(named):,})")
    cells = [[cell if cell.isalnum() else " ".join(cell.split()) for cell in row] for row in rows]
    above, table = parted(cells)
    blocks = [escaped(" ".join(filter(None, row))) for row in above]
    longer = 0
    for part in _parts(table):
        headless = is_headless(part)
        blocks += row_groups(part, headless=headless)
        width = len(part[0])
        longer += 0 if headless else sum(len(row) > width and any(row[width:]) for row in part)
    if longer:
        warnings.append(f"{longer:,} row{'s have' if longer > 1 else ' has'} more cells than the header")
    return Reading((Content("\n\n".join(blocks)),), tuple(warnings))


def row_groups(rows: Iterable[list[str]], *, headless: bool = False) -> Iterator[str]:
    """Yield pipe tables of some rows each, all with the first row as their header, or with empty column names."""
    body = without_blanks(list(rows)) or [[]]
    header = [""] * max(map(len, body)) if headless else body.pop(0)
    if any(header) and not body:
        yield pipe_table([header])
    # As long as the header at least, so that a wide table doesn't grow by its repetition.
    most = max(_GROUP, _length(header))
    group: list[list[str]] = []
    size = 0
    for row in body:
        length = _length(row)
        if group and size + length > most:
            yield pipe_table([header, *group])
            group, size = [], 0
        group.append(row)
        size += length
    if group:
        yield pipe_table([header, *group])


def _length(row: Sequence[str]) -> int:
    return sum(map(len, row)) + 3 * len(row)


def _unescaped(lines: Sequence[str], separator: str) -> Sequence[str]:
    r"""Return lines with quotation marks in cells doubled, if `\"` stands for them rather than for a path's end."""
    marked = [line for line in lines if '\\"' in line][:_COMPARED]
    doubled = [_BACKSLASHED.sub('""', line) for line in marked]
    if _valid(doubled, separator) <= _valid(marked, separator):
        return lines
    return [_BACKSLASHED.sub('""', line) for line in lines]


def _valid(lines: Iterable[str], separator: str) -> int:
    """Return the number of lines whose quotation marks all stand at the ends of cells."""
    count = 0
    for line in lines:
        with suppress(csv.Error):
            count += len(list(csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True)))
    return count


def _separator(text: str, separators: str) -> str:
    """Return the separator that divides a table's first rows most evenly, or one that isn't there if none does."""
    evenness = {separator: _evenness(text, separator) for separator in separators}
    return max(evenness, key=evenness.__getitem__) if any(evenness.values()) else _NONE


def _evenness(text: str, separator: str) -> int:
    """Return how many of the first rows have the same number of cells, beyond one; 0 if most rows have one."""
    rows = _read(itertools.islice(io.StringIO(text, newline=""), _COMPARED), separator)
    widths = Counter(len(row) for row in itertools.islice(rows, _LOOKED_AT) if row)
    alone = widths.pop(1, 0)
    return max(widths.values(), default=0) if alone <= widths.total() else 0


def _sound_rows(text: str, separator: str) -> _Rows | None:
    """Return the cells of all rows, or None if a quotation mark seems to stand for itself."""
    if '"' not in text:
        return _Rows(list(_read(io.StringIO(text, newline=""), separator)), [])
    rows = []
    before = 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if (reader.line_num - before - 2) * (len(row) - 1) >= _SWALLOWED:
                return None
            before = reader.line_num
            rows.append(row)
    except csv.Error:
        return None
    return _Rows(rows, [])


def _rows(text: str, separator: str) -> _Rows:
    """Return the cells of all rows, as far as quotation marks can be told from what they enclose."""
    lines = _unescaped(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), separator)
    stray: list[int] = []
    marked = [number for number, line in enumerate(lines) if '"' in line]
    opens = {number: at for number in marked if (at := _opening(lines[number], separator)) >= 0}
    closings = [number for number in marked if _opening(lines[number], separator, within=True) < 0]
    records = list(_records(lines, separator, opens, iter([*closings, len(lines)]), stray))
    return _Rows(list(_read(records, separator)), stray)


def _records(
    lines: Sequence[str], separator: str, opens: Mapping[int, int], closings: Iterator[int], stray: list[int]
) -> Iterator[str]:
    """Yield the lines of each record, in which all quotation marks are closed, and note those that are not."""
    whole = (line for number, line in enumerate(lines) if number not in opens and line)
    width = _usual(map(len, _read(itertools.islice(whole, _COMPARED), separator)))
    number, end = 0, next(closings)
    while number < len(lines):
        line = lines[number]
        if number not in opens:
            yield line
        else:
            while end <= number:
                end = next(closings)
            literal = [*_read([line[: opens[number]]], separator), []][0][:-1] + line[opens[number] :].split(separator)
            if end == len(lines) or _is_stray(lines[number : end + 1], literal, width, separator):
                stray.append(number)
                yield separator.join('"' + cell.replace('"', '""') + '"' for cell in literal)
            else:
                yield "\n".join(lines[number : end + 1])
                number = end
        number += 1


def _is_stray(lines: Sequence[str], literal: Sequence[str], width: int, separator: str) -> bool:
    """Return whether lines from one with an open quotation mark to one that closes it are rows of their own."""
    inner = lines[1:-1][:_LOOKED_AT]
    if width < 2 or any(len(row) != width for row in (literal, *_read(inner, separator))):
        return False
    if (width - 1) * len(inner) >= _SWALLOWED:
        return True
    try:
        (joined,) = csv.reader(["\n".join(lines)], delimiter=separator, skipinitialspace=True, strict=True)
    except csv.Error:  # A closing mark amid a cell is none.
        return True
    return len(joined) != width == lines[-1].count(separator) + 1


def _read(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _opening(line: str, separator: str, *, within: bool = False) -> int:
    """Return the offset of the quotation mark of the cell that is open at the end of a line, or -1.

    Args:
        line: The line.
        separator: The separator of cells.
        within: Whether a cell in quotation marks is open before the line.
    """
    at = opened = 0
    while at >= 0:
        if not within:
            if mark := _QUOTED.match(line, at):
                within, opened, at = True, mark.end() - 1, mark.end()
            else:
                at = _after(line, separator, at)
        elif (close := line.find('"', at)) < 0:
            return opened
        elif line.startswith('"', close + 1):
            at = close + 2
        else:
            within, at = False, _after(line, separator, close)
    return -1


def _after(line: str, separator: str, at: int) -> int:
    """Return the offset after the next separator, or -1."""
    return line.find(separator, at) + 1 or -1


def parted(rows: Sequence[list[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the lines above a table, and its rows."""
    widths = [max((at for at, cell in enumerate(row, 1) if cell), default=0) for row in rows[:_COMPARED]]
    usual = _usual(width for width in widths if width > 1)
    first = next((at for at, width in enumerate(widths[:_LOOKED_AT]) if width >= usual), 0)
    above = [row for row in rows[:first] if any(row)]
    header = rows[first] if first else []
    names = all(header) and len(set(header)) == len(header) and not any(map(_NUMBER.fullmatch, header))
    is_apart = first > 0 and not any(rows[first - 1])
    are_short = all(sum(map(bool, row)) == 1 or 2 * width <= usual for row, width in zip(above, widths, strict=False))
    if above and (is_apart or (names and are_short)):
        return above, list(rows[first:])
    return [], list(rows)


def _usual(widths: Iterable[int]) -> int:
    """Return the most frequent width, and of several the largest."""
    return max(Counter(widths).items(), key=lambda item: item[::-1], default=(0, 0))[0]


def _parts(rows: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """Yield the tables that blank rows part: each but the first has a header above numbers."""
    part: list[list[str]] = []
    for filled, group in itertools.groupby(rows, any):
        following = list(group) if filled else []
        if part and following and all(following[0]) and _has_header(following):
            yield part
            part = []
        part += following
    if part:
        yield part


def is_headless(table: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has numbers where the others have them, and nothing else there."""
    kinds = _kinds(table)
    return "number" in kinds and "name" not in kinds


def _has_header(table: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has names where the others have numbers, and no numbers there."""
    kinds = _kinds(table)
    return "name" in kinds and "number" not in kinds


def _kinds(table: Sequence[Sequence[str]]) -> list[str]:
    """Return what the first row has above each column of numbers: a name, or a number like the others."""
    first, *others = table[:_COMPARED]
    columns: list[list[str]] = [[] for _ in first]
    for row in others:
        for values, cell in zip(columns, row, strict=False):
            if cell:
                values.append(cell)
    kinds = []
    for cell, below in zip(first, columns, strict=True):
        if below and sum(map(bool, map(_NUMBER.fullmatch, below))) >= 0.9 * len(below):
            is_year = _YEAR.fullmatch(cell) and not any(map(_YEAR.fullmatch, below))
            kinds.append("number" if _NUMBER.fullmatch(cell) and not is_year else "name")
    return kinds


_TEXT = "pipe tables of a few rows each, with the header repeated"
CSV = Format("table", (".csv",), _TEXT, read)
TSV = Format("table", (".tsv", ".tab"), _TEXT, partial(read, separators="\t"))
