"""What a statistic is given: a chunking, and what it took to make it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.evaluation.statistics.depths import Depths
from kinsplit.parsers.segment import words

#: Of each chunk its length.
Lengths = NDArray[np.int64]


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

    @cached_property
    def characters(self) -> Lengths:
        """Of each chunk its characters."""
        return np.array([len(chunk.text) for chunk in self.chunking.chunks], dtype=np.int64)

    @cached_property
    def words(self) -> Lengths:
        """Of each chunk its words."""
        return np.array([len(words(chunk.text).starts) for chunk in self.chunking.chunks], dtype=np.int64)

    @cached_property
    def tokens(self) -> Lengths:
        """Of each chunk its tokens."""
        return np.array(list(self.chunking.token_counts.values()), dtype=np.int64)

    @cached_property
    def depths(self) -> Depths:
        """How many chunks the characters of the documents are in."""
        return Depths.of(self.chunking)


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
