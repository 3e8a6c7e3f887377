"""Places where chunks end or begin inside something whole: a sentence, an item, a row, a statement, a line or a fence.

They are counted on the spans of anybody's chunks, by the units that kinsplit finds in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinsplit.chunk import Document
from kinsplit.parsers.packing.refine import Limit
from kinsplit.parsers.units.builder import document_sections, text_units
from kinsplit.parsers.units.sentences import IntArray, Units, as_units, code_points, is_space
from kinsplit.spans import Span
from kinsplit.text.blocks import Kind, parts
from kinsplit.text.graphemes import with_line_feeds
from kinsplit.text.marks import begins_with_closing_mark, ends_with_enumerator

# What is whole, by the kind of the block that it is in.
_WHOLE: Mapping[str, tuple[Kind, ...]] = {
    "item": ("list",),
    "row": ("table", "records"),
    "statement": ("code",),
    "fence": ("fence",),
}
# Kinds of blocks with sentences, and those whose lines are whole; in all others, a line break is white space.
_PROSE: tuple[Kind, ...] = ("paragraph", "heading", "list")
_LINES: tuple[Kind, ...] = ("table", "records", "code", "fence")
_LINE = re.compile(r"\S[^\n]*")

#: What may be cut, with the description of such cuts.
PLACES = {
    "torn": "inside any of the following",
    "sentence": "inside a sentence or a heading",
    "item": "inside an item of a list",
    "row": "inside a row of a table, a log entry, a message of a chat, or another record",
    "statement": "inside a statement of source code",
    "line": "inside a line of source code, tables, records or fences",
    "fence": "inside a code fence",
}


Mask = npt.NDArray[np.bool_]


class CutCount(NamedTuple):
    """Number of cuts inside something whole."""

    all: int = 0
    avoidable: int | None = 0  # Those inside what would fit into a chunk by itself; None if no limit is known.

    def __add__(self, other: CutCount) -> CutCount:  # type: ignore[override]
        avoidable = None if self.avoidable is None or other.avoidable is None else self.avoidable + other.avoidable
        return CutCount(self.all + other.all, avoidable)


class Cuts(NamedTuple):
    """The cuts of some chunks.

    Attributes:
        places: Number of different places, without the edges of the text. White space counts as no distance.
        inside: Number of those inside something whole, by the names in `PLACES`.
        enumerators: Number of chunks that end with an enumerator of what follows, such as "2.1." or "(a)".
        marks: Number of chunks that begin with a mark that closes what stands before it, such as "[1]" or "”".
    """

    places: int = 0
    inside: Mapping[str, CutCount] = dict.fromkeys(PLACES, CutCount())
    enumerators: int = 0
    marks: int = 0

    def __add__(self, other: Cuts) -> Cuts:  # type: ignore[override]
        inside = {name: count + other.inside[name] for name, count in self.inside.items()}
        marks = self.enumerators + other.enumerators, self.marks + other.marks
        return Cuts(self.places + other.places, inside, *marks)


def count_cuts(document: Document, chunks: Sequence[Sequence[Span]], limit: Limit | None = None) -> Cuts:
    """Count the cuts of a document's chunks.

    A cut is the start or the end of a span that is not at the edge of the text. What is longer than the limit has to be
    cut: of a nested list, an item that is too long is judged by its own items.

    Args:
        document: The document.
        chunks: Spans of each chunk, leaves only.
        limit: Limit of the chunks; None if it isn't known.
    """
    text = document.text
    solid = np.concatenate([[0], np.cumsum(~is_space(code_points(text)), dtype=np.int64)])
    places = np.unique(solid[[edge for spans in chunks for span in spans for edge in span]])
    places = places[(places > 0) & (places < solid[-1])]
    judged = _Judged(text, solid, places, limit)
    masks = {name: judged.inside(units, has_parts=name == "item") for name, units in _whole(document).items()}
    masks = {"torn": tuple(map(np.logical_or.reduce, zip(*masks.values(), strict=True))), **masks}
    inside = {
        name: CutCount(int(every.sum()), None if limit is None else int(avoidable.sum()))
        for name, (every, avoidable) in masks.items()
    }
    enumerators = sum(any(ends_with_enumerator(text, *span) for span in spans) for spans in chunks)
    marks = sum(any(begins_with_closing_mark(text, *span) for span in spans) for spans in chunks)
    return Cuts(len(places), inside, enumerators, marks)


def _whole(document: Document) -> Mapping[str, Units]:
    """Return what is whole in a document, by the names in `PLACES`."""
    text, found = with_line_feeds(document.text), document_sections(document)
    blocks = [block for section in found for block in section.blocks]
    if not blocks:
        return dict.fromkeys(PLACES, as_units([]))
    starts, kinds = [block.start for block in blocks], np.array([block.kind for block in blocks])

    def of(units: Units, own: Sequence[Kind]) -> Units:
        chosen = np.isin(kinds[np.searchsorted(starts, units.starts, side="right") - 1], own)
        return Units(units.starts[chosen], units.ends[chosen])

    whole, sentences = (text_units(document, "auto", found, join_items=joined).units for joined in (True, False))
    lined = (block for block in blocks if block.kind in _LINES)
    lines = [match.span() for block in lined for match in _LINE.finditer(text, block.start, block.end)]
    inside = {name: of(whole, own) for name, own in _WHOLE.items()}
    return {"sentence": of(sentences, _PROSE), "line": as_units(lines), **inside}


@dataclass(frozen=True, slots=True)
class _Judged:
    """Places of cuts in a text.

    Attributes:
        text: The text.
        solid: int64[n + 1], number of characters before each offset that are no white space.
        places: Ascending numbers of such characters before each place.
        limit: Limit of the chunks.
    """

    text: str
    solid: IntArray
    places: IntArray
    limit: Limit | None

    def inside(self, units: Units, *, has_parts: bool) -> tuple[Mask, Mask]:
        """Return which places are inside units, which are disjoint and in document order, and which could be avoided.

        Args:
            units: The units.
            has_parts: Whether one that is too long is judged by its own items.
        """
        every, avoidable = np.zeros((2, len(self.places)), dtype=np.bool_)
        if len(units.starts) and len(self.places):
            numbers = np.searchsorted(self.solid[units.starts], self.places, side="left") - 1
            every = (numbers >= 0) & (self.solid[units.ends[numbers]] > self.places)
        if self.limit is None or not every.any():
            return every, avoidable
        torn = np.unique(numbers[every])
        found = Units(units.starts[torn], units.ends[torn])
        fits = self.limit.ruler.lengths([self.text], [found])[0] <= self.limit.size
        avoidable[every] = np.isin(numbers[every], torn[fits])
        for start, end in Units(found.starts[~fits], found.ends[~fits]).spans() if has_parts else ():
            inner = as_units(parts(self.text[start:end], "list")).shifted(start)
            if len(inner.starts) > 1:
                avoidable |= self.inside(inner, has_parts=True)[1]
        return every, avoidable
