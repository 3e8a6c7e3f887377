"""Where chunks begin by the look of a text: at headings, at lines that look like one, and at paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kinsplit.parsers.blocks import blocks
from kinsplit.parsers.group import merge
from kinsplit.parsers.measure import Scale
from kinsplit.parsers.segment import Units, cut_at, skip_space
from kinsplit.parsers.sentences import sentences

# A paragraph of one line is a heading if it is short and doesn't end as a sentence does, but for a question.
_LONGEST_TITLE = 80
_SENTENCE_END = re.compile(r"[.…,;:。，、；：।۔]['\"”’»」』)\]]*$")
_LETTER = re.compile(r"[^\W\d_]")
# Lines that are longer than this aren't wrapped: each of them is a paragraph.
_LONGEST_WRAPPED = 200


class Outline(NamedTuple):
    """The sentences of a text and what begins at them.

    Attributes:
        sentences: The sentences; none reaches across the start of a paragraph.
        paragraphs: Ascending numbers of the sentences that begin a paragraph or another block.
        headings: Those of them that begin a section: at a heading, or a line that looks like one.
    """

    sentences: Units
    paragraphs: list[int]
    headings: list[int]


class _Paragraph(NamedTuple):
    start: int
    is_heading: bool


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
    headings = [
        number
        for i, number in enumerate(numbers[:-1])
        if found[i].is_heading and not (i > 0 and found[i - 1].is_heading)
    ]
    return Outline(units, sorted(set(numbers)), headings)


def boundaries(scale: Scale, paragraphs: list[int], headings: list[int], least: int, limit: int) -> list[int]:
    """Return the sentences at which chunks begin.

    Args:
        scale: Lengths of the sentences.
        paragraphs: See `Outline`.
        headings: See `Outline`.
        least: Length up to which paragraphs are merged; never across a heading.
        limit: Longest chunk wanted.

    Returns:
        Ascending numbers of sentences, each the first of a paragraph.
    """
    runs = merge(scale, least, limit, ends=paragraphs, edges=[number for number in headings if number > 0])
    return sorted({run.first for run in runs} & set(paragraphs))


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
            yield _Paragraph(
                start, block.kind == "heading" or (block.kind == "paragraph" and _is_title(text[start:end]))
            )


def _is_title(line: str) -> bool:
    if len(line) > _LONGEST_TITLE or "\n" in line or "\r" in line:
        return False
    # Speech begins with a quotation mark or a dash.
    letter = _LETTER.search(line)
    begins = line.lstrip("*_")[:1].isalnum() and letter is not None and not letter[0].islower()
    return begins and _SENTENCE_END.search(line.rstrip("*_")) is None
