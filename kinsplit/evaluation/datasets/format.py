"""The interface of a format of labelled sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kinsplit.evaluation.labels import Dataset


class Given(NamedTuple):
    """The paths that somebody names.

    Attributes:
        documents: Files and folders with the documents, or folders with all that belongs to a set.
        questions: Files with the questions and their labels; none where they lie in those folders.
    """

    documents: tuple[Path, ...]
    questions: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Format:
    """A format of labelled sets.

    Attributes:
        name: Names it.
        shape: What lies in its folder, or which files make it up, in one line.
        find: Returns the given paths with every file named that the format needs; None if they are not its own.
        read: Reads what `find` returned, verifies it, and returns it under a name. It raises a LoadError, which names
            the first problem and counts the others.
    """

    name: str
    shape: str
    find: Callable[[Given], Given | None]
    read: Callable[[Given, str], Dataset]
