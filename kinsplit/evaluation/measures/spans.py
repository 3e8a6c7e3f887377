"""Measures of labelled spans: what retrieved passages cover of them, and how much else they hold.

Labelled text counts once, and text that several chunks repeat counts each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.measures.passages import (
    found_share,
    found_text,
    is_text,
    read_chunks,
    read_tokens,
    retrieved_text,
)
from kinsplit.evaluation.measures.protocol import Asked, Chunking, Family, Outcome, family


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
