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
    """Characters of the documents, white space left out.

    Attributes:
        all: How many there are.
        covered: How many are in a chunk.
        retrievable: How many are in all chunks together.
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


#: Of each chunk its length.
Lengths = NDArray[np.int64]


@dataclass(frozen=True)
class ChunkingProfile:
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

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the number; None where nothing can be said."""
        ...
