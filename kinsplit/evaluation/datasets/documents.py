"""The documents of a dataset, read by kinsplit's loaders."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from kinsplit.chunk import Document
from kinsplit.display import inline
from kinsplit.errors import KinsplitWarning, LoadError
from kinsplit.loaders import SourceFile, discover, load_files

#: The file of a folder that holds its documents as rows.
ROWS = "docs.jsonl"


class DatasetWarning(KinsplitWarning):
    """A problem of a dataset that may affect its figures."""


def load_documents(paths: Sequence[Path], questions: Iterable[Path] = ()) -> tuple[Document, ...]:
    """Load the documents under some paths.

    Args:
        paths: Files and folders. Of a folder with a `docs.jsonl`, only that file is read; anything else is read as by
            `kinsplit index`, with the same ids.
        questions: Files to skip, since they hold questions.

    Raises:
        LoadError: A document can't be loaded, or no document has text.
    """
    rows = [rows_file(path) for path in paths]
    left_out = {path.resolve() for path in questions}
    others = [path for path, file in zip(paths, rows, strict=True) if file is None]
    files = [file for file in discover(others).files if file.resolved not in left_out] if others else []
    # Several folders may hold a docs.jsonl each: the ids of the files don't matter, since rows have their own.
    files += [SourceFile(file, file.as_posix(), {}, given=True) for file in rows if file is not None]
    documents: list[Document] = []
    for loaded in load_files(files):
        if loaded.error is not None:
            raise loaded.error
        for warning in loaded.warnings:
            warnings.warn(DatasetWarning(inline(f"{loaded.source.source_id}: {warning}")), stacklevel=2)
        for document in loaded.documents:
            # No measure uses other metadata, which every chunk would carry.
            title = {"title": document.metadata["title"]} if "title" in document.metadata else {}
            documents.append(replace(document, metadata=title))
    return checked(documents, paths[0])


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
