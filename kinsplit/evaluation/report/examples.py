"""Examples: questions on which a strategy beats the baseline or loses to it, with the retrieved chunks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from kinsplit.errors import inline
from kinsplit.evaluation.labels import AskedQuestion, RetrievedChunk, SourceText
from kinsplit.evaluation.report.tables import Duel, baseline_of, duel, scale
from kinsplit.evaluation.results import Results
from kinsplit.spans import Span, stretches


class ExamplePiece(NamedTuple):
    """A part of a retrieved text."""

    text: str
    marked: bool


def pieces(hit: RetrievedChunk, question: AskedQuestion) -> list[ExamplePiece]:
    """Split the text of a hit where labelled text begins and ends.

    No piece is marked if the text and its spans differ in length, since the offsets are then unknown.
    """
    inside = [False] * len(hit.text)
    for start, end in _labelled(hit, question):
        inside[start:end] = [True] * (end - start)
    runs = groupby(zip(hit.text, inside, strict=True), key=itemgetter(1))
    return [ExamplePiece("".join(character for character, _ in run), marked) for marked, run in runs]


def _labelled(hit: RetrievedChunk, question: AskedQuestion) -> Iterator[tuple[int, int]]:
    """Yield the labelled ranges of the hit's text, which may overlap."""
    texts = (text for label in question.labels for text in label if text.source_id == hit.source_id)
    wanted = [span for text in texts for span in text.spans]
    for at, (start, end) in stretches([Span(*span) for span in hit.spans], hit.text) or ():
        for first, last in wanted:
            low, high = max(start, first), min(end, last)
            if low < high:
                yield low - start + at, high - start + at


#: Maximum length of unmarked text in characters, and the length shown at either end of a longer one.
_LONGEST, _KEPT = 600, 240


def duels(results: Results) -> list[Duel]:
    """Return the questions on which each strategy but the baseline differs from it, best strategy first."""
    headline, baseline = results.setting.headline, baseline_of(results)
    sign = -1 if scale(results, headline).higher_is_better else 1
    judged = [s for s in results.strategies if s.label != baseline and headline in s.measures]
    judged.sort(key=lambda strategy: sign * strategy.measures[headline].mean)
    found = [duel(results, strategy.label, headline) for strategy in judged]
    return [each for each in found if each.won or each.lost]


def place(text: SourceText) -> str:
    """Format the place of a text: its document and its offsets."""
    return " ".join([inline(text.source_id), ", ".join(f"{start:,}-{end:,}" for start, end in text.spans)]).rstrip()


def shortened(text: str) -> str:
    """Replace the middle of a long text by its length."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_KEPT]} […{len(text) - 2 * _KEPT:,} characters…] {text[-_KEPT:]}"
