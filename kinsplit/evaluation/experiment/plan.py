"""The cost of an evaluation, estimated before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.parsers.base import Cost


@dataclass(frozen=True)
class Plan:
    """The work to do for one strategy.

    Attributes:
        label: Label of the strategy.
        chunks: Number of chunks to search; this and the next three are None if a model decides the boundaries.
        tokens: Number of tokens to embed, including contexts.
        texts: Number of different texts to embed.
        kept: Number of these texts with a cached vector.
        questions: Number of questions.
        answered: Number of questions with a cached ranking; if all have one, nothing is embedded.
        cost: Cost of the language model that decides the boundaries.
    """

    label: str
    chunks: int | None
    tokens: int | None
    texts: int | None
    kept: int | None
    questions: int
    answered: int
    cost: Cost
