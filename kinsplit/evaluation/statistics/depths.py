"""How many chunks the characters of the documents are in."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.parsers.segment import code_points, is_space


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
