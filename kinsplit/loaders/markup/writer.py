"""The one model of a document between the readers and their text: blocks, lists, tables, headings; and its Markdown.

Readers call the writer in the order of the text, and it writes all blocks in one pass and linear time.

Tables become pipe tables whose first row is the header. A merged cell stands once, in its first row and column, so that
every other value stands in its own; a table inside a cell is joined into that cell, and empty rows and columns are
dropped. What only arranges a page is no table: a single row or column, and rows with code, with headings above text or
with very long cells are read as blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from kinsplit.loaders.content import LeftOut
from kinsplit.loaders.markup.grid import Value, in_columns
from kinsplit.loaders.markup.markdown import escaped, fenced, pipe_table
from kinsplit.loaders.markup.scripts import Script, written
from kinsplit.spans import Heading

ListStyle = Literal["1", "a", "A", "i", "I"]

_DEEPEST = 8  # maximum number of indented list levels, and of tables inside tables
_BELOW_ALL = 7  # level of a bold line, below the six of headings
_LONGEST_BOLD = 150  # characters of a bold line that may be a heading
_LONGEST_SCRIPT = 100  # characters of several pieces that are one script
_LONGEST_CELL = 1_000  # characters of a cell with several blocks
_WIDEST = 1_000  # columns of a merged cell, as in HTML
_MOST_COVERED = 200  # columns in which cells reach into the rows below
_FINAL = (".", ",", ";", ":", "!", "?")
# All but the spaces that belong to the text, as in numbers and between ideographs.
_BLANKS = re.compile(r"[^\S\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl"} | {
    10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"
}  # fmt: skip


@dataclass(slots=True)
class _Block:
    text: str
    kind: Literal["paragraph", "heading", "item", "code", "table"] = "paragraph"
    mark: str = ""  # of a heading or item; language of code
    indent: str = ""
    within: _List | None = None  # the outermost one around an item
    bold: bool = False
    rows: list[list[str]] = field(default_factory=list)

    def markdown(self) -> str:
        match self.kind:
            case "heading":
                return f"{self.mark} {self.text}"
            case "code":
                return fenced(self.text, self.mark)
            case "table":
                return pipe_table(self.rows)
        lines = escaped(self.text).replace("\n", f"\n{self.indent}{' ' * len(self.mark)}")
        return f"{self.indent}{self.mark}{lines}"

    def in_line(self) -> str:
        if self.kind == "table":
            return "; ".join(" ".join(filter(None, row)) for row in self.rows)
        mark = self.mark if self.kind == "item" and self.mark != "- " else ""
        return mark + self.text.replace("\n", " ")


@dataclass(slots=True)
class _List:
    ordered: bool
    count: int
    style: ListStyle
    step: int = 1
    waiting: list[_Block] | None = None  # items of a list that descends to 1
    marker: str = ""  # of an item without a first line yet
    width: int = 2


@dataclass(slots=True)
class _Cell:
    column: int
    columns: int
    blocks: list[_Block] = field(default_factory=list)


@dataclass(slots=True)
class _Table:
    is_layout: bool
    lists: list[_List]  # those open around it
    blocks: list[_Block]  # those around it
    rows: list[list[_Cell]] = field(default_factory=list)  # of the open group
    above: list[list[_Cell]] = field(default_factory=list)
    below: list[list[_Cell]] = field(default_factory=list)
    is_last: bool = False
    cell: _Cell | None = None
    column: int = 0  # at which the next cell may begin
    covered: dict[int, int] = field(default_factory=dict)  # columns with the last rows of merged cells in them

    def start_rows(self, *, last: bool) -> None:
        (self.below if self.is_last else self.above).extend(self.rows)
        self.rows = []
        self.covered = {}
        self.is_last = last

    def add_row(self) -> None:
        self.rows.append([])
        self.column = 0

    def add_cell(self, columns: int, rows: int) -> _Cell:
        if not self.rows:
            self.rows.append([])
        row = len(self.rows) - 1
        while self.covered.get(self.column, -1) >= row:
            self.column += 1
        columns = min(max(columns, 1), _WIDEST)
        cell = self.cell = _Cell(self.column, columns)
        self.rows[-1].append(cell)
        if rows > 1:
            columns_below = range(self.column, min(self.column + columns, _MOST_COVERED))
            self.covered |= dict.fromkeys(columns_below, row + rows - 1)
        self.column += columns
        return cell


class MarkdownWriter:
    """Collects text until a boundary ends the block, then keeps the block for `finish`.

    Real-world markup is rarely well-formed, so every call is allowed at any time: an unclosed block ends where the next
    one begins, and no text is dropped.

    Attributes:
        first_heading: The first heading of the first level; set by `finish`.
        bold_lines: Paragraphs that are bold as a whole and may be headings; set by `finish`.
        left_out: What the reader counts as left out.
    """

    def __init__(self) -> None:
        self.first_heading: str | None = None
        self.bold_lines: list[Heading] = []
        self.left_out = LeftOut()
        self._document: list[_Block] = []
        self._blocks = self._document  # of the open cell, or of the document
        self._inline: list[str | tuple[str, Script]] = []
        self._has_bold = self._has_plain = False
        self._heading = 0
        self._number = ""
        self._lists: list[_List] = []
        self._tables: list[_Table] = []
        self._unopened = 0  # tables inside code, or too deep in others
        self._pre: list[str] | None = None
        self._language = ""

    def text(self, data: str, *, bold: bool = False) -> None:
        """Add text to the open block."""
        if not data:
            return
        if self._pre is not None:
            self._pre.append(data)
        else:
            self._inline.append(data.replace("\n", " ").replace("\r", " "))
            if not data.isspace():
                self._has_bold, self._has_plain = self._has_bold or bold, self._has_plain or not bold

    def superscript(self, text: str) -> None:
        """Add an exponent (`10^5`), the mark of a note (`word[1]`) or an ordinal's letters (`1st`), as it seems."""
        self._script(text, "superscript")

    def subscript(self, text: str) -> None:
        """Add a subscript: `H2O`, `x_i`."""
        self._script(text, "subscript")

    def mark(self, text: str) -> None:
        """Add the mark of a note: `[1]`."""
        self._script(text, "mark")

    def line_break(self) -> None:
        """Break the line inside the open block."""
        if self._pre is None:
            self._inline.append("\n")
        else:
            self._pre.append("\n")

    def block(self) -> None:
        """End the open block."""
        if self._pre is not None:
            if self._pre and not self._pre[-1].endswith("\n"):
                self._pre.append("\n")
            return
        if self._inline:
            is_bold = self._has_bold and not self._has_plain
            for text in self._take():
                self._paragraph(text, bold=is_bold)

    def start_heading(self, level: int, number: str = "") -> None:
        """Make the next block a heading, with the number that is shown before its title."""
        self.block()
        self._heading, self._number = level, number

    def end_heading(self) -> None:
        """End the heading."""
        self.block()
        self._heading = 0

    def start_list(
        self, *, ordered: bool, start: int | None = None, style: ListStyle = "1", descending: bool = False
    ) -> None:
        """Begin a list, perhaps inside another.

        Args:
            ordered: Whether its items have numbers.
            start: Number of the first item; by default 1, or the number of items if they descend.
            style: Form of the numbers.
            descending: Whether each number is one less than the one before.
        """
        self.block()
        step = -1 if descending and start is not None else 1
        waiting: list[_Block] | None = [] if descending and start is None else None
        self._lists.append(_List(ordered, (1 if start is None else start) - step, style, step, waiting))

    def end_list(self) -> None:
        """End the innermost list."""
        self.block()
        if self._lists:
            ended = self._lists.pop()
            for left, item in enumerate(reversed(ended.waiting or []), 1):
                item.mark = f"{_number(left, ended.style)}. "

    def start_item(self, value: int | None = None, label: str | None = None) -> None:
        """Begin a list item.

        Args:
            value: Number of the item, from which the list counts on; None for the next one.
            label: What is shown before the item instead, such as `2.1.1` or `(a)`.
        """
        self.block()
        if not self._lists:
            self._lists.append(_List(ordered=False, count=0, style="1"))
        top = self._lists[-1]
        top.count = top.count + top.step if value is None else value
        top.marker = f"{_number(top.count, top.style)}. " if top.ordered else "- "
        if label is not None:
            top.marker = f"{label} " if label else ""
        top.width = len(top.marker)

    def start_table(self, *, is_layout: bool = False) -> None:
        """Begin a table, perhaps in a cell of another; one that is only layout is read as blocks."""
        self.block()
        if self._pre is not None or self._unopened or len(self._tables) == _DEEPEST:
            self._unopened += 1
            return
        self._tables.append(_Table(is_layout, self._lists, self._blocks))
        self._heading = 0

    def start_rows(self, *, last: bool = False) -> None:
        """Begin a group of rows, into which no merged cell of another one reaches, perhaps the last of the table."""
        self.end_cell()
        if self._tables and not self._unopened:
            self._tables[-1].start_rows(last=last)

    def start_row(self) -> None:
        """Begin a row."""
        self.end_cell()
        if self._tables and not self._unopened:
            self._tables[-1].add_row()

    def start_cell(self, columns: int = 1, rows: int = 1) -> None:
        """Begin a cell that reaches over a number of columns and rows."""
        self.end_cell()
        if self._tables and not self._unopened:
            self._blocks, self._lists = self._tables[-1].add_cell(columns, rows).blocks, []

    def end_cell(self) -> None:
        """End the open cell."""
        if self._tables and not self._unopened and self._tables[-1].cell:
            self.end_pre()
            self._tables[-1].cell = None
            self._lists = self._tables[-1].lists
            self._blocks = self._tables[-1].blocks
            self._heading = 0
        else:
            self.block()

    def end_table(self) -> None:
        """End the innermost table."""
        self.end_cell()
        if self._unopened:
            self._unopened -= 1
        elif self._tables:
            self._blocks += _blocks_of(self._tables.pop())

    def start_pre(self, language: str) -> None:
        """Begin preformatted text."""
        self.block()
        if self._pre is None:
            self._pre = []
            self._language = language

    def name_language(self, language: str) -> None:
        """Name the language of the open preformatted text."""
        if self._pre is not None and language:
            self._language = language

    def end_pre(self) -> None:
        """End the preformatted text and write it as a fence."""
        if self._pre is None:
            self.block()
            return
        text = "".join(self._pre).removeprefix("\n").rstrip()
        self._pre = None
        self._heading = 0
        if text:
            self._blocks.append(_Block(text, "code", self._language))

    def finish(self) -> str:
        """End all open blocks and return the whole text."""
        self._unopened = 0
        self.end_pre()
        while self._tables:
            self.end_table()
        parts: list[str] = []
        length = 0
        for before, block in zip([None, *self._document], self._document, strict=False):
            if before:
                parts.append("\n" if before.within is block.within is not None else "\n\n")
            parts.append(block.markdown())
            length += sum(map(len, parts[-2:] if before else parts))
            if block.mark == "#" and block.kind == "heading" and self.first_heading is None:
                self.first_heading = block.text
            if block.bold:
                title = " ".join(block.text.split())
                self.bold_lines.append(Heading(length - len(parts[-1]), length, _BELOW_ALL, title))
        return "".join(parts)

    def _script(self, text: str, kind: Script) -> None:
        if self._pre is not None:
            self._pre.append(written(text, kind, "".join(self._pre[-1:]), ""))
        elif not text.strip():
            self.text(text)
        else:
            last = self._inline[-1] if self._inline else ""
            if isinstance(last, tuple) and last[1] == kind != "mark" and len(last[0]) < _LONGEST_SCRIPT:
                self._inline[-1] = (last[0] + text, kind)
            else:
                self._inline.append((text, kind))

    def _take(self) -> list[str]:
        """Return the open block's paragraphs, which empty lines part, with white space collapsed; start a new block."""
        lines = list(map(_collapsed, "".join(_with_scripts(self._inline)).split("\n")))
        self._inline = []
        self._has_bold = self._has_plain = False
        if self._heading:
            lines = [" ".join(filter(None, lines))]
        if len(lines) == 1:
            return lines if lines[0] else []
        return ["\n".join(paragraph) for filled, paragraph in groupby(lines, bool) if filled]

    def _paragraph(self, text: str, *, bold: bool) -> None:
        if self._heading:
            title = f"{self._number} {text}" if self._number else text
            self._blocks.append(_Block(title, "heading", "#" * self._heading))
            self._heading = 0
        elif self._lists:
            top = self._lists[-1]
            indent = "  " * min(len(self._lists) - 1, _DEEPEST)
            block = _Block(text, "item", top.marker or " " * top.width, indent, self._lists[0])
            self._blocks.append(block)
            if top.waiting is not None and top.marker:
                top.waiting.append(block)
            top.marker = ""
        else:
            bold = bold and len(text) <= _LONGEST_BOLD and not text.endswith(_FINAL) and any(map(str.isalpha, text))
            self._blocks.append(_Block(text, bold=bold))


