"""How many chunks the characters of the documents are in."""

from __future__ import annotations

import numpy as np

from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.parsers.segment import code_points, is_space


def counted(chunking: Chunking) -> tuple[int, int, int]:
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
