"""Alignment of labels and chunks by the rule of SC-Qrels."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Label, Place, Question
from kinsplit.evaluation.qrels.rule import SpanRule
from kinsplit.spans import Span, length, unite


class Holding(NamedTuple):
    """A chunk that holds some of a span.

    Attributes:
        chunk: The chunk.
        of_span: The share of the span that it holds.
        of_chunk: The share of the chunk that the span fills.
    """

    chunk: Chunk
    of_span: float
    of_chunk: float


class Placed:
    """The chunks of one document by where they lie.

    Args:
        chunks: In any order; they may overlap and have several spans.

    Attributes:
        chunks: The chunks.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        spans = [unite(chunk.spans) for chunk in chunks]
        self._lengths = [length(own) for own in spans]
        placed = sorted((span, number) for number, own in enumerate(spans) for span in own)
        self._spans = [span for span, _ in placed]
        self._numbers = [number for _, number in placed]
        self._starts = [span.start for span in self._spans]
        # Up to where the spans so far reach: it never falls, as their ends may.
        self._reach = list(accumulate((span.end for span in self._spans), max))

    def holding(self, span: Span) -> Iterator[Holding]:
        """Yield the chunks that hold at least a character of a span."""
        held: dict[int, int] = {}
        first = bisect.bisect_right(self._reach, span.start)
        for at in range(first, bisect.bisect_left(self._starts, span.end)):
            own = self._spans[at]
            common = min(own.end, span.end) - max(own.start, span.start)
            if common > 0:
                held[self._numbers[at]] = held.get(self._numbers[at], 0) + common
        for number, common in held.items():
            yield Holding(self.chunks[number], common / (span.end - span.start), common / self._lengths[number])


#: Degree of relevance, from 1, by question id and chunk id; without the chunks that are not relevant.
Qrels = Mapping[str, Mapping[str, int]]


class Alignment:
    """The chunks of a chunking by where they lie, ready to be asked which are relevant to a label.

    Args:
        chunks: In any order.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        by_source: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            by_source.setdefault(chunk.source_id, []).append(chunk)
        self._placed = {source_id: Placed(own) for source_id, own in by_source.items()}

    def holding(self, place: Place) -> Iterator[Holding]:
        """Yield the chunks that hold some of a place; of a document as such, each of its chunks does and is full."""
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

        A chunk is relevant that the rule lets through for any place of any label; its degree is the highest of those,
        each times its label's grade.

        Args:
            question: The question.
            rule: When a chunk is relevant.
        """
        degrees: dict[str, int] = {}
        for label, held in self.held(question):
            degree = label.grade * rule.degree(held.of_span, held.of_chunk)
            if degree > degrees.get(held.chunk.id, 0):
                degrees[held.chunk.id] = degree
        return degrees

    def qrels(self, questions: Iterable[Question], rule: SpanRule) -> dict[str, dict[str, int]]:
        """Return `relevant` for each question that has any relevant chunk, by its id."""
        found = {question.id: self.relevant(question, rule) for question in questions}
        return {question_id: relevant for question_id, relevant in found.items() if relevant}


def unjudged(questions: Iterable[Question], qrels: Qrels) -> list[Question]:
    """Return the questions that have labels and yet no relevant chunk, of which rank measures say nothing.

    Args:
        questions: Some questions.
        qrels: The qrels made of them.
    """
    return [question for question in questions if question.labels and not qrels.get(question.id)]


def starved(questions: Iterable[Question], qrels: Mapping[str, Qrels]) -> str:
    """Return in words how many questions are not judged, "" if all are.

    Args:
        questions: Some questions.
        qrels: The qrels made of them, by the label of the chunking.
    """
    labelled = [question for question in questions if question.labels]
    missing = {label: len(unjudged(labelled, own)) for label, own in qrels.items()}
    told = ", ".join(f"{count:,} with {label}" for label, count in missing.items() if count)
    if not told:
        return ""
    return (
        f"Of {len(labelled):,} labelled questions some have no relevant chunk, and measures of ranks say nothing of "
        f"these: {told}. Lower the thresholds, for which `kinsplit qrels --tune` helps, or look at recall at a token "
        "budget."
    )
