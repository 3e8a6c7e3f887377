"""The cost of an evaluation, known before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.parsers.base import Cost


@dataclass(frozen=True)
class Plan:
    """What is to be done for one strategy.

    Attributes:
        label: The strategy.
        chunks: Chunks to search; None where only a model can say, since it draws the boundaries.
        tokens: Tokens to embed for them, contexts included; None as above.
        texts: Texts to embed, equal ones counted once; None as above.
        kept: Of these texts, those with a vector from earlier runs; None as above.
        questions: Questions to ask.
        answered: Of these, those with an outcome from earlier runs. Where it is all of them, nothing is embedded.
        cost: Of the language model that draws the boundaries.
    """

    label: str
    chunks: int | None
    tokens: int | None
    texts: int | None
    kept: int | None
    questions: int
    answered: int
    cost: Cost
