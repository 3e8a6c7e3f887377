"""Formats, hidden parts and notes of a sheet of Excel before 2007 (`.xls`), beside the values of its cells."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kinsplit.loaders.markup.scripts import Script, written
from kinsplit.loaders.sheets.number_formats import number_format
from kinsplit.loaders.sheets.xlsx import EPOCH_1904, SheetParts, letters_of
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.sheet import Sheet

_NUMBERS = (2, 3)  # numbers and dates
_ERROR = 5
_SCRIPTS: dict[int, Script] = {1: "superscript", 2: "subscript"}


def sheets(data: bytes) -> dict[str, SheetParts]:
    """Return the parts of each sheet; none if the file is too damaged."""
    with needs("files"):
        import xlrd

    try:
        book = xlrd.open_workbook(file_contents=data, formatting_info=True, logfile=io.StringIO())
        return {sheet.name: _parts(book, sheet) for sheet in book.sheets()}
    except MemoryError:
        raise
    except Exception:  # xlrd raises exceptions of any kind for a damaged file
        return {}


def _parts(book: Book, sheet: Sheet) -> SheetParts:
    found = SheetParts()
    found.shown = dict(_shown(book, sheet))
    found.hidden_rows = {row for row, info in sheet.rowinfo_map.items() if info.hidden}
    found.hidden_columns = {column for column, info in sheet.colinfo_map.items() if info.hidden}
    notes = sorted(sheet.cell_note_map.items())
    found.comments = [(f"{letters_of(column)}{row + 1}", note.text) for (row, column), note in notes]
    return found


def _shown(book: Book, sheet: Sheet) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the texts of the cells that don't show their value."""
    from xlrd import error_text_from_code

    formats = [number_format(book.format_map[style.format_key].format_str) for style in book.xf_list]
    offset = EPOCH_1904 * book.datemode
    for row in range(sheet.nrows):
        kinds, values = sheet.row_types(row), sheet.row_values(row)
        for column, kind in enumerate(kinds):
            if kind in _NUMBERS:
                shown = formats[sheet.cell_xf_index(row, column)]
                if not shown.is_general:
                    yield (row, column), shown.number(values[column] + offset * shown.is_date)
            elif kind == _ERROR:
                yield (row, column), error_text_from_code.get(values[column], "#ERR!")
    for (row, column), runs in sheet.rich_text_runlist_map.items():
        text, starts = str(sheet.cell_value(row, column)), [start for start, _ in runs]
        scripts = [_SCRIPTS.get(book.font_list[font].escapement) for _, font in runs]
        if any(scripts):
            joined = text[: starts[0]]
            for start, end, script in zip(starts, [*starts[1:], len(text)], scripts, strict=True):
                run = text[start:end]
                joined += written(run, script, joined[-100:], text[end:]) if script else run
            yield (row, column), joined
