"""Spreadsheets of Excel and OpenDocument: every sheet is a heading with its rows as pipe tables.

`python-calamine` reads the values that the file shows last, without recalculating formulas. Dates are written as ISO
dates. Hidden sheets are left out and counted in a warning.
"""

from __future__ import annotations

import datetime
import io

from kinsplit.loaders.content import Format, Reading, UnreadableError
from kinsplit.loaders.formats.csv_rows import row_groups
from kinsplit.loaders.formats.markdown import markdown_content
from kinsplit.support.extras import needs


def read_spreadsheet(data: bytes) -> Reading:
    """Return the text of a spreadsheet."""
    with needs("files"):
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

    blocks: list[str] = []
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
        shown = [sheet.name for sheet in sheets if sheet.visible == SheetVisibleEnum.Visible]
        for name in shown:
            rows = [[_shown(value) for value in row] for row in workbook.get_sheet_by_name(name).to_python()]
            if groups := list(row_groups(rows)):
                blocks += [f"## {' '.join(name.split())}", *groups]
    except PasswordError as error:
        raise UnreadableError("has a password. Save a copy without it.") from error
    except (CalamineError, ValueError) as error:
        raise UnreadableError(f"is broken or not a valid spreadsheet: {error}. Open it and save it again.") from error
    hidden = len(sheets) - len(shown)
    warnings = (f"{hidden:,} hidden sheets were left out",) if hidden else ()
    return Reading((markdown_content("\n\n".join(blocks)),), warnings)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(" ")
    return " ".join(str(value).split())


_SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
SPREADSHEET = Format("spreadsheet", _SHEETS, "sheets as headings with pipe tables", read_spreadsheet)
