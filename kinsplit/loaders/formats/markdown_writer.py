"""Writer of Markdown-like text from a stream of text and block boundaries, in one pass and linear time."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.loaders.formats.markdown import escaped, fenced, pipe_table, without_blanks
from kinsplit.spans import Heading

_DEEPEST = 8  # maximum number of indented list levels
_BELOW_ALL = 7  # level of a bold line, below the six of headings
_LONGEST_BOLD = 150  # characters of a bold line that may be a heading
_FINAL = (".", ",", ";", ":", "!", "?")


@dataclass(slots=True)
class _List:
    ordered: bool
    count: int = 0
    marker: str = ""  # of an item without a first line yet
    width: int = 2


class MarkdownWriter:
    """Collects text until a boundary ends the block, then writes the block.

    Real-world markup is rarely well-formed, so every call is allowed at any time: an unclosed block ends where the next
    one begins, and no text is dropped.
    """

    def __init__(self) -> None:
        self.first_heading: str | None = None
        self.bold_lines: list[Heading] = []
        self._length = 0
        self._has_bold = self._has_plain = False
        self._blocks: list[str] = []
        self._after_item = False
        self._inline: list[str] = []
        self._heading = 0
        self._lists: list[_List] = []
        self._rows: list[list[str]] | None = None
        self._span = 0  # columns of the open cell; 0 outside of cells
        self._outer_lists = 0  # open lists when the cell began
        self._pre: list[str] | None = None
        self._language = ""

    def text(self, data: str, *, bold: bool = False) -> None:
        """Add text to the open block."""
        if self._pre is not None:
            self._pre.append(data)
        elif data:
            self._inline.append(data.replace("\n", " ").replace("\r", " "))
            if not data.isspace():
                self._has_bold, self._has_plain = self._has_bold or bold, self._has_plain or not bold

    def line_break(self) -> None:
        """Break the line inside the open block."""
        (self._inline if self._pre is None else self._pre).append("\n")

    def block(self) -> None:
        """End the open block."""
        if self._pre is not None:
            if self._pre and not self._pre[-1].endswith("\n"):
                self._pre.append("\n")
        elif self._span:
            self._inline.append(" ")
        else:
            is_bold = self._has_bold and not self._has_plain
            if text := self._take():
                self._paragraph(text, bold=is_bold)

    def start_heading(self, level: int) -> None:
        """Make the next block a heading."""
        self._leave_table()
        self.block()
        self._heading = level

    def end_heading(self) -> None:
        """End the heading."""
        self.block()
        self._heading = 0

    def start_list(self, *, ordered: bool) -> None:
        """Begin a list, perhaps inside another."""
        self.block()
        self._lists.append(_List(ordered))

    def end_list(self) -> None:
        """End the innermost list."""
        self.block()
        if len(self._lists) > (self._outer_lists if self._span else 0):
            self._lists.pop()

    def start_item(self) -> None:
        """Begin a list item."""
        self.block()
        if not self._lists:
            self._lists.append(_List(ordered=False))
        top = self._lists[-1]
        top.count += 1
        top.marker = f"{top.count}. " if top.ordered else "- "
        top.width = len(top.marker)

    def start_table(self) -> None:
        """Begin a table; a table around it is read as blocks from here on."""
        self._leave_table()
        self.end_table()
        self._rows = []

    def start_row(self) -> None:
        """Begin a row."""
        self.end_cell()
        self.block()
        if self._rows is not None:
            self._rows.append([])

    def start_cell(self, span: int) -> None:
        """Begin a cell over `span` columns."""
        self.end_cell()
        self.block()
        if self._rows is not None and self._pre is None:
            if not self._rows:
                self._rows.append([])
            self._span = span
            self._outer_lists = len(self._lists)

    def end_cell(self) -> None:
        """End the open cell."""
        if not self._span or self._rows is None:
            self.block()
            return
        self._rows[-1] += [self._take().replace("\n", " "), *[""] * (self._span - 1)]
        del self._lists[self._outer_lists :]
        self._span = 0

    def end_table(self) -> None:
        """End the table and write it."""
        self.end_cell()
        rows, self._rows = self._rows, None
        self._table(rows or [])

    def start_pre(self, language: str) -> None:
        """Begin preformatted text."""
        self._leave_table()
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
        if text:
            self._emit(fenced(text, self._language))

    def finish(self) -> str:
        """End all open blocks and return the whole text."""
        self.end_pre()
        self.end_table()
        return "".join(self._blocks)

    def _take(self) -> str:
        """Return the open block's text with collapsed whitespace and no empty lines, and start a new block."""
        lines = (" ".join(line.split()) for line in "".join(self._inline).split("\n"))
        self._inline = []
        self._has_bold = self._has_plain = False
        return "\n".join(line for line in lines if line)

    def _paragraph(self, text: str, *, bold: bool = False) -> None:
        if self._heading:
            text = text.replace("\n", " ")
            if self._heading == 1 and self.first_heading is None:
                self.first_heading = text
            self._emit(f"{'#' * self._heading} {text}")
            self._heading = 0
            return
        text = escaped(text)
        if not self._lists:
            self._emit(text)
            if bold and len(text) <= _LONGEST_BOLD and not text.endswith(_FINAL) and any(map(str.isalpha, text)):
                title = " ".join(text.split())
                self.bold_lines.append(Heading(self._length - len(text), self._length, _BELOW_ALL, title))
            return
        top = self._lists[-1]
        indent = "  " * min(len(self._lists) - 1, _DEEPEST)
        marker, top.marker = top.marker or " " * top.width, ""
        self._emit(indent + marker + text.replace("\n", "\n" + indent + " " * top.width), item=True)

    def _emit(self, block: str, *, item: bool = False) -> None:
        if self._blocks:
            self._blocks.append("\n" if item and self._after_item else "\n\n")
            self._length += len(self._blocks[-1])
        self._blocks.append(block)
        self._length += len(block)
        self._after_item = item

    def _leave_table(self) -> None:
        """Inside a cell, write the rows so far, and read the rest of the table as blocks."""
        if self._span and self._rows is not None:
            rows, self._rows = self._rows, None
            self._span = 0
            self._table(rows)
            self.block()

    def _table(self, rows: list[list[str]]) -> None:
        table = without_blanks(rows)
        if len(table) > 1 and max(map(len, table)) > 1:
            self._emit(pipe_table(table))
            return
        for row in table:
            self._paragraph(" ".join(filter(None, row)))
