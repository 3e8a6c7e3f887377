"""Spreadsheets of Excel and OpenDocument: every sheet is a heading with its rows as pipe tables.

Cells stand as the application shows them in American English: `7.5%`, `$1,234.50`, `01234`, `30:00`, `#N/A`. Formulas
are not recalculated; those whose value the file lacks are counted in a warning. A merged cell stands once, in its first
column and row. Blocks of cells with empty rows or columns between them are tables of their own if each has a header,
and cells above a header are paragraphs. Comments, text boxes, alternative texts of pictures, and headers and footers of
the page follow their sheet. What is hidden, sheets, rows and columns, is left out and counted in a warning, and so are
pictures without a text, charts and other drawings.
"""

from __future__ import annotations

import datetime
import io
import itertools
import re
import struct
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kinsplit.loaders.content import Attachment, Format, LeftOut, Reading, UnreadableError
from kinsplit.loaders.formats import csv_rows, html
from kinsplit.loaders.formats.csv_rows import is_headless, parted, row_groups
from kinsplit.loaders.markup.markdown import escaped, markdown_content
from kinsplit.loaders.sheets import binary, ods
from kinsplit.loaders.sheets.binary import BinaryPackage
from kinsplit.loaders.sheets.number_formats import general
from kinsplit.loaders.sheets.xlsx import ExcelPackage, SheetParts
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

_MOST_ABOVE = 3  # rows of one cell that are paragraphs, if no table follows
_MOST_MERGED = 4  # times that every cell may be looked at for merged ones
_LOOKED_AT = 2048  # bytes that tell what a file is
_PAGE = re.compile(rb"\W*(?:<\?xml[^<>]*>\s*)?<(?:!doctype html|html|head|meta|style|table|div)\b", re.IGNORECASE)
_BINARY = re.compile(rb"[\x01-\x08\x0e-\x1f]")
_LOCKED = "has a password. Save a copy without it."
_BREAKS = re.compile(r"(?<![ \t\xa0])[ \t\xa0]*[\n\r\t\v\f\x85\u2028\u2029]\s*| {2,}")
_YEAR = re.compile(r"(?:FY ?)?(?:19|20)\d\d")
_VALUE = re.compile(r"[-+(]?[^\w\s]?\s?\d")

Rows = list[list[str]]


def read_spreadsheet(data: bytes) -> Reading:
    """Return the text of a spreadsheet."""
    if (other := _disguised(data)) is not None:
        return other
    left_out = LeftOut()
    blocks: list[str] = []
    attachments: list[Attachment] = []
    files = _files(data)
    if "encrypted-package" in files:
        raise UnreadableError(_LOCKED)
    if any(name == "xl/vbaProject.bin" or name.startswith("Basic/") for name in files):
        left_out.add("macro project")
    read = ods.sheets if "content.xml" in files else partial(_excel_sheets, files=files)
    for name, rows, parts in read(data, left_out):
        left_out += parts.left_out
        attachments += parts.attachments
        if found := [*_shown_blocks(rows), *_beside(parts)]:
            blocks += [f"## {' '.join(name.split())}", *found]
    return Reading((markdown_content("\n\n".join(blocks)),), left_out.warnings, tuple(attachments))


def _disguised(data: bytes) -> Reading | None:
    """Return the text of a web page or of separated values, which spreadsheets open under any suffix."""
    beginning = data[:_LOOKED_AT].replace(b"\0", b"")
    if _PAGE.match(beginning):
        found, kind = html.read(data), "a web page"
    elif b"\t" in beginning.partition(b"\n")[0] and not _BINARY.search(beginning):
        found, kind = csv_rows.read(data), "a text of separated values"
    else:
        return None
    return replace(found, warnings=(*found.warnings, f"is {kind} rather than a spreadsheet, and was read as such"))


def _files(data: bytes) -> Collection[str]:
    """Return the names of the files in an archive; none if it isn't one."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return set(archive.namelist())
    except (OSError, RuntimeError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return ()


def _excel_sheets(data: bytes, left_out: LeftOut, files: Collection[str]) -> Iterator[tuple[str, Rows, SheetParts]]:
    """Yield the name, the cells and the parts of each sheet of an Excel file that is shown."""
    with needs("files"):
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        kind = BinaryPackage if "xl/workbook.bin" in files else ExcelPackage
        package = kind(data) if files else None
        older = {} if package else binary.sheets(data)
        for sheet in workbook.sheets_metadata:
            if sheet.visible != SheetVisibleEnum.Visible:
                left_out.add("hidden sheet")
            elif sheet.typ != SheetTypeEnum.WorkSheet:
                left_out.add("chart sheet" if sheet.typ == SheetTypeEnum.ChartSheet else "macro sheet")
            else:
                parts = package.sheet(sheet.name) if package else older.get(sheet.name, SheetParts())
                if not package and not older:
                    left_out.add("set of number formats", "sets of number formats")
                yield sheet.name, _cells(workbook.get_sheet_by_name(sheet.name), parts), parts
    except PasswordError as error:
        raise UnreadableError(_LOCKED) from error
    except (CalamineError, ValueError, IndexError, struct.error) as error:
        raise UnreadableError(f"is broken or not a valid spreadsheet: {error}. Open it and save it again.") from error


def _cells(sheet: CalamineSheet, parts: SheetParts) -> Rows:
    """Return the texts of a sheet's cells that are shown, and count those that are hidden."""
    values: list[list[Any]] = sheet.to_python()
    top, left = sheet.start or (0, 0)
    height, width = len(values), max(map(len, values), default=0)
    for (row, column), text in parts.shown.items():
        if 0 <= row - top < height and 0 <= column - left < width:
            values[row - top][column - left] = text
    rows = [[_SHOWN.get(type(value), str)(value) for value in row] for row in values]
    looked_at, covered = 0, set[int]()
    for (first, start), (last, end) in sheet.merged_cell_ranges or ():
        box = range(max(first - top, 0), min(last - top + 1, height))
        looked_at += len(box) * max(end - start + 1, 1)
        if looked_at > _MOST_MERGED * height * width:
            break
        for row in box:
            for column in range(max(start - left, 0), min(end - left + 1, width)):
                if (row + top, column + left) != (first, start):
                    rows[row][column] = ""
        if 0 <= start - left < width and 0 <= first - top < height and rows[first - top][start - left]:
            covered.update(box[1:])
    # A row inside a merged cell is no gap between tables.
    gone = {row for row in covered if not any(rows[row])}
    return _without_hidden(rows, top, left, parts, gone)


