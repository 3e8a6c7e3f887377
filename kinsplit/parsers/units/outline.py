"""Contexts from the headings of a document; sections and contexts of documents with an outline, such as programs."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from kinsplit.chunk import Beside, Document
from kinsplit.spans import Heading, Part, Span
from kinsplit.text.blocks import Block, Section
from kinsplit.text.code import top_of
from kinsplit.text.graphemes import grapheme_floor, trim, with_line_feeds

# First words of the titles of parts that are cut at the parts inside them; all others stay whole if they fit.
_CONTAINERS = frozenset(
    {
        *("class", "enum", "impl", "interface", "mod", "module", "namespace", "object", "protocol", "record", "struct"),
        *("trait", "type", "union"),
    }
)
_CLOSING = re.compile(r"(?:\W|end\b)*")
# What follows a part without a line of its own: the ends of the parts around it, and the rest of the last line.
_REST = re.compile(r"(?:\s*+(?:[)\]};,]|end\b))*+.*")
# Maximum number of sibling parts named in a context; more would blur the embedding.
_MOST_NAMES = 6


class OutlineContexts:
    """The contexts of the chunks of a document with an outline, one after the other.

    They have no headings, so all chunks of the file belong to one section, but a note of two lines: the file name, if
    the document's id contains one, and the path of the parts around the chunk, followed by the names of the parts that
    the chunk touches side by side: `class Stack > def push, def pop`.
    """

    def __init__(self, document: Document) -> None:
        name = document.id.rpartition("/")[2].partition("#")[0]
        self._name = [name] if "." in name else []
        self._text, self._outline = document.text, document.outline
        self._next = 0  # the first part that begins after all chunks so far
        self._open: list[Part] = []

    def of(self, spans: Sequence[Span]) -> Beside:
        """Return what stands beside a chunk, which doesn't begin before the previous one."""
        start, end = spans[0].start, spans[-1].end
        begun = bisect_left(self._outline, (end,), self._next)
        self._open = [part for part in (*self._open, *self._outline[self._next : begun]) if start < part.end]
        self._next = begun
        near = [part for part in self._open if part.start < end]
        around = [part for part in near if part.start <= start and end <= part.end]
        touched: list[Part] = []
        for part in near:
            nested = bool(touched) and part.end <= touched[-1].end
            if part not in around and not nested and not self._ends(part, start):
                touched.append(part)
        names = [part.title for part in touched]
        siblings = ", ".join([*names[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])
        path = " > ".join([*(part.title for part in around), *([siblings] if siblings else [])])
        return Beside(note="\n".join([*self._name, *([path] if path else [])]))

    def _ends(self, part: Part, start: int) -> bool:
        """Return whether a chunk holds no more of a part than its closing brackets."""
        return part.start < start and _CLOSING.fullmatch(self._text, start, part.end) is not None


class HeadingContexts:
    """The contexts of the chunks of a document with headings: the path to the innermost section that holds a chunk.

    A section holds a chunk if more than half of the chunk's characters are in it, so a chunk that ends with the first
    lines of the next section, or contains several short ones, is named by what most of it is about.
    """

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._starts = [heading.start for heading in headings]
        self._levels = [heading.level for heading in headings]
        self._parents: list[int] = []
        self._paths: list[Beside] = []
        around: list[int] = []
        for number, heading in enumerate(headings):
            while around and headings[around[-1]].level >= heading.level:
                around.pop()
            self._parents.append(around[-1] if around else -1)
            around.append(number)
            self._paths.append(Beside(tuple(title for n in around if (title := headings[n].title))))

    def of(self, spans: Sequence[Span]) -> Beside:
        """Return what stands beside a chunk; nothing if no section holds it."""
        held: defaultdict[int, int] = defaultdict(int)
        for start, end in spans if self._starts else ():
            at = start
            for number in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)):
                stop = min(end, self._starts[number + 1]) if number + 1 < len(self._starts) else end
                section = number
                while section >= 0 and stop > at:
                    held[section] += stop - at
                    section = self._parents[section]
                at = max(at, stop)
        length = sum(end - start for start, end in spans)
        holders = [section for section, part in held.items() if 2 * part > length]
        return self._paths[max(holders, key=self._levels.__getitem__)] if holders else Beside()


def code_sections(text: str, outline: Sequence[Part]) -> list[Section]:
    """Return a program as one section of blocks, so that short functions are merged and comments are no headings."""
    lines = with_line_feeds(text)
    cuts, ends = {0, len(text)}, []
    low = inside = 0  # End of the last part that was cut, and of the last function; what that contains stays with it.
    for part in outline:
        if part.start >= inside:
            cuts.add(grapheme_floor(text, top_of(lines, low, part.start), 0))
            ends.append(part.end)
            is_container = part.title.partition(" ")[0] in _CONTAINERS
            low, inside = (part.start, inside) if is_container else (part.end, part.end)
    at = 0
    for end in sorted(ends):
        if end > at:
            at = _REST.match(lines, end).end()  # type: ignore[union-attr]
            cuts.add(grapheme_floor(text, at, 0))
    spans = (trim(text, start, end) for start, end in pairwise(sorted(cuts)))
    blocks = [Block(span.start, span.end, "code") for span in spans if span]
    return [Section(blocks, ())] if blocks else []
