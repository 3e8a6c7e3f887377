"""Sections named by the contexts of chunks: `python benchmarks/sections.py`.

section_labels.json has, for each document, the sections in order, with the first words of each. They were read in the
documents and written by hand. A chunk is right if its context names the section that holds most of its characters.
Chunks before the first label, and those after a label without a name (a filing's signatures and exhibits), don't count.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit.chunk import Chunk, Document
from kinsplit.loaders import load
from kinsplit.parsers import create, default_strategy

#: Target: share of chunks whose context names the right section.
RIGHT = 0.95
_LABELS = Path(__file__).with_name("section_labels.json")

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)


class Label(NamedTuple):
    """A section of a document: its first code point and its name, empty for text that is not checked."""

    start: int
    name: str


class Score(NamedTuple):
    """Chunks of one file: all, those that were checked, and the contexts of the wrong ones with the right name."""

    chunks: int
    checked: int
    wrong: list[tuple[str, str]]

    @property
    def share(self) -> float:
        return 1 - len(self.wrong) / max(1, self.checked)


@app.command()
def main(strategy: str = "", details: bool = False) -> None:
    """Check the contexts of a strategy's chunks; of the default one's if none is named."""
    splitter = create(strategy) if strategy else default_strategy()
    shown = Table("file", "chunks", "checked", "right", f">= {RIGHT:.0%}", title=f"Sections named ({splitter.name})")
    wrong: list[tuple[str, str]] = []
    for entry in json.loads(_LABELS.read_text(encoding="utf-8")):
        for name in entry["files"]:
            if not (path := SHARED_DATA / name).is_file():
                console.print(f"There is no {path}.")
                continue
            ((document,),) = (loaded.documents for loaded in load(path))
            score = judge(splitter.chunk(document), labels(document, entry["sections"]))
            met = "[green]yes[/]" if score.share >= RIGHT else "[red]no[/]"
            shown.add_row(name, f"{score.chunks:,}", f"{score.checked:,}", f"{score.share:.1%}", met)
            wrong += score.wrong
    console.print(shown)
    if details:
        for (name, context), number in Counter(wrong).most_common():
            console.print(f"{number} of {name!r}: {context!r}", markup=False)


def labels(document: Document, sections: Sequence[tuple[str, str]]) -> list[Label]:
    """Return the labels of a document. Only letters and digits are compared, since files differ in the rest."""
    places = [at for at, character in enumerate(document.text) if character.isalnum()]
    letters = "".join(document.text[at] for at in places).casefold()
    if len(letters) != len(places):
        raise typer.BadParameter(f"{document.id} has letters that become several in lower case.")
    found: list[Label] = []
    at = 0
    for name, words in sections:
        at = letters.find("".join(filter(str.isalnum, words)).casefold(), at)
        if at < 0:
            raise typer.BadParameter(f"{document.id} has no {words!r} after {found[-1:]}.")
        found.append(Label(places[at], name))
    return found


def judge(chunks: Sequence[Chunk], found: Sequence[Label]) -> Score:
    """Compare the contexts of leaves with the labels."""
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    names = [(largest(leaf, found), " ".join(leaf.context.casefold().split())) for leaf in leaves]
    checked = [(name, context) for name, context in names if name]
    return Score(len(leaves), len(checked), [(n, context) for n, context in checked if n.casefold() not in context])


def largest(leaf: Chunk, found: Sequence[Label]) -> str:
    """Return the name of the section that holds most characters of a leaf."""
    starts = [label.start for label in found]
    held: Counter[str] = Counter()
    for start, end in leaf.spans:
        for number in range(bisect_right(starts, start) - 1, len(found)):
            first = max(start, starts[number]) if number >= 0 else start
            last = min(end, starts[number + 1]) if number + 1 < len(found) else end
            if first < last:
                held[found[number].name if number >= 0 else ""] += last - first
    return held.most_common(1)[0][0]


if __name__ == "__main__":
    app()
