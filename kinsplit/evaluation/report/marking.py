"""Where the labelled text lies inside a retrieved one, by offsets alone: a text search would mark copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kinsplit.evaluation.results import AskedQuestion, Hit


class Piece(NamedTuple):
    """A part of a retrieved text.

    Attributes:
        text: The part.
        marked: Whether it belongs to a label.
    """

    text: str
    marked: bool


def pieces(hit: Hit, question: AskedQuestion) -> list[Piece]:
    """Cut a retrieved text where labelled text begins and ends.

    Args:
        hit: What was retrieved.
        question: With its labels.

    Returns:
        Pieces that join to the hit's text. Nothing is marked in a text whose length isn't that of its spans, since
        offsets then don't say where it lies.
    """
    inside = [False] * len(hit.text)
    for start, end in _labelled(hit, question):
        inside[start:end] = [True] * (end - start)
    found: list[Piece] = []
    start = 0
    for place in range(1, len(inside) + 1):
        if place == len(inside) or inside[place] != inside[start]:
            found.append(Piece(hit.text[start:place], inside[start]))
            start = place
    return found


def _labelled(hit: Hit, question: AskedQuestion) -> Iterator[tuple[int, int]]:
    """Yield the labelled stretches of the hit's text; one may lie in another."""
    wanted = [
        span for label in question.labels for text in label if text.source_id == hit.source_id for span in text.spans
    ]
    for shift, (start, end) in _places(hit):
        for first, last in wanted:
            low, high = max(start, first), min(end, last)
            if low < high:
                yield low + shift, high + shift


def _places(hit: Hit) -> Sequence[tuple[int, tuple[int, int]]]:
    """Return each span with how far its text lies from its place in the document; nothing where lengths don't fit."""
    gaps = len(hit.spans) - 1
    between = len(hit.text) - sum(end - start for start, end in hit.spans)
    if between < 0 or (between % gaps if gaps > 0 else between):
        return []
    separator = between // gaps if gaps > 0 else 0
    found, place = [], 0
    for start, end in hit.spans:
        found.append((place - start, (start, end)))
        place += end - start + separator
    return found
