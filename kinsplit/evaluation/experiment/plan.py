"""The cost of an evaluation, known before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.parsers.base import Cost


@dataclass(frozen=True)
class Plan:
    """The work to do for one strategy.

    Attributes:
        label: Label of the strategy.
        chunks: Number of chunks to search; None where a model decides the boundaries.
        tokens: Number of tokens to embed, contexts included; None as above.
        texts: Number of different texts to embed; None as above.
        kept: Number of these texts whose vector is cached; None as above.
        questions: Number of questions.
        answered: Number of questions whose ranking is cached. If all are, nothing is embedded.
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
