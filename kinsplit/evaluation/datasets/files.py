"""Files of rows, and the problems found in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kinsplit.errors import LoadError
from kinsplit.loaders import UnreadableError
from kinsplit.loaders.formats.json_rows import parse


class FileRow(NamedTuple):
    """An object of a file."""

    path: Path
    place: str  # Location in the file: "line 3", "row 3".
    value: dict[str, Any]


def read_text(path: Path, *, keep_mark: bool = False) -> str:
    """Return the text of a UTF-8 file with its line endings.

    A byte order mark, which counts in offsets, is kept as U+FEFF if asked.

    Raises:
        LoadError: The file can't be read, or isn't UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8" if keep_mark else "utf-8-sig")
    except OSError as error:
        raise LoadError(path, f"can't be read: {error.strerror}. Check that it is there and readable.") from error
    except UnicodeDecodeError as error:
        raise LoadError(path, f"is not UTF-8: byte {error.start} can't be decoded. Convert it first.") from error


def lines(path: Path) -> Iterator[FileRow]:
    r"""Yield the objects of a JSONL file; lines end only at \n, since they may contain U+2028 or \x85.

    Raises:
        LoadError: A line is not a JSON object.
    """
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            yield object_row(path, f"line {number}", _parsed(path, line, f"line {number}: "))


def first_line(path: Path) -> FileRow | None:
    """Return the first object of a JSONL file without reading the rest; None for an empty file.

    Raises:
        LoadError: The first line is not a JSON object.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                return object_row(path, f"line {number}", _parsed(path, line, f"line {number}: "))
    return None


def read_json(path: Path) -> Any:
    """Return the value of a JSON file, or raise LoadError if the file is not valid JSON."""
    return _parsed(path, read_text(path), "")


def object_row(path: Path, place: str, value: object) -> FileRow:
    """Return a value as a row, or raise LoadError if the value is not an object."""
    if not isinstance(value, dict):
        raise LoadError(path, f"{place}: must be a JSON object (got {shown(value)}).")
    return FileRow(path, place, value)


def shown(value: object) -> str:
    """Format a value for an error message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _parsed(path: Path, text: str, where: str) -> Any:
    try:
        return parse(text, where)
    except UnreadableError as error:
        raise LoadError(path, str(error)) from error


class Problems:
    """The problems of a labelled set found so far, in a file to name if there is no question."""

    def __init__(self, path: Path) -> None:
        self.count, self._path, self._described = 0, path, ""

    def add(self, row: FileRow, query_id: object, field: str, rule: str, value: object, remedy: str) -> None:
        """Add a problem of a row; the id of its question may be unknown, and the rule has no full stop."""
        self.count += 1
        if self.count == 1:
            query = "" if query_id is None else f", query {shown(query_id)}"
            self._path = row.path
            self._described = f"{row.place}{query}: {field} {rule} (got {shown(value)}). {remedy}"

    def check(self, *, empty: bool) -> None:
        """Raise the first problem.

        Raises:
            LoadError: There is a problem.
        """
        if self.count:
            more = self.count - 1
            tail = f" {more:,} more problem{'' if more == 1 else 's'} in the labels." if more else ""
            raise LoadError(self._path, self._described + tail)
        if empty:
            raise LoadError(self._path, "holds no question. Write at least one.")
