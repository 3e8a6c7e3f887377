"""The labelled text that retrieved text covers, and the measures of it.

Precision is that of "Evaluating Chunking Strategies for Retrieval" (Chroma, 2024). In measures, labelled text counts
once, and text that several chunks repeat counts each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Label, Place, Question
from kinsplit.evaluation.measures.protocol import Asked, Chunking, Family, Outcome, family
from kinsplit.spans import Span, length, overlap, stretches, unite
from kinsplit.tokenizers import Tokenizer


class Slices(Protocol):
    """A text that consists of slices of a document: a chunk, a passage, or a source of an answer."""

    @property
    def source_id(self) -> str: ...  # noqa: D102

    @property
    def spans(self) -> tuple[Span, ...]: ...  # noqa: D102

    @property
    def text(self) -> str: ...  # noqa: D102


SlicesT = TypeVar("SlicesT", bound=Slices)
#: Spans that were read by source id, in order and without overlap.
Read = Mapping[str, tuple[Span, ...]]


def read_chunks(chunks: Iterable[Chunk]) -> Read:
    """Return the text of some chunks."""
    return read_spans((chunk.source_id, span) for chunk in chunks for span in chunk.spans)


def read_tokens(ranking: Sequence[Chunk], budget: int, chunking: Chunking) -> Read:
    """Return the text of the first tokens of a ranking.

    Text that several chunks repeat costs its tokens each time; a chunk is cut where the budget ends.
    """
    counts = (chunking.token_counts[chunk.id] for chunk in ranking)
    return _read_within(budget, zip(ranking, counts, strict=True), chunking.token_starts)


def read_slices(slices: Sequence[Slices], budget: int, tokenizer: Tokenizer) -> Read:
    """Return the text of passages, or of anything else that consists of slices, best first, up to a number of tokens.

    Another tokenizer than that of the search may count more.
    """
    counts = tokenizer.count([each.text for each in slices]).tolist() if slices else []
    return _read_within(budget, zip(slices, counts, strict=True), lambda each: tokenizer.starts([each.text])[0])


def _read_within(
    budget: int, counted: Iterable[tuple[SlicesT, int]], starts: Callable[[SlicesT], NDArray[np.int64]]
) -> Read:
    read: list[tuple[str, Span]] = []
    for each, tokens in counted:
        spans = each.spans if tokens <= budget else _first_tokens(each, budget, starts(each))
        read += ((each.source_id, span) for span in spans)
        budget -= tokens
        if budget <= 0:
            break
    return read_spans(read)


def read_spans(read: Iterable[tuple[str, Span]]) -> Read:
    """Return spans by source id, in order and without overlap."""
    spans: dict[str, list[Span]] = {}
    for source_id, span in read:
        spans.setdefault(source_id, []).append(span)
    return {source_id: unite(found) for source_id, found in spans.items()}


def _first_tokens(chunk: Slices, number: int, starts: NDArray[np.int64]) -> Iterable[Span]:
    """Return the spans of the first tokens of a chunk that has more."""
    # A function as a tokenizer may count more tokens than it locates; then the whole text is read.
    end = int(starts[number]) if number < len(starts) else len(chunk.text)
    # A token ends before the white space that follows.
    return _until(chunk, len(chunk.text[:end].rstrip()))


def _until(chunk: Slices, end: int) -> Iterable[Span]:
    """Return the spans of the beginning of a chunk's text."""
    placed = stretches(chunk.spans, chunk.text)
    if placed is None:
        # A splitter has rewritten the text: take the same share of its spans.
        left = round(length(chunk.spans) * end / len(chunk.text))
        for start, stop in chunk.spans:
            if left > 0:
                yield Span(start, min(stop, start + left))
            left -= stop - start
    else:
        for at, (start, stop) in placed:
            if at < end:
                yield Span(start, min(stop, start + end - at))


class LabelCoverage(NamedTuple):
    """Labelled text that was read."""

    read: float
    labelled: float

    @property
    def share(self) -> float:
        """The share that was read."""
        return self.read / self.labelled


def coverage(place: Place, read: Read) -> float:
    """Return the share of a place that was read; a whole document counts as read once any of its text is."""
    found = read.get(place.source_id, ())
    if place.span is None:
        return float(bool(found))
    return overlap([place.span], found) / (place.span.end - place.span.start)


def best_coverage(label: Label, read: Read) -> float:
    """Return the highest coverage of a label's places."""
    return max(coverage(place, read) for place in label.places)


def found_text(question: Question, read: Read) -> LabelCoverage:
    """Return how much of the text that answers a question was read.

    Overlapping labels count once. A label with several places counts with its best coverage, weighted by the mean
    length of its places; such labels are not merged with others, so that reading on never lowers the share.
    """
    only: dict[str, list[Span]] = {}
    total = covered = 0.0
    for label in question.labels:
        spans = [place.span for place in label.places if place.span is not None]
        if len(spans) == 1:
            only.setdefault(label.places[0].source_id, []).append(spans[0])
        else:
            weight = length(spans) / len(spans)
            total += weight
            covered += weight * best_coverage(label, read)
    for source_id, spans in only.items():
        united = unite(spans)
        total += length(united)
        covered += overlap(united, read.get(source_id, ()))
    return LabelCoverage(covered, total)


