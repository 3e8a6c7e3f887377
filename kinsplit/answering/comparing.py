"""Sentences compared with those of sources: by meaning, and by the words that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinsplit.answering.values import Source
from kinsplit.chunk import Span
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.parsers.sentences import sentences

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Part:
    """One or two sentences of a source.

    Attributes:
        source: The source.
        at: Where they stand in its text.
    """

    source: Source
    at: Span

    @property
    def text(self) -> str:
        """The sentences."""
        return self.source.text[self.at.start : self.at.end]


class Comparison:
    """The sentences of sources, and each two that follow each other, ready to be compared with others.

    Args:
        sources: The sources.
        embedder: Compares meanings.
        bm25: Compares words: its stems, without its stop words.
    """

    def __init__(self, sources: Sequence[Source], embedder: Embedder, bm25: Bm25Embedder) -> None:
        self._bm25 = bm25
        single: list[Part] = []
        runs: list[tuple[int, int]] = []
        for source in sources:
            starts, ends = (each.tolist() for each in sentences(source.text))
            first, single = len(single), single + [Part(source, Span(*at)) for at in zip(starts, ends, strict=True)]
            runs += [(number, number) for number in range(first, len(single))]
            runs += [(number, number + 1) for number in range(first, len(single) - 1)]
        self.parts = [Part(single[i].source, Span(single[i].at.start, single[j].at.end)) for i, j in runs]
        self._words = [terms(self._bm25, part.text) for part in self.parts]
        vectors = embedder.embed([part.text for part in single]) if single else np.zeros((0, embedder.dimension))
        # Two sentences' vector is the mean of both, which costs no further call of the model.
        sums = [vectors[i] + vectors[j] for i, j in runs]
        self._vectors = [vector / (np.linalg.norm(vector) or 1.0) for vector in sums]

    def cosines(self, vector: FloatArray) -> FloatArray:
        """Return the cosine of a vector of length 1 with each part: float32[parts]."""
        return np.asarray([own @ vector for own in self._vectors], dtype=np.float32)

    def overlaps(self, text: str) -> FloatArray:
        """Return the share of a text's words that each part holds: float32[parts], 0 for a text without words."""
        wanted = terms(self._bm25, text)
        shares = [len(wanted & words) / len(wanted) if wanted else 0.0 for words in self._words]
        return np.asarray(shares, dtype=np.float32)


def terms(bm25: Bm25Embedder, text: str) -> frozenset[int]:
    """Return the words of a text as the term ranking has them."""
    (vector,) = bm25.embed([text])
    return frozenset(vector.indices)
