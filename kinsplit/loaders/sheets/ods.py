"""The sheets of an OpenDocument spreadsheet (`.ods`), whose cells state the text that they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kinsplit.loaders.archive import Archive, local_name
from kinsplit.loaders.content import PICTURE, LeftOut, UnreadableError
from kinsplit.loaders.markup.scripts import Script, written
from kinsplit.loaders.sheets.number_formats import general, number_format
from kinsplit.loaders.sheets.xlsx import FORMULA, SheetParts, letters_of

_MOST_BYTES = 2**29
_MOST_CELLS = 2**24
_DURATION = re.compile(r"-?PT(\d+)H(\d+)M(\d+)(?:[.,]\d+)?S")
_GROUPS = frozenset(
    f"table-{name}" for name in ("header-rows", "rows", "row-group", "columns", "column-group", "header-columns")
)
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_CELL, _COVERED, _REPEATED = f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell", f"{_TABLE}number-columns-repeated"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}style"
_SPANNED = f"{_TABLE}number-rows-spanned"
_PARAGRAPH = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}p"
_BLANKS = {"s": " ", "tab": " ", "line-break": " "}


def sheets(data: bytes, left_out: LeftOut) -> Iterator[tuple[str, list[list[str]], SheetParts]]:
    """Yield the name, the cells and the parts of each sheet that is shown."""
    root = _content(data)
    styles = {_own(style, "name"): style for style in root.iter(_STYLE)}
    scripts = {name: script for name, style in styles.items() if (script := _script(style))}
    cells = 0
    for table in root.iter(f"{_TABLE}table"):
        style = styles.get(_own(table, "style-name"))
        if style is not None and any(_own(each, "display") == "false" for each in style):
            left_out.add("hidden sheet")
            continue
        sheet = _Sheet(scripts)
        sheet.read(table)
        sheet.parts.left_out.add("hidden column", count=len(sheet.hidden_filled))
        cells += sheet.cells
        if cells > _MOST_CELLS:
            raise UnreadableError(f"has more than {_MOST_CELLS:,} cells. Split it.")
        yield _own(table, "name"), sheet.rows, sheet.parts


def _content(data: bytes) -> Any:
    archive = Archive(data, "spreadsheet", _MOST_BYTES)
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise UnreadableError("has a password. Save a copy without it.")
    return archive.xml("content.xml")


class _Sheet:
    """The rows of a sheet without what is hidden."""

    def __init__(self, scripts: dict[str, Script]) -> None:
        self.rows: list[list[str]] = []
        self.parts = SheetParts()
        self.cells = 0
        self._scripts = scripts
        self._hidden: set[int] = set()
        self._columns = 0
        self._row = self._column = 0  # of the cell that is read
        self._covered = 0  # the last row that a merged cell with a text reaches
        self.hidden_filled: set[int] = set()

    def read(self, table: Any) -> None:
        """Read the rows of a table; those of headers and groups are inside other elements."""
        for element in table:
            name = local_name(element)
            if name == "table-column":
                self._read_column(element)
            elif name == "table-row":
                self._read_row(element)
            elif name in _GROUPS:
                self.read(element)
            elif name == "shapes":
                self._read_shapes(element)

    def _read_column(self, element: Any) -> None:
        first, self._columns = self._columns, self._columns + _times(element, "columns")
        if _own(element, "visibility") in ("collapse", "filter"):
            self._hidden.update(range(first, min(self._columns, 2**14)))

    def _read_row(self, element: Any) -> None:
        row: list[str] = []
        self._row += 1
        pending = column = 0
        for cell in element:
            if cell.tag not in (_CELL, _COVERED):
                continue
            self._column = column
            repeated = cell.get(_REPEATED)
            times = min(max(int(repeated), 1), 2**14) if repeated and repeated.isdigit() else 1
            text = self._shown(cell) if cell.tag == _CELL else ""
            shown = times
            if self._hidden:
                hidden = self._hidden.intersection(range(column, column + times))
                self.hidden_filled |= hidden if text else set()
                shown -= len(hidden)
            if not text:
                pending += shown
            elif shown:
                row += [""] * pending + [text] * shown
                pending = 0
                if (rows := cell.get(_SPANNED, "")).isdecimal():
                    self._covered = max(self._covered, self._row + int(rows[:9]) - 1)
            column += times
        times = _times(element, "rows")
        self._row += times - 1
        if not row and self._row <= self._covered:
            return
        times = times if row else 1
        if _own(element, "visibility") in ("collapse", "filter"):
            self.parts.left_out.add("hidden row", count=times if row else 0)
            return
        self.cells += times * len(row)
        if self.cells <= _MOST_CELLS:
            self.rows += [row] * times

    def _shown(self, cell: Any) -> str:
        """Return the text of a cell, and keep what stands beside it."""
        if len(cell) == 1 and cell[0].tag == _PARAGRAPH and len(cell[0]) == 0 and (text := cell[0].text):
            return " ".join(text.split())
        if not len(cell) and not cell.attrib:
            return ""
        paragraphs: list[str] = []
        for child in cell:
            name = local_name(child)
            if name == "p":
                paragraphs.append(self._text(child))
            elif name == "annotation":
                text = " ".join(self._text(each) for each in child if local_name(each) == "p")
                self.parts.comments.append((f"{letters_of(self._column)}{self._row}", " ".join(text.split())))
            else:
                self._read_shapes(child)
        shown = " ".join(" ".join(paragraphs).split())
        if not shown and (shown := _value(cell)) == "" and _own(cell, "formula"):
            self.parts.left_out.add(*FORMULA)
        return shown

    def _text(self, element: Any) -> str:
        """Return the text of a paragraph, with scripts told from the text beside them."""
        shown = element.text or ""
        for child in element:
            script = self._scripts.get(_own(child, "style-name"))
            name = local_name(child)
            text = _BLANKS[name] if name in _BLANKS else "" if name == "annotation" else self._text(child)
            after = child.tail or ""
            shown += (written(text, script, shown, after) if script else text) + after
        return shown

    def _read_shapes(self, element: Any) -> None:
        """Keep the texts of drawings, and count the others."""
        for frame in (each for each in element.iter() if local_name(each) in ("frame", "custom-shape")):
            kinds = {local_name(each) for each in frame.iter()}
            text = " ".join(self._text(each) for each in frame.iter() if local_name(each) in ("p", "title", "desc"))
            if "object" in kinds:
                self.parts.left_out.add("chart")
            elif text.strip():
                self.parts.texts.append(" ".join(text.split()))
            elif "image" in kinds:
                self.parts.left_out.add(*PICTURE)


def _value(cell: Any) -> str:
    """Return the value of a cell that states no text, as programs write that are no spreadsheets."""
    kind, value = _own(cell, "value-type"), _own(cell, "value")
    try:
        number = float(value) if value else 0.0
    except ValueError:
        return value
    match kind:
        case "percentage":
            return number_format("0.##########%").number(number).replace(".%", "%") if value else ""
        case "float":
            return general(number) if value else ""
        case "currency":
            return f"{number:,.2f} {_own(cell, 'currency')}".strip() if value else ""
        case "date":
            return _own(cell, "date-value").replace("T", " ")
        case "time":
            parts = _DURATION.fullmatch(_own(cell, "time-value"))
            return ":".join((parts[1].lstrip("0").zfill(1), parts[2].zfill(2), parts[3].zfill(2))) if parts else ""
        case "boolean":
            return _own(cell, "boolean-value").upper()
    return _own(cell, "string-value")


def _own(element: Any, name: str) -> str:
    """Return an attribute by its name without the namespace."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _times(element: Any, name: str) -> int:
    times = _own(element, f"number-{name}-repeated")
    return max(int(times), 1) if times.isdigit() else 1


def _script(style: Any) -> Script | None:
    """Return whether a style stands above or below the line."""
    position = next((value for each in style if (value := _own(each, "text-position"))), "").split(" ")
    if position[0] in ("super", "sub"):
        return "superscript" if position[0] == "super" else "subscript"
    number = position[0].removesuffix("%")
    if len(position) > 1 and number.lstrip("-").isdigit() and int(number):
        return "superscript" if int(number) > 0 else "subscript"
    return None
