"""Handwritten datasets, chunkings and outcomes for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kinsplit.chunk import SEPARATOR, Chunk, Document
from kinsplit.evaluation.labels import Dataset, Label, Place, Question
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.identity import content_hash
from kinsplit.spans import Span
from kinsplit.tokenizers.protocol import IntArray


class Letters:
    """A tokenizer with characters as tokens, so that budgets are easy to count."""

    name = "letters"
    splits_at_space = False

    def count(self, texts: Sequence[str]) -> IntArray:
        return np.array([len(text) for text in texts], dtype=np.int64)

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        return [np.arange(len(text)) for text in texts]


def text(length: int) -> str:
    return ("abcdefghijklmnopqrstuvwxyz" * (length // 26 + 1))[:length]


def chunk(name: str, *spans: tuple[int, int], source: str = "d", document: str = text(1000)) -> Chunk:
    places = tuple(Span(*span) for span in spans)
    content = SEPARATOR.join(document[start:end] for start, end in places)
    return Chunk(name, source, 0, 1, 0, places, content, content_hash(content))


def label(*spans: tuple[int, int] | None, source: str = "d", group: str = "", grade: int = 1) -> Label:
    return Label(tuple(Place(source, span and Span(*span)) for span in spans), group, grade)


def question(*labels: Label, name: str = "q", asked: str = "what is it?") -> Question:
    return Question(name, asked, labels)


def chunking(
    chunks: Iterable[Chunk], questions: Iterable[Question] = (), documents: Mapping[str, str] | None = None
) -> Chunking:
    texts = documents or {"d": text(1000)}
    made = tuple(Document(source, content) for source, content in texts.items())
    return Chunking(Dataset("made", made, tuple(questions)), tuple(chunks), Letters())


def outcome(asked: Question, ranking: Sequence[Chunk]) -> Outcome:
    scores = [1 / (1 + rank) for rank in range(len(ranking))]
    return Outcome(asked, ranking, scores, scores, seconds=0.25)
