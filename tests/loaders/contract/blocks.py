"""Blocks of documents, each of which some formats can hold; the builders write them as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Grid = list[list[tuple[int, int]]]  # where the cell at a place begins


class Words(NamedTuple):
    """A paragraph in Latin letters."""

    text: str


class Scripts(NamedTuple):
    """A paragraph in any letters."""

    text: str


class Heading(NamedTuple):
    """A heading."""

    level: int
    text: str


class Power(NamedTuple):
    """A paragraph with a raised number."""

    before: str
    raised: str
    after: str


class Note(NamedTuple):
    """A paragraph with a footnote."""

    before: str
    note: str
    after: str


class Number(NamedTuple):
    """A number and the format in which a spreadsheet shows it."""

    value: float
    format: str
    shown: str


class Items(NamedTuple):
    """A numbered list."""

    items: tuple[str, ...]
    start: int = 1


class Code(NamedTuple):
    """Lines of code."""

    text: str


class Table:
    """A table, whose merged cells have their value in the first row and column."""

    def __init__(self, rows: Sequence[Sequence[str]], begins: Grid | None = None) -> None:
        """Create a table from the values at its places; by default, every place is a cell."""
        self.rows = rows
        self.begins = begins or [[(row, column) for column, _ in enumerate(line)] for row, line in enumerate(rows)]

    def cells(self, row: int) -> list[tuple[int, int, int, str]]:
        """Return the cells that begin in a row: the column, columns, rows and value."""
        found = []
        for column, begin in enumerate(self.begins[row]):
            if begin == (row, column):
                columns, rows = self.begins[row].count(begin), sum(begin in line for line in self.begins)
                found.append((column, columns, rows, self.rows[row][column]))
        return found

    def __repr__(self) -> str:
        """Return the values and the cells."""
        return f"Table({self.rows}, {self.begins})"


class DrawnTable(Table):
    """A table without merged cells whose values are drawn at their places."""


class Nested(NamedTuple):
    """A row with a table in its middle cell, below a header."""

    before: str
    inner: tuple[tuple[str, ...], ...]
    after: str


class Box(NamedTuple):
    """A box that is checked or not, before a text."""

    checked: bool
    text: str


class Ruby(NamedTuple):
    """Ideographs with their reading, between texts."""

    before: str
    base: str
    reading: str
    after: str


class Picture(NamedTuple):
    """A picture with an alternative text."""

    text: str


class Photo(NamedTuple):
    """A picture without a text."""

    text: str = ""


class Hidden(NamedTuple):
    """A text that the application doesn't show."""

    text: str


class Comment(NamedTuple):
    """A comment on a word."""

    text: str


class Header(NamedTuple):
    """The header of the pages."""

    text: str


class Footer(NamedTuple):
    """The footer of the pages."""

    text: str


class TextBox(NamedTuple):
    """A text in a frame of its own."""

    text: str


class SpeakerNotes(NamedTuple):
    """What is to be said to a slide."""

    text: str


class Attached(NamedTuple):
    """An attached text file."""

    text: str


class Page(NamedTuple):
    """The end of a page or slide."""


class Columns(NamedTuple):
    """Lines in two columns."""

    left: tuple[str, ...]
    right: tuple[str, ...]


class Said(NamedTuple):
    """What somebody says from a second on."""

    second: int
    speaker: str
    text: str


class Field(NamedTuple):
    """A field of the file's own."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Builder:
    """The writer of a kind of files.

    Attributes:
        suffix: The suffix of its files.
        new: Function that begins a file.
        parts: Functions that add a block, by the class of the blocks.
        finish: Function from the file to its bytes.
    """

    suffix: str
    new: Callable[[], Any]
    parts: Mapping[type, Callable[[Any, Any], object]]
    finish: Callable[[Any], bytes]

    def holds(self, blocks: Sequence[object]) -> bool:
        """Return whether a file can hold all of some blocks."""
        return all(type(block) in self.parts for block in blocks)

    def build(self, *blocks: object) -> bytes:
        """Return a file with some blocks."""
        target = self.new()
        for block in blocks:
            self.parts[type(block)](target, block)
        return self.finish(target)