def _number(count: int, style: ListStyle) -> str:
    """Return the number of an item in its form; as digits if there is none in that form."""
    digits = ""
    if style in {"a", "A"} and count > 0:
        while count:
            count, rest = divmod(count - 1, 26)
            digits = chr(ord("a") + rest) + digits
    elif style in {"i", "I"} and 0 < count < 4000:
        digits = roman(count)
    else:
        digits = str(count)
    return digits.upper() if style in {"A", "I"} else digits


def roman(count: int) -> str:
    """Return a positive number in small Roman digits."""
    digits = ""
    for value, letters in _ROMAN.items():
        digits += count // value * letters
        count %= value
    return digits


def _collapsed(line: str) -> str:
    return " ".join(line.split()) if line.isascii() else _BLANKS.sub(" ", line).strip()


def _with_scripts(inline: list[str | tuple[str, Script]]) -> Iterator[str]:
    """Yield the pieces of a line, with each script as it stands between its neighbours."""
    before = ""
    for at, piece in enumerate(inline):
        if not isinstance(piece, str):
            after, following = (*inline[at + 1 : at + 3], "", "")[:2]
            mark = "_" if following[1:] == ("subscript",) else ""
            piece = written(*piece, before, after + mark if isinstance(after, str) else "")
        before = (before + piece)[-100:]
        yield piece


