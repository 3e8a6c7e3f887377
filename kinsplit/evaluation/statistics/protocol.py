"""The interface of a statistic, and its input."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.parsers.units.segment import code_points, is_space, words


class Depths(NamedTuple):
    """Numbers of characters, not counting white space.

    Attributes:
        all: Number of characters of the documents.
        covered: Number of characters that are in a chunk.
        retrievable: Sum of the characters of all chunks.
    """

    all: int
    covered: int
    retrievable: int

    @classmethod
    def of(cls, chunking: Chunking) -> Self:
        """Count the characters of a chunking."""
        everything = covered = retrievable = 0
        for document in chunking.dataset.documents:
            solid = ~is_space(code_points(document.text))
            times = np.zeros(len(solid) + 1, dtype=np.int64)
            for chunk in chunking.by_source.get(document.id, ()):
                for start, end in chunk.spans:
                    times[start] += 1
                    times[end] -= 1
            depth = np.cumsum(times)[:-1][solid]
            everything += len(depth)
            covered += int((depth > 0).sum())
            retrievable += int(depth.sum())
        return cls(everything, covered, retrievable)


#: Lengths of the chunks.
Lengths = NDArray[np.int64]


@dataclass(frozen=True)
class ChunkingProfile:
    """A chunking and its costs.

    Attributes:
        chunking: The chunks.
        dimension: Dimension of the vectors.
        contexts: Whether a chunk's context is embedded with its text.
        split_seconds: Wall time of splitting; None if vectors came from a cache.
        embed_seconds: Wall time of embedding the chunks; None if vectors came from a cache.
    """

    chunking: Chunking
    dimension: int
    contexts: bool
    split_seconds: float | None
    embed_seconds: float | None

    @cached_property
    def characters(self) -> Lengths:
        """The number of characters of each chunk."""
        return np.array([len(chunk.text) for chunk in self.chunking.chunks], dtype=np.int64)

    @cached_property
    def words(self) -> Lengths:
        """The number of words of each chunk."""
        return np.array([len(words(chunk.text).starts) for chunk in self.chunking.chunks], dtype=np.int64)

    @cached_property
    def tokens(self) -> Lengths:
        """The number of tokens of each chunk."""
        return np.array(list(self.chunking.token_counts.values()), dtype=np.int64)

    @cached_property
    def depths(self) -> Depths:
        """The coverage of the documents' characters."""
        return Depths.of(self.chunking)


class Statistic(Protocol):
    """A figure about chunks that needs no questions.

    Attributes:
        name: Name of the statistic.
        unit: Unit of the value.
        description: Meaning in one line.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def unit(self) -> str: ...  # noqa: D102

    @property
    def description(self) -> str: ...  # noqa: D102

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the value, or None if there is none."""
        ...
