"""Units of a document, with the level of the boundary before each, and contexts of its chunks.

Items of lists, rows, records, statements and fences are units, and so are the sentences of paragraphs. A strategy only
chooses among the boundaries, by level and by size; a unit is cut only if it exceeds a limit by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np

from kinsplit.chunk import Beside, Document
from kinsplit.parsers.units.sentences import IntArray, Units, as_units, cut_at, cut_units, sentences
from kinsplit.spans import Heading, Part, Span
from kinsplit.text.blocks import Block, Kind, Section, parts, sections
from kinsplit.text.code import inner_lines, top_of
from kinsplit.text.graphemes import grapheme_floor, trim, with_line_feeds
from kinsplit.text.marks import ends_with_enumerator

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


_NOTHING = Beside()


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
        if not self._starts:
            return _NOTHING
        held: defaultdict[int, int] = defaultdict(int)
        for start, end in spans:
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
        return self._paths[max(holders, key=self._levels.__getitem__)] if holders else _NOTHING


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


class Level(IntEnum):
    """Kinds of boundaries by the unit that ends there, from the best place for a cut to the worst."""

    SECTION = 0
    BLOCK = 1  # a paragraph, list, table, fence or function
    ITEM = 2  # an item, row, record or statement
    SENTENCE = 3
    CLAUSE = 4
    WORD = 5
    GRAPHEME = 6
    HEADING = 7  # a heading or an enumerator, before a heading
    BOUND = 8  # a heading or an enumerator, which belongs to what follows


UnitKind = Kind | Literal["sentence"]
#: Kinds of units, by number: those of the blocks that they are or come from, and sentences.
KINDS: tuple[UnitKind, ...] = (*get_args(Kind), "sentence")
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_PARAGRAPH, _SENTENCE = _NUMBERS["paragraph"], _NUMBERS["sentence"]


class TextUnits(NamedTuple):
    """Units of a text, as arrays of the same length."""

    units: Units
    levels: IntArray  # int64[n], `Level` of the boundary before each unit.
    kinds: IntArray  # int64[n], index in `KINDS` of each unit.


def document_sections(document: Document) -> list[Section]:
    """Return the blocks of a document, grouped by its headings, or by nothing if it has an outline of functions."""
    if document.outline:
        return code_sections(document.text, document.outline)
    return sections(document.text, document.headings, document.kind)


def block_units(text: str, found: Sequence[Section]) -> TextUnits:
    """Return the blocks of sections as units."""
    blocks = [block for section in found for block in section.blocks]
    return TextUnits(
        as_units([(block.start, block.end) for block in blocks]),
        np.array(list(_block_levels(text, found, whole=True)), dtype=np.int64),
        np.array([_NUMBERS[block.kind] for block in blocks], dtype=np.int64),
    )


def _block_levels(text: str, found: Sequence[Section], *, whole: bool) -> Iterator[Level]:
    """Yield the level of the boundary before each block.

    An enumerator that is a paragraph belongs to what follows. Where paragraphs are not `whole` but sentences, it is a
    part of the first sentence of the next one already.
    """
    before: Block | None = None
    for section in found:
        level = Level.SECTION
        for block in section.blocks:
            if before and (before.kind == "heading" or _is_enumerator(text, before, block, whole=whole)):
                level = Level.HEADING if block.kind == "heading" else Level.BOUND
            yield level
            level, before = Level.BLOCK, block


def _is_enumerator(text: str, before: Block, block: Block, *, whole: bool) -> bool:
    if before.kind not in {"paragraph", "list"} or not (whole or before.kind == "list" or block.kind != "paragraph"):
        return False
    return ends_with_enumerator(text, before.start, before.end)


def text_units(
    document: Document,
    language: str,
    found: Sequence[Section],
    *,
    join_speech: bool = True,
    join_items: bool = True,
) -> TextUnits:
    """Return the units of a document.

    Args:
        document: The document.
        language: Language of its sentences (see `sentences`).
        found: Its sections (see `document_sections`).
        join_speech: See `sentences`.
        join_items: Whether an item or a record is one unit, rather than its sentences.
    """
    text, blocks = document.text, [block for section in found for block in section.blocks]
    levels = list(_block_levels(text, found, whole=False))
    is_prose = [block.kind == "paragraph" for block in blocks]
    pieces = [_sentence_units(text, blocks, levels, is_prose, language, join_speech)] if any(is_prose) else []
    if all(is_prose):
        return pieces[0] if pieces else TextUnits(as_units([]), *np.zeros((2, 0), dtype=np.int64))
    others = [
        (block.start, block.end, level, _NUMBERS[block.kind])
        for block, level in zip(blocks, levels, strict=True)
        if block.kind != "paragraph"
    ]
    pieces.append(_part_units(text, np.array(others, dtype=np.int64), None if join_items else language))
    units, *arrays = zip(*pieces, strict=True)
    starts, ends = map(np.concatenate, zip(*units, strict=True))
    order = np.argsort(starts, kind="stable")
    return TextUnits(Units(starts[order], ends[order]), *(np.concatenate(array)[order] for array in arrays))


def _sentence_units(
    text: str,
    blocks: Sequence[Block],
    levels: Sequence[Level],
    is_prose: Sequence[bool],
    language: str,
    join_speech: bool,
) -> TextUnits:
    """Return the sentences of the paragraphs among all blocks, given the level of the boundary before each block."""
    units = sentences(text, language, join_speech=join_speech)
    begins = np.array([block.start for block in blocks], dtype=np.int64)
    around = np.searchsorted(units.starts, begins, side="right") - 1
    crossing = (units.starts[around] < begins) & (begins < units.ends[around])
    if crossing.any():
        # An enumerator that is a paragraph belongs to the sentence that begins the next one.
        crossing[[n for n in np.flatnonzero(crossing).tolist() if _joins(text, blocks[n - 1], blocks[n])]] = False
        is_cut = np.zeros(len(units.starts), dtype=np.bool_)
        is_cut[around[crossing]] = True
        pieces = cut_at(text, Units(units.starts[is_cut], units.ends[is_cut]), begins[crossing].tolist())
        both = (np.concatenate([own[~is_cut], cut]) for own, cut in zip(units, pieces, strict=True))
        units = Units(*(np.sort(edges, kind="stable") for edges in both))
    holders = np.searchsorted(begins, units.starts, side="right") - 1
    first = begins[holders] == units.starts
    found = np.where(first, np.array(levels, dtype=np.int64)[holders], Level.SENTENCE)
    kept = np.array(is_prose)[holders]
    units, found = Units(units.starts[kept], units.ends[kept]), found[kept]
    return TextUnits(units, found, np.full(len(found), _SENTENCE, dtype=np.int64))


def _joins(text: str, before: Block, block: Block) -> bool:
    return before.kind == block.kind == "paragraph" and ends_with_enumerator(text, before.start, before.end)


def _part_units(text: str, blocks: IntArray, language: str | None) -> TextUnits:
    """Return the parts of blocks, given as rows of start, end, level and kind; with a language, sentences of items."""
    starts, ends, levels, kinds = blocks.T
    found, _ = cut_by(
        by_part(str, is_block=True), text, TextUnits(Units(starts, ends), levels, kinds), _of_kinds(kinds, _WITH_PARTS)
    )
    if language is not None:
        found, _ = cut_by(by_sentence(lambda _: language), text, found, _of_kinds(found.kinds, {"list", "records"}))
    return found


def _of_kinds(numbers: IntArray, kinds: Collection[UnitKind]) -> IntArray:
    """Return which units are of some kinds, given the number of the kind of each."""
    return np.flatnonzero(np.array([kind in kinds for kind in KINDS])[numbers])


# Kinds of blocks that are cut into parts here; headings and fences are one unit.
_WITH_PARTS: frozenset[UnitKind] = frozenset({"list", "table", "records", "code"})


class Rung(NamedTuple):
    """A way of cutting a unit that is too long.

    Attributes:
        level: Level of the boundaries that it makes.
        cut: Function from a text, a range of it and the kind of the unit to the finer units.
        kinds: Kinds of units that it cuts.
    """

    level: Level
    cut: Callable[[str, int, int, UnitKind], Units]
    kinds: frozenset[UnitKind] = frozenset(KINDS)


def cut_by(rung: Rung, text: str, found: TextUnits, numbers: IntArray) -> tuple[TextUnits, IntArray]:
    """Cut the units with some ascending numbers that are of the rung's kinds.

    Returns:
        The units, and the number of the original unit of each.
    """
    numbers = numbers[_of_kinds(found.kinds[numbers], rung.kinds)]
    if not len(numbers):
        return found, np.arange(len(found.levels))
    before = found.kinds[numbers]
    each = iter(before.tolist())
    units, origin = cut_units(text, found.units, numbers, lambda t, s, e: rung.cut(t, s, e, KINDS[next(each)]))
    kinds, inner = found.kinds.copy(), found.levels.copy()
    # The parts of a paragraph are sentences.
    inner[numbers] = np.where(before == _PARAGRAPH, max(rung.level, Level.SENTENCE), rung.level)
    kinds[numbers] = np.where(inner[numbers] == Level.SENTENCE, _SENTENCE, before)
    if units is found.units:
        return TextUnits(units, found.levels, kinds), origin
    levels = np.where(np.diff(origin, prepend=-1) > 0, found.levels[origin], inner[origin])
    return TextUnits(units, levels, kinds[origin]), origin


def by_part(language: Callable[[str], str], *, is_block: bool = False) -> Rung:
    """Return the way of cutting blocks into their parts: items, rows, records, statements, lines of a fence, sentences.

    Args:
        language: Function that returns the language of a text.
        is_block: Whether whole blocks are cut, rather than parts that are too long (see `parts`).
    """

    def cut(text: str, start: int, end: int, kind: UnitKind) -> Units:
        if kind == "paragraph":
            return sentences(text[start:end], language(text)).shifted(start)
        if not _LINE_END.search(text, start, end):
            return as_units([(start, end)])
        while start > 0 and text[start - 1] in " \t":  # The indentation of the first line tells what lies below it.
            start -= 1
        return as_units(parts(text[start:end], kind, is_block=is_block)).shifted(start)

    return Rung(Level.ITEM, cut, frozenset(KINDS) - {"heading", "sentence"})


def by_sentence(language: Callable[[str], str]) -> Rung:
    """Return the way of cutting items and records into sentences.

    Args:
        language: Function that returns the language of a text.
    """

    def cut(text: str, start: int, end: int, _: UnitKind) -> Units:
        return sentences(text[start:end], language(text)).shifted(start)

    return Rung(Level.SENTENCE, cut, frozenset({"heading", "list", "records"}))


def _between(text: str, start: int, end: int, starts: Sequence[int]) -> Units:
    return as_units([span for edge in pairwise([start, *starts, end]) if (span := trim(text, *edge))])


def _by_outer_line(text: str, start: int, end: int, _: UnitKind) -> Units:
    return _between(text, start, end, inner_lines(text, start, end))


def _by_mark(level: Level, marks: re.Pattern[str], kinds: Collection[UnitKind]) -> Rung:
    def cut(text: str, start: int, end: int, _: UnitKind) -> Units:
        return _between(text, start, end, [match.end() for match in marks.finditer(text, start, end)])

    return Rung(level, cut, frozenset(kinds))


_LINE_END = re.compile(r"[\r\n]")
#: Cuts statements at the outermost lines inside them.
BY_OUTER_LINE = Rung(Level.ITEM, _by_outer_line, frozenset({"code"}))
#: Cuts records and statements into their lines.
BY_LINE = _by_mark(Level.ITEM, _LINE_END, {"records", "code"})
_QUOTES = r"""(?:[”’»」』）】》]|["'](?=\s))*"""
#: Cuts sentences into clauses: behind semicolons and colons, and what is still too long behind commas and dashes. The
#: marks of scripts with spaces stand before a space. Quotation marks that close a clause stay with it. A pattern that
#: begins with a class of characters is searched for fast.
BY_CLAUSE = tuple(
    _by_mark(Level.CLAUSE, re.compile(marks), frozenset(KINDS) - {"fence", "table", "code"})
    for marks in (
        rf"[;:；：؛](?:(?<=[;:]){_QUOTES}(?=\s)|(?<![;:])[；：؛]*{_QUOTES})",
        rf"[,\s，、،](?:(?<=,){_QUOTES}(?=\s)|(?<=\s)[–—-](?=\s)|(?<=[，、،])[，、،]*{_QUOTES})",
    )
)