def _blocks_of(table: _Table) -> Iterator[_Block]:
    """Yield a table's rows as tables and, where they only arrange a page, as blocks."""
    table.start_rows(last=False)
    rows = [filled for row in (*table.above, *table.below) if (filled := _filled(row))]
    complex_ = [table.is_layout or _is_complex(row) for row in rows]
    if any(complex_):  # what else has several blocks arranges the page, too
        complex_ = [
            known or any(len(cell.blocks) > 1 for cell in row) for known, row in zip(complex_, rows, strict=True)
        ]
    lines = in_columns([[] if skipped else _values(row) for row, skipped in zip(rows, complex_, strict=True)])
    header: list[list[str]] = []
    for is_complex, group in groupby(range(len(rows)), complex_.__getitem__):
        run = list(group)
        body = [] if is_complex or lines is None else header + [lines[at] for at in run]
        if len(body) > 1 and max(map(len, body)) > 1:
            yield _Block("", "table", rows=body)
            header = body[:1]
            continue
        for row in (rows[at] for at in run):
            if all(len(cell.blocks) == 1 and cell.blocks[0].kind == "paragraph" for cell in row):
                yield _Block(" ".join(cell.blocks[0].text for cell in row))
            else:
                yield from (block for cell in row for block in cell.blocks)


