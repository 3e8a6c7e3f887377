"""What a reranker does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kinsplit.errors import KinsplitWarning


@dataclass(frozen=True, slots=True)
class Ranked:
    """A reranker's judgement of one text.

    Attributes:
        index: Place of the text among those given.
        score: Higher is better; comparable within one call only.
    """

    index: int
    score: float


@runtime_checkable
class Reranker(Protocol):
    """Judges texts by how well they answer a question."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[Ranked]:
        """Judge texts.

        Args:
            query: The question.
            texts: At least one text.

        Returns:
            Judgements in any order, each naming its text by index, none twice. A text may be left out.
        """
        ...


class RerankWarning(KinsplitWarning):
    """A reranker failed, so the order is the one before it, or it could not read all that it was given."""
