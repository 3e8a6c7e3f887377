"""The embedder with a clock in front of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from prometheus_client import Histogram

from kinsplit.embedding import Embedder, Progress
from kinsplit.embedding.protocol import TokenEmbedder


class TimedEmbedder:
    """Tells how long each question takes to embed.

    Args:
        embedder: Gives the vectors.
        seconds: Told of each.
    """

    def __init__(self, embedder: Embedder, seconds: Histogram) -> None:
        self._embedder, self._seconds = embedder, seconds
        self.name, self.dimension = embedder.name, embedder.dimension
        self.window, self.fingerprint = embedder.window, embedder.fingerprint

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        return self._embedder.windows(texts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts; see `Embedder.embed`."""
        return self._embedder.embed(texts, progress)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question, and tell how long it took."""
        with self._seconds.time():
            return self._embedder.embed_query(text)


class TimedTokenEmbedder(TimedEmbedder):
    """The same of an embedder that also has vectors for tokens."""

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed the tokens of texts; see `TokenEmbedder.embed_tokens`."""
        if not isinstance(self._embedder, TokenEmbedder):
            raise TypeError(self._embedder.name)
        return self._embedder.embed_tokens(texts)


def timed(embedder: Embedder, seconds: Histogram) -> TimedEmbedder:
    """Return an embedder that tells how long questions take, and can do what it could."""
    kind = TimedTokenEmbedder if isinstance(embedder, TokenEmbedder) else TimedEmbedder
    return kind(embedder, seconds)
