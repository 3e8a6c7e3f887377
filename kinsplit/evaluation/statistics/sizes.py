"""Number, lengths and coverage of the chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from kinsplit.evaluation.statistics.protocol import ChunkingProfile, Lengths


@dataclass(frozen=True)
class Size:
    """A figure of the chunks' lengths, without their contexts.

    Attributes:
        name: Name of the statistic.
        unit: Unit of the lengths.
        description: Meaning in one line.
        lengths: Function that returns the length of each chunk.
        figure: Function that summarises the lengths.
    """

    name: str
    unit: str
    description: str
    lengths: Callable[[ChunkingProfile], Lengths]
    figure: Callable[[Lengths], Any]

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the figure; None without chunks."""
        lengths = self.lengths(profile)
        return float(self.figure(lengths)) if len(lengths) else None


SIZES = tuple(
    Size(f"{key}_{unit}", unit, f"{title} {unit} of a chunk", attrgetter(unit), figure)
    for unit in ("characters", "words", "tokens")
    for key, title, figure in (("average", "Average", np.mean), ("min", "Fewest", np.min), ("max", "Most", np.max))
)


class Chunks:
    """The chunks that are searched."""

    name, unit, description = "chunks", "chunks", "Chunks that are searched"

    def value(self, profile: ChunkingProfile) -> float:
        """Return the number of chunks."""
        return len(profile.chunking.chunks)


class Documents:
    """The documents that have a chunk."""

    name, unit, description = "documents", "documents", "Documents that have a chunk"

    def value(self, profile: ChunkingProfile) -> float:
        """Return the number of documents."""
        return len(profile.chunking.by_source)


class Coverage:
    """The share of the documents' characters that are in a chunk, not counting white space."""

    name, unit = "coverage", "share"
    description = "Share of the characters that are in a chunk, not counting white space"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the share; None for documents without text."""
        return profile.depths.covered / profile.depths.all if profile.depths.all else None


class Duplication:
    """The mean number of chunks that hold a covered character: 1 without repetition."""

    name, unit = "duplication", "times"
    description = "Mean number of chunks that hold a covered character, not counting white space"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the mean; None if nothing is covered."""
        return profile.depths.retrievable / profile.depths.covered if profile.depths.covered else None
