"""The interface of a format of labelled sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kinsplit.evaluation.labels import Dataset


class Given(NamedTuple):
    """The paths of a labelled set.

    Attributes:
        documents: Files and folders with the documents, or folders with the whole set.
        questions: Files with the questions and labels; empty if they are in those folders.
    """

    documents: tuple[Path, ...]
    questions: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Format:
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
