"""Alignment of labels and chunks by the rule of SC-Qrels, whose thresholds can be tuned."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinsplit.chunk import Chunk, by_source
from kinsplit.errors import require
from kinsplit.evaluation.labels import Label, Place, Question
from kinsplit.options import SpanRule
from kinsplit.spans import Span, length, unite

#: The rule with the thresholds of SC-Qrels.
SC_QRELS = SpanRule()


class Holding(NamedTuple):
    """A chunk that holds some of a span."""

    chunk: Chunk
    of_span: float
    of_chunk: float


class Placed:
    """The chunks of one document, indexed by their spans; they may overlap, and be in any order."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        spans = [unite(chunk.spans) for chunk in chunks]
        self._lengths = [length(own) for own in spans]
        placed = sorted((span, number) for number, own in enumerate(spans) for span in own)
        self._spans = [span for span, _ in placed]
        self._numbers = [number for _, number in placed]
        self._starts = [span.start for span in self._spans]
        # Running maximum of the ends, which bisection needs.
        self._reach = list(accumulate((span.end for span in self._spans), max))

    def holding(self, span: Span) -> Iterator[Holding]:
        """Yield the chunks that hold at least one character of a span."""
        held: dict[int, int] = {}
        first = bisect.bisect_right(self._reach, span.start)
        for at in range(first, bisect.bisect_left(self._starts, span.end)):
            own = self._spans[at]
            common = min(own.end, span.end) - max(own.start, span.start)
            if common > 0:
                held[self._numbers[at]] = held.get(self._numbers[at], 0) + common
        for number, common in held.items():
            yield Holding(self.chunks[number], common / (span.end - span.start), common / self._lengths[number])


#: Degrees of relevance, from 1, of the relevant chunks, by question id and chunk id.
Qrels = Mapping[str, Mapping[str, int]]


