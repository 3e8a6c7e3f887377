"""Labelled sets from files, in several formats; every label is verified on loading.

```python
dataset = load("courses", "queries.jsonl")     # documents that kinsplit.loaders reads, and questions
dataset = load("beir/scifact")                 # a folder with both; the format is detected
```

Offsets count code points of the loaded text; nothing is stripped, normalised or converted.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kinsplit.errors import LoadError, require
from kinsplit.evaluation.datasets import beir, chroma, rows, sc_qrels
from kinsplit.evaluation.datasets.format import DatasetFormat, DatasetWarning, Given
from kinsplit.evaluation.labels import Dataset

#: All formats, in the order of listings.
FORMATS: tuple[DatasetFormat, ...] = (rows.FORMAT, sc_qrels.FORMAT, chroma.FORMAT, rows.LIST_FORMAT, beir.FORMAT)


def names() -> list[str]:
    """Return the names of the formats."""
    return [fmt.name for fmt in FORMATS]


def load(
    documents: str | Path | Iterable[str | Path],
    questions: str | Path | Iterable[str | Path] | None = None,
    *,
    format: str | None = None,
    name: str | None = None,
) -> Dataset:
    """Load documents and the questions about them, and verify every label.

    Args:
        documents: Files and folders with documents, or folders with documents and questions. Several folders make one
            set, whose documents are searched together.
        questions: Files with the questions; None to find them in the folders.
        format: Name of the format; None to detect it.
        name: Name of the dataset; None for the name of the folder.

    Raises:
        LoadError: A path doesn't exist, no format or more than one fits, or the files have problems: the first one is
            described with its file, line and remedy, and the others are counted.
        InvalidParameterError: The format is unknown, or no path is given.
    """
    given = Given(_paths("documents", documents), () if questions is None else _paths("questions", questions))
    chosen, found = _chosen(given, format)
    first = given.documents[0].resolve()
    return chosen.read(found, name or (first.name if len(given.documents) == 1 else first.parent.name))


def _paths(field: str, value: str | Path | Iterable[str | Path]) -> tuple[Path, ...]:
    paths = (Path(value),) if isinstance(value, str | Path) else tuple(Path(path) for path in value)
    require(paths, field, "must name a file or a folder", [], "Give at least one.")
    for path in paths:
        if not path.exists():
            raise LoadError(path, "doesn't exist. Check the spelling, and the folder you are in.")
        if field == "questions" and path.is_dir():
            raise LoadError(path, "is a folder, and questions are files. Name the file.")
    return paths


def _chosen(given: Given, name: str | None) -> tuple[DatasetFormat, Given]:
    rule = f"must be one of {', '.join(names())}"
    require(name in (None, *names()), "format", rule, name, "Take one of them.")
    fitting = [(fmt, found) for fmt in FORMATS if name in (None, fmt.name) and (found := fmt.find(given)) is not None]
    if len(fitting) == 1:
        return fitting[0]
    path = (given.questions or given.documents)[0]
    if fitting:
        several = ", ".join(fmt.name for fmt, _ in fitting)
        raise LoadError(path, f"fits the formats {several}. Name one of them, or the file with the questions.")
    if name is not None:
        (shape,) = (fmt.shape for fmt in FORMATS if fmt.name == name)
        raise LoadError(path, f"doesn't have the format {name}, which is {shape}.")
    shapes = "; ".join(f"{fmt.name}: {fmt.shape}" for fmt in FORMATS)
    raise LoadError(path, f"has no known format of questions. Known formats: {shapes}.")


__all__ = ["FORMATS", "DatasetFormat", "DatasetWarning", "load", "names"]