def _filled(row: list[_Cell]) -> list[_Cell]:
    """Return the cells with blocks, without numbers of the lines of code beside them."""
    filled = [cell for cell in row if cell.blocks]
    code = [cell for cell in filled if cell.blocks[0].kind == "code"]
    numbers = code[0].blocks[0].text.split() if len(code) > 1 else [""]
    first = int(numbers[0]) if numbers[0].isdecimal() and len(numbers[0]) < 10 else -1
    is_count = numbers == [str(first + at) for at in range(len(numbers))]
    return [cell for cell in filled if not is_count or cell is not code[0]]


def _is_complex(row: list[_Cell]) -> bool:
    """Return whether a row arranges blocks rather than values."""
    for cell in row:
        headings = any(block.kind == "heading" for block in cell.blocks)
        if headings and (len(row) == 1 or len(cell.blocks) > 1):
            return True
        if any(block.kind == "code" and "\n" in block.text for block in cell.blocks):
            return True
        if len(cell.blocks) > 1 and sum(len(block.in_line()) for block in cell.blocks) > _LONGEST_CELL:
            return True
    return False


def _values(row: list[_Cell]) -> list[Value]:
    return [Value(cell.column, cell.columns, "".join(_joined(cell.blocks))) for cell in row]


def _joined(blocks: list[_Block]) -> Iterator[str]:
    last = ""
    for before, block in zip([None, *blocks], blocks, strict=False):
        text = block.in_line()
        if before and block.mark != ": ":
            is_listed = before.kind == block.kind == "item" and block.mark == "- "
            yield "; " if is_listed and not last.endswith(_FINAL) else " "
        last = text
        yield text