def _without_hidden(rows: Rows, top: int, left: int, parts: SheetParts, gone: Collection[int]) -> Rows:
    """Return rows without those that are hidden or gone, and count those that are hidden."""
    if parts.hidden_rows:
        hidden = [bool(any(row)) for at, row in enumerate(rows) if at + top in parts.hidden_rows]
        parts.left_out.add("hidden row", count=sum(hidden))
    if parts.hidden_rows or gone:
        rows = [row for at, row in enumerate(rows) if at + top not in parts.hidden_rows and at not in gone]
    if parts.hidden_columns:
        columns = range(max(map(len, rows), default=0))
        hidden = [any(row[at] for row in rows if at < len(row)) for at in columns if at + left in parts.hidden_columns]
        parts.left_out.add("hidden column", count=sum(hidden))
        kept = [at + left not in parts.hidden_columns for at in columns]
        rows = [list(itertools.compress(row, kept)) for row in rows]
    return rows


def _line(text: str) -> str:
    """Return the text of a cell on one line; the spaces inside a number or a name stay."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return _BREAKS.sub(" ", text.strip())


def _moment(value: datetime.datetime) -> str:
    midnight = value.time() == datetime.time()
    return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")


def _duration(value: datetime.timedelta) -> str:
    minutes, seconds = divmod(round(value.total_seconds()), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


# Texts of values whose format is unknown or doesn't matter.
_SHOWN: dict[type, Callable[[Any], str]] = {
    str: _line,
    float: general,
    int: str,
    datetime.datetime: _moment,
    datetime.timedelta: _duration,
    bool: lambda value: str(value).upper(),
}


def _shown_blocks(rows: Rows) -> Iterator[str]:
    """Yield the paragraphs and tables of a sheet."""
    table: Rows = []
    has_values = False
    for band in (list(group) for is_filled, group in itertools.groupby(rows, any) if is_filled):
        above, below = _parted(band)
        tables = _side_by_side(below)
        if not above and len(tables) == 1 and _continues(table, below, has_values):
            table += below
            has_values = has_values or not _is_header(below[0])
            continue
        yield from _table(table)
        yield from map(escaped, above)
        for beside in tables[:-1]:
            yield from _table(beside)
        table = tables[-1] if tables else []
        has_values = not all(map(_is_header, table))
    yield from _table(table)


def _table(rows: Rows) -> Iterator[str]:
    return row_groups(rows, headless=bool(rows) and is_headless(rows))


def _side_by_side(band: Rows) -> list[Rows]:
    """Return the tables that stand side by side in rows, or the rows as they are if these are not all tables."""
    empty = list(range(len(band[0]))) if band else []
    for row in band:
        empty = [at for at in empty if at >= len(row) or not row[at]]
        if not empty:
            break
    if not empty:
        return [band] if band else []
    width = max(map(len, band))
    gaps = [-1, *empty, width]
    spans = [(one + 1, two) for one, two in itertools.pairwise(gaps) if two > one + 1]
    tables = [[row[first:last] for row in band if any(row[first:last])] for first, last in spans]
    are_tables = all(len(rows) > 1 and len(rows[0]) > 1 and all(rows[0]) and _is_header(rows[0]) for rows in tables)
    return tables if are_tables else [band]


def _parted(rows: Rows) -> tuple[list[str], Rows]:
    """Return the paragraphs above a table, which are rows of one cell or few, and the table."""
    at = 0
    while at < len(rows) and sum(map(bool, rows[at])) == 1:
        at += 1
    if at == len(rows) and at > _MOST_ABOVE:
        return [], rows  # a column of its own
    above, table = parted(rows[at:])
    return [" ".join(filter(None, row)) for row in (*rows[:at], *above)], table


def _continues(table: Rows, rows: Rows, has_values: bool) -> bool:
    """Return whether rows below an empty one belong to the table above it, which may hold values rather than words."""
    if not rows or not table or not _places(rows) <= _places(table[:2]):
        return False
    if len(rows) == 1 or not _is_header(rows[0]):
        return True
    # Between words, nothing tells a header.
    return not has_values and all(map(_is_header, rows))


def _places(rows: Iterable[list[str]]) -> set[int]:
    return {at for row in rows for at, cell in enumerate(row) if cell}


def _is_header(row: list[str]) -> bool:
    """Return whether a row names columns: with words or years, and no other numbers, amounts or dates."""
    return not any(_VALUE.match(cell) and not _YEAR.fullmatch(cell) for cell in row)


def _beside(parts: SheetParts) -> Iterator[str]:
    """Yield what a sheet shows beside its cells."""
    yield from map(escaped, parts.texts)
    if parts.comments:
        yield "### Comments"
        yield "\n".join(f"- {reference}: {_line(text)}" for reference, text in parts.comments)
    yield from map(escaped, parts.printed)


_SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
SPREADSHEET = Format("spreadsheet", _SHEETS, "sheets as headings with pipe tables", read_spreadsheet)
