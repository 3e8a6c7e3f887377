"""Descriptions in Google's style of docstrings, which say what options of commands and fields of models are."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

# The word in brackets follows the name: `output (FILE): File for the rows.`
_ENTRY = re.compile(r"^    (\w+)(?: \((\S+)\))?: (.+(?:\n {8}.+)*)", re.MULTILINE)


class Described(NamedTuple):
    """The description of one thing.

    Attributes:
        word: The word in brackets; empty if there is none.
        text: The description, as one line.
    """

    word: str
    text: str


def summary(docstring: str | None, section: str) -> str:
    """Return what stands before a section, with a line for each paragraph."""
    text, _, _ = inspect.cleandoc(docstring or "").partition(f"\n\n{section}:\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def described(docstring: str | None, section: str) -> dict[str, Described]:
    """Return the descriptions in a section, by name."""
    _, _, text = inspect.cleandoc(docstring or "").partition(f"\n\n{section}:\n")
    entries = _ENTRY.findall(text.partition("\n\n")[0])
    return {name: Described(word, " ".join(lines.split())) for name, word, lines in entries}
