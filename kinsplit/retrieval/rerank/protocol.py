"""The protocol of rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kinsplit.errors import KinsplitWarning


@dataclass(frozen=True, slots=True)
class Ranked:
    """A reranker's score of one text.

    Attributes:
        index: Index of the text among those given.
        score: Higher is better; comparable within one call only.
    """

    index: int
    score: float


@runtime_checkable
class Reranker(Protocol):
    """Scores texts by how well they answer a question."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[Ranked]:
        """Score texts.

        Args:
            query: The question.
            texts: At least one text.

        Returns:
            Scores in any order, at most one for each text; texts may be left out.
        """
        ...


class RerankWarning(KinsplitWarning):
    """A reranker failed and left the order unchanged, or it could not read whole texts."""
