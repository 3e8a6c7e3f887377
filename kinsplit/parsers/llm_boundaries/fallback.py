"""Boundaries without a language model: headings, lines that look like headings, and paragraphs."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from kinsplit.parsers.packing.measure import Scale
from kinsplit.parsers.packing.runs import merge
from kinsplit.parsers.units.segment import Units, cut_at
from kinsplit.parsers.units.sentences import sentences
from kinsplit.text.blocks import blocks
from kinsplit.text.graphemes import skip_space

# A one-line paragraph is a heading if it is short and doesn't end like a sentence; it may end with a question mark.
_LONGEST_TITLE = 80
_SENTENCE_END = re.compile(r"[.…,;:。，、；：।۔]['\"”’»」』)\]]*$")
_LETTER = re.compile(r"[^\W\d_]")
# Longer lines aren't wrapped: each of them is a paragraph.
_LONGEST_WRAPPED = 200


class Outline(NamedTuple):
    """Sentences of a text, and ascending numbers of those at which paragraphs and headings begin.

    Attributes:
        sentences: The sentences; none crosses the start of a paragraph.
        paragraphs: Starts of paragraphs and other blocks, except directly after a heading.
        headings: Starts of headings.
        titles: Starts of lines that only look like headings.
    """

    sentences: Units
    paragraphs: list[int]
    headings: list[int]
    titles: list[int]


class _Paragraph(NamedTuple):
    start: int
    kind: Literal["heading", "title", "body"]


def outline(text: str, language: str) -> Outline:
    """Return the sentences, headings and paragraphs of a text.

    Args:
        text: The text.
        language: Language of the sentences, or "auto".
    """
    found = list(_paragraphs(text))
    starts = [paragraph.start for paragraph in found]
    units = cut_at(text, sentences(text, language), starts[1:])
    numbers = np.searchsorted(units.starts, starts).tolist()
    # The first of consecutive headings begins the section; a heading without text below it begins none.
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
        found: Sentences, paragraphs and headings.
        least: Length up to which paragraphs are merged, but never across a heading. A line that looks like a heading
            counts as one if the sections on both sides are at least this long.
        limit: Maximum length of a chunk.

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
    # Direct speech begins with a quotation mark or a dash.
    letter = _LETTER.search(line)
    begins = line.lstrip("*_")[:1].isalnum() and letter is not None and not letter[0].islower()
    return begins and _SENTENCE_END.search(line.rstrip("*_")) is None
