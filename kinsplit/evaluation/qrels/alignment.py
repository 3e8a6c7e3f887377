"""Labels of spans -> relevant chunks, by the rule of SC-Qrels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Label, Place, Question
from kinsplit.evaluation.qrels.placing import Holding, Placed
from kinsplit.evaluation.qrels.rule import SpanRule

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
        qrels: Made from them.
    """
    return [question for question in questions if question.labels and not qrels.get(question.id)]


def starved(questions: Iterable[Question], qrels: Mapping[str, Qrels]) -> str:
    """Return in words how many questions are not judged, "" if all are.

    Args:
        questions: Some questions.
        qrels: Made from them, by the label of the chunking.
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
