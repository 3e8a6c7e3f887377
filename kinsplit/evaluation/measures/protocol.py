"""The interface of a measure, and its input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.evaluation.qrels.alignment import Alignment
from kinsplit.tokenizers import Tokenizer


@dataclass(frozen=True)
class Chunking:
    """A dataset as one strategy has split it.

    Attributes:
        dataset: The documents and questions.
        chunks: The chunks that are searched, leaves only, each document's in document order.
        tokenizer: Counts the tokens of every strategy alike.
    """

    dataset: Dataset
    chunks: tuple[Chunk, ...]
    tokenizer: Tokenizer

    @cached_property
    def by_source(self) -> Mapping[str, tuple[Chunk, ...]]:
        """The chunks of each document that has any, by its id."""
        found: dict[str, list[Chunk]] = {}
        for chunk in self.chunks:
            found.setdefault(chunk.source_id, []).append(chunk)
        return {source_id: tuple(chunks) for source_id, chunks in found.items()}

    @cached_property
    def alignment(self) -> Alignment:
        """The chunks by where they lie, which are asked for what holds a label."""
        return Alignment(self.chunks)

    @cached_property
    def token_counts(self) -> Mapping[str, int]:
        """The tokens of each chunk, by its id."""
        counts = self.tokenizer.count([chunk.text for chunk in self.chunks]).tolist() if self.chunks else []
        return {chunk.id: count for chunk, count in zip(self.chunks, counts, strict=True)}

    def token_starts(self, chunk: Chunk) -> NDArray[np.int64]:
        """Return where each token of a chunk's text begins there; a chunk is read only once."""
        if chunk.id not in self._starts:
            (self._starts[chunk.id],) = self.tokenizer.starts([chunk.text])
        return self._starts[chunk.id]

    @cached_property
    def _starts(self) -> dict[str, NDArray[np.int64]]:
        return {}


@dataclass(frozen=True)
class Outcome:
    """What was retrieved for one question.

    Attributes:
        question: The question.
        ranking: Chunks, best first, each at most once.
        scores: The ranker's, one for each chunk, never rising.
        cosines: Between the question and each chunk, by the embedder that all strategies share.
        seconds: Wall time of the search, the question's embedding included.
    """

    question: Question
    ranking: Sequence[Chunk]
    scores: Sequence[float]
    cosines: Sequence[float]
    seconds: float


class Measure(Protocol):
    """Judges what was retrieved for one question; a strategy gets the mean over the questions.

    Attributes:
        name: As it is asked for and shown, such as "nDCG@10".
        description: What it says, in one line.
        higher_is_better: Whether more is better.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def description(self) -> str: ...  # noqa: D102

    @property
    def higher_is_better(self) -> bool: ...  # noqa: D102

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """Judge one question.

        Args:
            outcome: What was retrieved.
            chunking: What it was retrieved from.

        Returns:
            The value; None for a question that the measure says nothing of, as one without labels.
        """
        ...
