"""Where chunks begin by the look of a text: at headings, at lines that look like one, and at paragraphs."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from kinsplit.parsers.packing.group import merge
from kinsplit.parsers.packing.measure import Scale
from kinsplit.parsers.units.blocks import blocks
from kinsplit.parsers.units.graphemes import skip_space
from kinsplit.parsers.units.segment import Units, cut_at
from kinsplit.parsers.units.sentences import sentences

# A paragraph of one line is a heading if it is short and doesn't end as a sentence does, but for a question.
_LONGEST_TITLE = 80
_SENTENCE_END = re.compile(r"[.…,;:。，、；：।۔]['\"”’»」』)\]]*$")
_LETTER = re.compile(r"[^\W\d_]")
# Lines that are longer than this aren't wrapped: each of them is a paragraph.
_LONGEST_WRAPPED = 200


class Outline(NamedTuple):
    """The sentences of a text and what begins at them, as ascending numbers of sentences.

    Attributes:
        sentences: The sentences; none reaches across the start of a paragraph.
        paragraphs: Where a paragraph or another block begins, but not behind a heading, which goes with it.
        headings: Those of them that are headings.
        titles: Those that only look like one.
    """

    sentences: Units
    paragraphs: list[int]
    headings: list[int]
    titles: list[int]


class _Paragraph(NamedTuple):
    start: int
    kind: Literal["heading", "title", "body"]


def outline(text: str, language: str) -> Outline:
    """Return a text's sentences with its headings and paragraphs.

    Args:
        text: The text.
        language: Language of the sentences, or "auto".
    """
    found = list(_paragraphs(text))
    places = [paragraph.start for paragraph in found]
    units = cut_at(text, sentences(text, language), places[1:])
    numbers = np.searchsorted(units.starts, places).tolist()
    # Of headings that follow each other the first begins the section, and one with nothing below it begins none.
    first = [i for i in range(len(found)) if i == 0 or found[i - 1].kind == "body"]
    last = max((i for i, paragraph in enumerate(found) if paragraph.kind == "body"), default=-1)
    headings, titles = (
        [numbers[i] for i in first if found[i].kind == kind and i < last] for kind in ("heading", "title")
    )
    return Outline(units, sorted({numbers[i] for i in first}), headings, titles)


def boundaries(scale: Scale, found: Outline, least: int, limit: int) -> list[int]:
    """Return the sentences at which chunks begin.

    Args:
        scale: Lengths of the sentences.
        found: The sentences.
        least: Length up to which paragraphs are merged, but never across a heading. A line that looks like a heading
            counts as one where the sections on both sides of it are so long.
        limit: Longest chunk wanted.

    Returns:
        Ascending numbers of sentences, each the first of a paragraph.
    """
    headings = set(found.headings)
    left = [*scale.left.tolist(), int(scale.right[-1]) if len(scale.right) else 0]
    edges = [0]
    stops = [*found.headings, len(left) - 1]
    for number in sorted({*found.headings, *found.titles}):
        following = stops[bisect_right(found.headings, number)]
        room = min(left[number] - left[edges[-1]], left[following] - left[number])
        if number in headings or room >= least:
            edges.append(number)
    runs = merge(scale, least, limit, ends=found.paragraphs, edges=[number for number in edges if number > 0])
    return sorted({run.first for run in runs} & set(found.paragraphs))


def _paragraphs(text: str) -> Iterator[_Paragraph]:
    for block in blocks(text):
        lines = [(block.start, block.end)]
        if block.kind == "paragraph":
            breaks = [match.start() for match in re.finditer(r"[\r\n]+", text[block.start : block.end])]
            ends = [*(block.start + at for at in breaks), block.end]
            wrapped = [(skip_space(text, start), end) for start, end in zip([block.start, *ends], ends, strict=False)]
            if any(end - start > _LONGEST_WRAPPED for start, end in wrapped):
                lines = [(start, end) for start, end in wrapped if start < end]
        for start, end in lines:
            is_title = block.kind == "paragraph" and _is_title(text[start:end])
            yield _Paragraph(start, "heading" if block.kind == "heading" else "title" if is_title else "body")


def _is_title(line: str) -> bool:
    if len(line) > _LONGEST_TITLE or "\n" in line or "\r" in line:
        return False
    # Speech begins with a quotation mark or a dash.
    letter = _LETTER.search(line)
    begins = line.lstrip("*_")[:1].isalnum() and letter is not None and not letter[0].islower()
    return begins and _SENTENCE_END.search(line.rstrip("*_")) is None