class Alignment:
    """The chunks of a chunking, in any order, indexed by their spans to find those relevant to a label."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._placed = {source_id: Placed(own) for source_id, own in by_source(chunks).items()}

    def holding(self, place: Place) -> Iterator[Holding]:
        """Yield the chunks that hold some of a place; for a whole document, all of its chunks with both shares 1."""
        placed = self._placed.get(place.source_id)
        if placed is None:
            return
        if place.span is None:
            yield from (Holding(chunk, 1.0, 1.0) for chunk in placed.chunks)
        else:
            yield from placed.holding(place.span)

    def held(self, question: Question) -> Iterator[tuple[Label, Holding]]:
        """Yield each label of a question with each chunk that holds some of any of its places."""
        for label in question.labels:
            for place in label.places:
                for holding in self.holding(place):
                    yield label, holding

    def relevant(self, question: Question, rule: SpanRule) -> dict[str, int]:
        """Return the degree of relevance of each chunk that is relevant to a question, by its id.

        A chunk is relevant if the rule holds for any place of any label; its degree is the highest of them, each
        multiplied by the label's grade.
        """
        degrees: dict[str, int] = {}
        for label, held in self.held(question):
            degree = label.grade * rule.degree(held.of_span, held.of_chunk)
            if degree > degrees.get(held.chunk.id, 0):
                degrees[held.chunk.id] = degree
        return degrees

    def qrels(self, questions: Iterable[Question], rule: SpanRule) -> dict[str, dict[str, int]]:
        """Return `relevant` by question id, for questions that have a relevant chunk."""
        found = {question.id: self.relevant(question, rule) for question in questions}
        return {question_id: relevant for question_id, relevant in found.items() if relevant}


def unjudged(questions: Iterable[Question], qrels: Qrels) -> list[Question]:
    """Return the questions with labels but without a relevant chunk, to which rank measures don't apply.

    Args:
        questions: Questions, with or without labels.
        qrels: Qrels of these questions.
    """
    return [question for question in questions if question.labels and not qrels.get(question.id)]


def starved(questions: Iterable[Question], qrels: Mapping[str, Qrels]) -> str:
    """Describe how many questions have no relevant chunk; "" if all have one."""
    labelled = [question for question in questions if question.labels]
    missing = {label: len(unjudged(labelled, own)) for label, own in qrels.items()}
    counts = ", ".join(f"{count:,} with {label}" for label, count in missing.items() if count)
    if not counts:
        return ""
    return (
        f"Of {len(labelled):,} labelled questions some have no relevant chunk, so rank measures don't apply to "
        f"them: {counts}. Lower the thresholds (`kinsplit qrels --tune` finds good ones), or use recall at a token "
        "budget."
    )


#: Default values to try, from loose to strict. A label may fill only a hundredth of a large chunk.
SPAN_COVERAGES = (0.1, 0.25, 0.5, 0.75, 0.85, 0.95, 1.0)
CHUNK_COVERAGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75)


class ThresholdTrial(NamedTuple):
    """The effect of a pair of thresholds."""

    rule: SpanRule
    judged: tuple[float, ...]
    relevant: tuple[float, ...]


class Tuning(NamedTuple):
    """The effects of all pairs of thresholds."""

    trials: tuple[ThresholdTrial, ...]
    # Strictest rule by which enough questions have a relevant chunk in every chunking: the highest span coverage, then
    # the highest chunk coverage, since holding the answer matters more than holding nothing else. None if there is no
    # such rule.
    best: SpanRule | None


def tune_thresholds(
    questions: Iterable[Question],
    alignments: Sequence[Alignment],
    least: float = 0.95,
    span_coverages: Sequence[float] = SPAN_COVERAGES,
    chunk_coverages: Sequence[float] = CHUNK_COVERAGES,
) -> Tuning:
    """Try thresholds on some chunkings, for questions with labels.

    The rule of a comparison must fit all its chunkings: if only small chunks can satisfy it, few questions are left to
    judge large ones. `least` is the minimum share of the labelled questions that have a relevant chunk in each
    chunking.

    Raises:
        InvalidParameterError: No question has labels, there is no chunking, or the share is out of range.
    """
    labelled = [question for question in questions if question.labels]
    needed = "must have labelled questions and at least one chunking"
    require(labelled and alignments, "questions", needed, len(labelled), "Give both.")
    require(0 < least <= 1, "least", "must be above 0 and at most 1", least, "The default is 0.95.")
    held = [_held(labelled, alignment) for alignment in alignments]
    trials = []
    for of_span, of_chunk in product(sorted(set(span_coverages)), sorted(set(chunk_coverages))):
        pair = SpanRule(span_coverage=of_span, chunk_coverage=of_chunk)
        numbers = zip(*(_passed(own, pair) for own in held), strict=True)
        trials.append(ThresholdTrial(pair, *(tuple(n / len(labelled) for n in own) for own in numbers)))
    enough = [trial.rule for trial in trials if min(trial.judged) >= least]
    return Tuning(tuple(trials), enough[-1] if enough else None)


def _held(questions: Sequence[Question], alignment: Alignment) -> npt.NDArray[np.float64]:
    """Return a row for each label and chunk that holds some of it: question, question with chunk, and both shares."""
    numbers: dict[tuple[int, str], int] = {}
    rows = [
        (number, numbers.setdefault((number, chunk.id), len(numbers)), of_span, of_chunk)
        for number, question in enumerate(questions)
        for _, (chunk, of_span, of_chunk) in alignment.held(question)
    ]
    return np.array(rows, float).reshape(-1, 4)


def _passed(held: npt.NDArray[np.float64], rule: SpanRule) -> tuple[int, int]:
    """Return the number of questions with a relevant chunk, and the number of their relevant chunks."""
    kept = held[(held[:, 2] >= rule.span_coverage) & (held[:, 3] >= rule.chunk_coverage)]
    return len(np.unique(kept[:, 0])), len(np.unique(kept[:, 1]))