def found_share(question: Question, read: Read) -> float | None:
    """Return the share of a question's labels that was read; None for a question without labels.

    A whole document as a label is either found or not. If a question has labels of both kinds, the weight of its texts
    is their number.
    """
    if not question.labels:
        return None
    texts = tuple(label for label in question.labels if has_text(label))
    whole = [label for label in question.labels if not has_text(label)]
    found = sum(best_coverage(label, read) for label in whole)
    if texts:
        only_texts = Question(question.id, question.text, texts)
        found += len(texts) * found_text(only_texts, read).share
    return found / len(question.labels)


def has_text(label: Label) -> bool:
    """Return whether all places of a label are texts, not whole documents."""
    return all(place.span is not None for place in label.places)


class Retrieved(NamedTuple):
    """Text of chunks, in characters of their documents."""

    relevant: int
    all: int

    @property
    def precision(self) -> float:
        """The labelled share of the text; 0 without text."""
        return self.relevant / self.all if self.all else 0.0


def is_text(question: Question) -> bool:
    """Return whether a question has labels and all of them are texts, so that characters can be counted."""
    return bool(question.labels) and all(has_text(label) for label in question.labels)


def retrieved_text(question: Question, chunks: Iterable[Chunk]) -> Retrieved:
    """Return how much of the text of some chunks is labelled, for a question for which `is_text` is true."""
    chunks = list(chunks)
    places = (place for label in question.labels for place in label.places)
    labelled = read_spans((place.source_id, place.span) for place in places if place.span is not None)
    read = read_chunks(chunks)
    relevant = sum(overlap(spans, read.get(source_id, ())) for source_id, spans in labelled.items())
    return Retrieved(relevant, sum(length(chunk.spans) for chunk in chunks))


def iou(question: Question, chunks: Sequence[Chunk]) -> float:
    """Return the intersection over union of the labelled text and the text of some chunks."""
    found, retrieved = found_text(question, read_chunks(chunks)), retrieved_text(question, chunks)
    return retrieved.relevant / (retrieved.all + found.labelled - found.read)


def text_recall(question: Question, chunks: Sequence[Chunk]) -> float:
    """Return the share of the labelled text that some chunks hold.

    Larger chunks hold more text at the same k; recall at a token budget corrects for that.
    """
    return found_text(question, read_chunks(chunks)).share


def _text_family(pattern: str, description: str, value: Callable[[Question, Sequence[Chunk]], float]) -> Family:
    """Return a family of measures of the text of the first k chunks, in characters.

    They have no value for a question without labels, or with a whole document as a label.
    """

    def score(outcome: Outcome, _: Chunking, asked: Asked) -> float | None:
        return value(outcome.question, outcome.ranking[: asked.k]) if is_text(outcome.question) else None

    return family(pattern, description, score)


def precision_omega(outcome: Outcome, chunking: Chunking, _: Asked) -> float | None:
    """Return the labelled share of the text of all chunks that hold labelled text.

    A ranker that finds exactly these chunks has this precision, so it measures the cuts and not the ranking. None for a
    question without labels, or with a whole document as a label.
    """
    if not is_text(outcome.question):
        return None
    chunks = {holding.chunk.id: holding.chunk for _, holding in chunking.alignment.held(outcome.question)}
    return retrieved_text(outcome.question, chunks.values()).precision


def budget_recall(outcome: Outcome, chunking: Chunking, asked: Asked) -> float | None:
    """Return the share of the labelled text within the first N retrieved tokens, by the evaluation's tokenizer.

    It compares chunks of any size fairly: fewer large chunks fit in the budget, and repeated text counts each time. A
    chunk is cut where the budget ends. If the ranker returns passages within the budget, these are judged. None for a
    question without labels.
    """
    read = outcome.read.get(asked.k)
    if read is None:
        read = read_tokens(outcome.ranking, asked.k, chunking)
    return found_share(outcome.question, read)


#: The measures for the registry.
FAMILIES = (
    family("recall@Nt", "Share of the labelled text within the first N retrieved tokens", budget_recall),
    _text_family(
        "text_recall@k", "Share of the labelled text that the first k chunks hold; Chroma's recall", text_recall
    ),
    _text_family(
        "text_precision@k",
        "Share of the first k chunks' text that is labelled; Chroma's precision",
        lambda question, chunks: retrieved_text(question, chunks).precision,
    ),
    _text_family(
        "iou@k", "Labelled text in the first k chunks, divided by their text and what they miss; Chroma's IoU", iou
    ),
    family(
        "precision_omega",
        "Labelled share of the text of all chunks that hold labelled text; Chroma's precision omega",
        precision_omega,
    ),
)
