"""A deterministic substitute for a model, for tests: no weights, no download, the same on every machine."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import CardedEmbedder, Progress, check_texts
from kinsplit.embedding.windows import mean_of_windows
from kinsplit.errors import require
from kinsplit.models import ModelCard, option_text

_WORD = re.compile(r"\w+")
_WINDOW = 256
# Maximum dimension that all stores accept.
_MOST = 65_535


class HashEmbedder(CardedEmbedder):
    """A bag of hashed words and word pairs: texts that share words get similar vectors.

    The window is counted in words; a longer text is embedded as the mean of its windows.
    """

    def __init__(self, dimension: int = 64, window: int = _WINDOW) -> None:
        for field, value in (("dimension", dimension), ("window", window)):
            require(1 <= value <= _MOST, field, f"must be 1 to {_MOST}", value, "Leave it out for the default.")
        self._dimension, self._window = dimension, window

    @functools.cached_property
    def name(self) -> str:
        """The spec that makes this embedder."""
        given = None if self.window == _WINDOW else self.window
        return f"hash:{self.dimension}{option_text({'window': given})}"

    @functools.cached_property
    def card(self) -> ModelCard:
        """Dimension and window, which determine every vector."""
        return ModelCard(weights="hash", dimension=self._dimension, window=self._window)

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        return [len(self._windows(text)) for text in check_texts(texts)]

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts; see `Embedder.embed`."""
        windows = [self._windows(text) for text in check_texts(texts)]
        flat = [window for parts in windows for window in parts]
        vectors = np.zeros((len(flat), self.dimension), dtype=np.float32)
        for row, words in zip(vectors, flat, strict=True):
            self._fill(row, words)
        if progress and flat:
            progress(len(flat), len(flat))
        return mean_of_windows(vectors, [len(parts) for parts in windows])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query like any other text."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def _windows(self, text: str) -> list[list[str]]:
        words = _WORD.findall(text.casefold())
        return [words[start : start + self.window] for start in range(0, len(words), self.window)] or [[]]

    def _fill(self, row: NDArray[np.float32], words: list[str]) -> None:
        pairs = (f"{first} {second}" for first, second in pairwise(words))
        # A text without words still needs a direction: the hash of the empty string.
        for term in (*words, *pairs) or ("",):
            bits = int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")
            row[(bits >> 1) % self.dimension] += 1.0 if bits & 1 else -1.0
        if not row.any():  # Terms that cancelled each other out.
            row[0] = 1.0
        row /= np.linalg.norm(row)
