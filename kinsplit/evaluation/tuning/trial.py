"""What was tried: a strategy, what it costs, and what it found."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import Strategy


@dataclass(frozen=True, slots=True)
class Cost:
    """What it costs to embed the documents as a strategy splits them.

    Attributes:
        chunks: Chunks that are searched.
        tokens: Tokens that are embedded, contexts included; also those that the strategy embeds to find boundaries.
        ratio: Tokens that are embedded for each token of the documents.
    """

    chunks: int
    tokens: int
    ratio: float


@dataclass(frozen=True, slots=True)
class Caps:
    """What a strategy may cost.

    Attributes:
        ratio: Most tokens that are embedded for each token of the documents; None for any number.
        chunks: Most chunks; None for any number.
    """

    ratio: float | None = 2.5
    chunks: int | None = None

    def __post_init__(self) -> None:
        for field, value in (("ratio", self.ratio), ("chunks", self.chunks)):
            if value is not None and not value > 0:
                raise InvalidParameterError(field, "must be positive", value, "Leave it out for no limit.")

    def refuse(self, cost: Cost) -> str:
        """Return in words why a strategy is too dear; "" if it isn't."""
        if self.ratio is not None and cost.ratio > self.ratio:
            return f"embeds {cost.ratio:.2f} tokens for each one, more than {self.ratio:g}"
        if self.chunks is not None and cost.chunks > self.chunks:
            return f"makes {cost.chunks:,} chunks, more than {self.chunks:,}"
        return ""


@dataclass(frozen=True, slots=True)
class Trial:
    """A strategy that was tried.

    Attributes:
        strategy: The strategy.
        cost: What it costs; None where it couldn't split the documents.
        recall: Mean recall on the searched half; None where it wasn't measured.
        refused: Why it wasn't; "" where it was.
        seconds: Wall time, splitting and embedding included; what the caches held cost nothing.
    """

    strategy: Strategy
    cost: Cost | None
    recall: float | None
    refused: str
    seconds: float
