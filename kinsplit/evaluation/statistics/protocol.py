"""What a statistic is given: a chunking, and what it took to make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kinsplit.evaluation.measures.protocol import Chunking


@dataclass(frozen=True)
class Made:
    """A chunking with what it took to make it.

    Attributes:
        chunking: The chunks.
        dimension: Of a chunk's vector.
        contexts: Whether a chunk's context is embedded with its text.
        split_seconds: Wall time of splitting; None where a part of the work was kept from an earlier run.
        embed_seconds: Wall time of embedding the chunks; None as above.
    """

    chunking: Chunking
    dimension: int
    contexts: bool
    split_seconds: float | None
    embed_seconds: float | None


class Statistic(Protocol):
    """Says something of chunks without any question.

    Attributes:
        name: As it is shown.
        unit: What it is counted in.
        description: What it says, in one line.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def unit(self) -> str: ...  # noqa: D102

    @property
    def description(self) -> str: ...  # noqa: D102

    def value(self, made: Made) -> float | None:
        """Return the number; None where nothing can be said."""
        ...
