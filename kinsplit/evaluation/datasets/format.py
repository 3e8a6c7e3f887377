"""The interface of a format of labelled sets, its files of rows, and the problems found in them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from kinsplit.chunk import Document
from kinsplit.errors import KinsplitWarning, LoadError, inline
from kinsplit.evaluation.labels import Dataset
from kinsplit.loaders import SourceFile, UnreadableError, discover, load_files, row_id
from kinsplit.loaders.discovery import absolute, folder_id
from kinsplit.loaders.formats.json_rows import parse


class Given(NamedTuple):
    """The paths of a labelled set."""

    documents: tuple[Path, ...]
    questions: tuple[Path, ...] = ()  # Files with the questions and labels; empty if they are in those folders.

    def documents_in(self, folder: str) -> tuple[Path, ...]:
        """Return the documents' folders of a name inside the given ones, or else these."""
        return tuple(path / folder if (path / folder).is_dir() else path for path in self.documents)


@dataclass(frozen=True)
class DatasetFormat:
    """A format of labelled sets.

    Attributes:
        name: Name of the format.
        shape: Files of the format, in one line.
        find: Function that completes paths with all files of the format; it returns None if they have another format.
        read: Function that reads and verifies the result of `find` and returns a dataset with a name. Its LoadError
            describes the first problem and counts the others.
    """

    name: str
    shape: str
    find: Callable[[Given], Given | None]
    read: Callable[[Given, str], Dataset]


#: The file of a folder that holds its documents as rows.
ROWS = "docs.jsonl"


class DatasetWarning(KinsplitWarning):
    """A problem of a dataset that may affect its figures."""


def load_documents(paths: Sequence[Path], questions: Iterable[Path] = (), name: str = "") -> Dataset:
    """Load the documents under some paths, as a dataset without questions.

    A row has its `docid` as its id, or `FILE#docid` if another document has that `docid` too. Of a folder with a
    `docs.jsonl`, only that file is read; anything else is read as by `kinsplit index`, with the same ids. Files with
    questions are skipped.

    Raises:
        LoadError: A document can't be loaded, or no document has text.
    """
    rows = [rows_file(path) for path in paths]
    left_out = {path.resolve() for path in questions}
    others = [path for path, file in zip(paths, rows, strict=True) if file is None]
    files = [file for file in discover(others).files if file.resolved not in left_out] if others else []
    files += [_rows_source(absolute(file)) for file in rows if file is not None]
    documents: list[Document] = []
    of_rows: dict[str, str] = {}
    for loaded in load_files(replace(file, scoped=True) for file in files):
        if loaded.error is not None:
            raise loaded.error
        for warning in loaded.warnings:
            warnings.warn(DatasetWarning(inline(f"{loaded.source.source_id}: {warning}")), stacklevel=2)
        for document in loaded.documents:
            # No measure uses other metadata, which every chunk would carry.
            title = {"title": document.metadata["title"]} if "title" in document.metadata else {}
            documents.append(replace(document, metadata=title))
            if document.id != loaded.source.source_id:
                of_rows[document.id] = loaded.source.source_id
    return _named(checked(documents, paths[0]), of_rows, name)


def _rows_source(file: Path) -> SourceFile:
    return SourceFile(file, f"{folder_id(file.parent, file.parent)}/{file.name}", {}, given=True)


def _named(documents: Sequence[Document], files: Mapping[str, str], name: str) -> Dataset:
    """Give rows their own ids, unless another document has the same."""
    docids = {document.id: _docid(document.id, files.get(document.id)) for document in documents}
    taken = Counter(docids.values()) + Counter(files.keys())
    ids = {id_: docid if taken[docid] == 1 else id_ for id_, docid in docids.items()}
    renamed = tuple(replace(document, id=ids[document.id]) for document in documents)
    return Dataset(name, renamed, (), {ids[id_]: file for id_, file in files.items()})


def _docid(id_: str, file_id: str | None) -> str:
    return id_ if file_id is None else id_.removeprefix(row_id(file_id, ""))


def rows_file(path: Path) -> Path | None:
    """Return the file of rows that a path names or holds, or None."""
    file = path / ROWS if path.is_dir() else path
    return file if file.suffix.lower() in (".json", ".jsonl") and file.is_file() else None


def checked(documents: Sequence[Document], path: Path) -> tuple[Document, ...]:
    """Return the documents if at least one has text.

    Raises:
        LoadError: No document has text.
    """
    if not any(document.text.strip() for document in documents):
        raise LoadError(path, "holds no document with text. Name the documents that the questions are about.")
    return tuple(documents)


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
