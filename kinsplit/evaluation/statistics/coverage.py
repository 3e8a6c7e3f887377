"""How much of the documents is in chunks, and how often."""

from __future__ import annotations

import numpy as np

from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.evaluation.statistics.protocol import Made
from kinsplit.parsers.segment import code_points, is_space


class Coverage:
    """The share of the documents' characters that can be found, white space left out."""

    name, unit = "coverage", "share"
    description = "Share of the characters, white space left out, that are in a chunk"

    def value(self, made: Made) -> float | None:
        """Return the share; None for documents without text."""
        everything, covered, _ = _counted(made.chunking)
        return covered / everything if everything else None


class Duplication:
    """How often a character that is in a chunk is in chunks: 1 where nothing is repeated."""

    name, unit = "duplication", "times"
    description = "How many chunks a character is in, of those that are in any; white space left out"

    def value(self, made: Made) -> float | None:
        """Return the quotient; None where nothing is covered."""
        _, covered, retrievable = _counted(made.chunking)
        return retrievable / covered if covered else None


def _counted(chunking: Chunking) -> tuple[int, int, int]:
    """Return how many characters there are, how many are in a chunk, and how many are in all chunks together."""
    everything = covered = retrievable = 0
    for document in chunking.dataset.documents:
        solid = ~is_space(code_points(document.text))
        times = np.zeros(len(solid) + 1, dtype=np.int64)
        for chunk in chunking.by_source.get(document.id, ()):
            for start, end in chunk.spans:
                times[start] += 1
                times[end] -= 1
        depth = np.cumsum(times)[:-1][solid]
        everything, covered, retrievable = (
            everything + len(depth),
            covered + int((depth > 0).sum()),
            retrievable + int(depth.sum()),
        )
    return everything, covered, retrievable
