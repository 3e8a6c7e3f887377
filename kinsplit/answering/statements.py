"""The parts of a source that can be quoted by themselves: sentences, lists with their lead-in, tables and code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kinsplit.answering.values import Source
from kinsplit.parsers.units.segment import words
from kinsplit.parsers.units.sentences import sentences
from kinsplit.spans import Span
from kinsplit.text.blocks import FENCE, Block, blocks, parts
from kinsplit.text.graphemes import trim

#: Maximum length of a list that is quoted as a whole, with its lead-in; of a longer one, items are.
LONGEST = 600
# Fewest words of a sentence, and of a part without its stop.
_FEWEST_WORDS, _FEWEST_UNCLOSED = 3, 4
# Type of files whose whole text is code.
_CODE = "code"
_LEAD_IN, _QUESTION = (":", "："), ("?", "？", "؟")
_STOPS = (".", "!", "…", "。", "！", "।", "։", "။", "។", *_LEAD_IN, *_QUESTION)
_CLOSING = "\"'”’»)]*_`"
# Bullets of PDFs and slides, which Markdown doesn't know as such.
_BULLET = re.compile(r"^[ \t]*[•◦▪●○■□‣⁃✓➢]", re.MULTILINE)
# A heading of a PDF is a line that ends far before the others do.
_HEADING_SHARE, _LONGEST_HEADING = 0.7, 80
# Lines of code in a PDF.
_INDENTED = re.compile(r"^(?: {4}|\t)[ \t]*\S", re.MULTILINE)
_LINE = re.compile(r"[^\n]+")
_BLANK = re.compile(r"\n[ \t]*\n")


def statements(source: Source) -> list[list[Span]]:
    """Return the parts of a source that can be quoted, in groups of parts that can be quoted together if adjacent.

    Headings, rules, questions, lists of questions and lead-ins without their list, table or code are no statements. A
    lead-in and what it leads to are one part, and so are a table, a block of code, and a list whose items are no
    sentences, unless it is longer than `LONGEST`. Other lists are a group of items.
    """
    found = [[span] for span in _paragraphs(source.text)] if _is_code(source) else _groups(source.text)
    kept = [[span for span in group if _is_statement(source.text[span.start : span.end])] for group in found]
    return [group for group in kept if group]


def is_prose(source: Source, text: str) -> bool:
    """Return whether the lines of a part of a source have no meaning, so that it can be quoted on one line."""
    has_lines = _is_code(source) or _BULLET.search(text) or _INDENTED.search(text)
    return not has_lines and all(block.kind == "paragraph" for block in blocks(text))


def _groups(text: str) -> Iterator[list[Span]]:
    begin = _code_end(text)
    if begin:
        yield [Span(0, begin)]
    found = [block._replace(start=block.start + begin, end=block.end + begin) for block in blocks(text[begin:])]
    lead: Span | None = None
    for block in found:
        if block.kind == "heading":
            lead = None
        elif block.kind == "paragraph" and _INDENTED.search(text, block.start, block.end):
            yield [Span(block.start, block.end)]
            lead = None
        elif block.kind == "paragraph" and not _BULLET.match(text, block.start, block.end):
            *before, last = _prose(text, block) or [[]]
            yield from before
            lead = last.pop() if last and text[last[-1].start : last[-1].end].endswith(_LEAD_IN) else None
            yield last
        else:
            yield from _of_block(text, block, lead)
            lead = None


def _of_block(text: str, block: Block, lead: Span | None) -> Iterator[list[Span]]:
    whole = Span(block.start if lead is None else lead.start, block.end)
    if block.kind not in {"list", "paragraph"}:
        yield [whole]
        return
    items = _items(text, block)
    if any(text[item.start : item.end].rstrip(_CLOSING).endswith(_QUESTION) for item in items):
        return
    is_enumeration = lead is not None or not all(_is_closed(text[item.start : item.end]) for item in items)
    yield [whole] if is_enumeration and whole.end - whole.start <= LONGEST else items


def _items(text: str, block: Block) -> list[Span]:
    own = text[block.start : block.end]
    if block.kind == "list":
        spans = parts(own) or [(0, len(own))]
    else:
        starts = [match.start() for match in _BULLET.finditer(own)]
        spans = list(pairwise([*starts, len(own)]))
    found = (trim(text, block.start + start, block.start + end) for start, end in spans)
    return [span for span in found if span]


def _prose(text: str, block: Block) -> list[list[Span]]:
    """Return the sentences of a paragraph below its headings; a bullet begins a new group."""
    own = text[block.start : block.end]
    begin = _headings_end(own)
    starts = sorted({begin, *(match.start() for match in _BULLET.finditer(own, begin))})
    groups = []
    for start, end in pairwise([*starts, len(own)]):
        found, at = sentences(own[start:end]), block.start + start
        groups.append([Span(at + s, at + e) for s, e in zip(found.starts.tolist(), found.ends.tolist(), strict=True)])
    return groups


def _headings_end(paragraph: str) -> int:
    """Return the end of the lines that are headings without a mark, as PDFs have them, or 0."""
    lines = list(_LINE.finditer(paragraph))
    longest = max((len(line[0]) for line in lines), default=0)
    limit = _LONGEST_HEADING if len(lines) == 1 else min(_LONGEST_HEADING, _HEADING_SHARE * longest)
    end = 0
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        goes_on = following is not None and not following[0].lstrip()[:1].isupper()
        if len(line[0]) > limit or goes_on or not line[0].lstrip()[:1].isupper() or _is_closed(line[0]):
            break
        end = line.end()
    return end


def _paragraphs(text: str) -> Sequence[Span]:
    ends = [match.start() for match in _BLANK.finditer(text)]
    starts = [0, *(match.end() for match in _BLANK.finditer(text))]
    found = (trim(text, start, end) for start, end in zip(starts, [*ends, len(text)], strict=True))
    return [span for span in found if span]


def _code_end(text: str) -> int:
    """Return the end of the code that a passage begins in the middle of, or 0."""
    fences = [match for match in _LINE.finditer(text) if FENCE.fullmatch(match[0].strip())]
    is_inside = len(fences) % 2 == 1 and fences[0][0].strip() in {"```", "~~~"}
    return fences[0].end() if is_inside else 0


def _is_code(source: Source) -> bool:
    return bool(source.best.metadata.get("file_type") == _CODE)


def _is_closed(line: str) -> bool:
    return line.rstrip(_CLOSING).endswith(_STOPS)


def _is_statement(text: str) -> bool:
    end = text.rstrip().rstrip(_CLOSING)
    fewest = _FEWEST_WORDS if _is_closed(text) else _FEWEST_UNCLOSED
    return len(words(text).starts) >= fewest and not end.endswith((*_LEAD_IN, *_QUESTION))
