"""Examples: questions on which a strategy beats the baseline or loses to it, with the retrieved chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kinsplit.errors import inline
from kinsplit.evaluation.labels import AskedQuestion, QuestionResult, RetrievedChunk, SourceText
from kinsplit.evaluation.report.tables import MeasureScale, Pair, baseline_of, duel, scale
from kinsplit.evaluation.results import Results


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
    found: list[ExamplePiece] = []
    start = 0
    for place in range(1, len(inside) + 1):
        if place == len(inside) or inside[place] != inside[start]:
            found.append(ExamplePiece(hit.text[start:place], inside[start]))
            start = place
    return found


def _labelled(hit: RetrievedChunk, question: AskedQuestion) -> Iterator[tuple[int, int]]:
    """Yield the labelled ranges of the hit's text, which may overlap."""
    wanted = [
        span for label in question.labels for text in label if text.source_id == hit.source_id for span in text.spans
    ]
    for shift, (start, end) in _shifted(hit):
        for first, last in wanted:
            low, high = max(start, first), min(end, last)
            if low < high:
                yield low + shift, high + shift


def _shifted(hit: RetrievedChunk) -> Sequence[tuple[int, tuple[int, int]]]:
    """Return each span with the shift from document to hit; nothing if the lengths differ."""
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


#: Maximum numbers of questions of each kind, and of chunks of each strategy.
_QUESTIONS, _HITS = 3, 5
#: Maximum length of unmarked text in characters, and the length shown at either end of a longer one.
_LONGEST, _KEPT = 600, 240


class ShownHit(NamedTuple):
    """A hit: its rank from 1, its place, its text, and whether any of it is labelled."""

    rank: int
    place: str
    pieces: Sequence[ExamplePiece]
    marked: bool


class Side(NamedTuple):
    """The result of one strategy: its label, its value and its best chunks."""

    strategy: str
    value: str
    hits: Sequence[ShownHit]


class Example(NamedTuple):
    """A question, its labelled texts, and the results of strategy and baseline."""

    question: str
    labels: Sequence[tuple[str, str]]
    sides: tuple[Side, Side]


class Examples(NamedTuple):
    """Examples for a strategy, with the numbers of all questions won and lost."""

    strategy: str
    baseline: str
    won: Sequence[Example]
    lost: Sequence[Example]
    won_count: int
    lost_count: int


def examples(results: Results) -> list[Examples]:
    """Return the questions with the largest differences for each strategy but the baseline, best strategy first."""
    headline = results.setting.headline
    measured = scale(results, headline)
    baseline = baseline_of(results)
    sign = -1 if measured.higher_is_better else 1
    judged = [s for s in results.strategies if s.label != baseline and headline in s.measures]
    judged.sort(key=lambda strategy: sign * strategy.measures[headline].mean)
    duels = [duel(results, strategy.label, headline) for strategy in judged]
    return [
        Examples(
            each.strategy,
            each.baseline,
            [_example(pair, measured) for pair in each.won[:_QUESTIONS]],
            [_example(pair, measured) for pair in each.lost[:_QUESTIONS]],
            len(each.won),
            len(each.lost),
        )
        for each in duels
        if each.won or each.lost
    ]


def _example(pair: Pair, measured: MeasureScale) -> Example:
    labels = [_label(label) for label in pair.question.labels if label]
    sides = (_side(pair.strategy, pair.question, measured), _side(pair.baseline, pair.question, measured))
    return Example(pair.question.text, labels, sides)


def _label(places: Sequence[SourceText]) -> tuple[str, str]:
    first, *others = places
    more = f", or any of {len(others):,} more places" if others else ""
    return f"{place(first)}{more}", "".join(piece.text for piece in _shortened([ExamplePiece(first.text, False)]))


def _side(result: QuestionResult, question: AskedQuestion, measured: MeasureScale) -> Side:
    shown = [_hit(rank, hit, question) for rank, hit in enumerate(result.hits[:_HITS], 1)]
    return Side(result.strategy, measured.measured(result.measures[measured.name]), shown)


def _hit(rank: int, hit: RetrievedChunk, question: AskedQuestion) -> ShownHit:
    found = pieces(hit, question)
    return ShownHit(rank, place(hit), _shortened(found), any(piece.marked for piece in found))


def place(text: SourceText) -> str:
    """Format the place of a text: its document and its offsets."""
    return " ".join([inline(text.source_id), ", ".join(f"{start:,}-{end:,}" for start, end in text.spans)]).rstrip()


def _shortened(found: Sequence[ExamplePiece]) -> list[ExamplePiece]:
    """Replace the middle of long unmarked pieces by its length."""
    shown = []
    for piece in found:
        text = piece.text
        if not piece.marked and len(text) > _LONGEST:
            text = f"{text[:_KEPT]} […{len(text) - 2 * _KEPT:,} characters…] {text[-_KEPT:]}"
        shown.append(ExamplePiece(text, piece.marked))
    return shown
