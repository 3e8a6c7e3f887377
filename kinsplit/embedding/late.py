"""Late chunking: a document is embedded as a whole, and each chunk is the mean of its tokens' vectors.

So a chunk's vector knows what stands around it: "the city" the Berlin that was named a paragraph before. After Günther,
Mohr, Williams, Wang & Xiao 2024, *Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding Models*
(arXiv 2409.04701), with their overlapping windows for documents longer than the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import SEPARATOR, Span
from kinsplit.embedding.late_windows import Reach, lay_windows
from kinsplit.embedding.protocol import Embedder, Progress, TokenEmbedder
from kinsplit.embedding.texts import check_texts
from kinsplit.errors import EmbeddingError, InvalidParameterError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: Where a piece lies, in order; nearly always one span.
Spans = Sequence[Span]

# Windows whose token vectors are in memory together.
_BATCH = 64


def token_embedder(embedder: Embedder) -> TokenEmbedder:
    """Return an embedder that has vectors for tokens, as late chunking needs it.

    Raises:
        InvalidParameterError: It has none.
    """
    if not isinstance(embedder, TokenEmbedder):
        remedy = "Take the bundled model or another one of sentence-transformers."
        raise InvalidParameterError(
            "context", "'late' needs an embedder with vectors for tokens", embedder.name, remedy
        )
    return embedder


def embed_late(
    embedder: Embedder, texts: Sequence[str], pieces: Sequence[Sequence[Spans]], progress: Progress | None = None
) -> list[NDArray[np.float32]]:
    """Embed pieces of texts, each with what stands around it.

    A text longer than the model's window is read in windows that overlap by a quarter, and each token's vector is taken
    from the window in which it lies deeper. Token vectors have length 1 before they are averaged. A piece without
    tokens is embedded for itself.

    Args:
        embedder: Has vectors for tokens (see `TokenEmbedder`), and its `tokenizer`, without truncation and padding.
        texts: The texts.
        pieces: Of each text the pieces, each as its spans.
        progress: Told how many windows are done, and of how many.

    Returns:
        Per text the vectors of its pieces, each of length 1: float32, shape (pieces, dimension).

    Raises:
        InvalidParameterError: The embedder has no vectors for tokens.
        EmbeddingError: It can't be said where its tokens lie.
    """
    by_token, tokenizer, texts = token_embedder(embedder), _tokenizer_of(embedder), check_texts(texts)
    pooled = [_Pooled(own, embedder.dimension) for own in pieces]
    windows = [(i, window) for i, text in enumerate(texts) for window in lay_windows(text, tokenizer, embedder.window)]
    for start in range(0, len(windows), _BATCH):
        batch = windows[start : start + _BATCH]
        found = by_token.embed_tokens([texts[i][window.start : window.end] for i, window in batch])
        for (i, window), vectors in zip(batch, found, strict=True):
            if len(vectors) != len(window.tokens):
                what = f"{len(vectors)} vectors for a window of {len(window.tokens)} tokens"
                raise EmbeddingError(f"{embedder.name} gave {what}, so its tokens can't be placed.")
            pooled[i].add(window, vectors)
        if progress:
            progress(start + len(batch), len(windows))
    return [own.vectors(text, embedder) for own, text in zip(pooled, texts, strict=True)]


def _tokenizer_of(embedder: Embedder) -> Tokenizer:
    tokenizer = getattr(embedder, "tokenizer", None)
    if tokenizer is None:
        raise EmbeddingError(
            f"{embedder.name} has no `tokenizer`, so its tokens can't be placed. "
            "Take the bundled model or another one of sentence-transformers."
        )
    return tokenizer


class _Pooled:
    """The pieces of one text, and the sums of their tokens' vectors."""

    def __init__(self, pieces: Sequence[Spans], dimension: int) -> None:
        self._pieces = pieces
        self._spans = np.array([span for spans in pieces for span in spans], dtype=np.int64).reshape(-1, 2)
        self._owners = np.repeat(np.arange(len(pieces)), [len(spans) for spans in pieces])
        self._sums = np.zeros((len(pieces), dimension))

    def add(self, window: Reach, vectors: NDArray[np.float32]) -> None:
        """Add the vectors that a window gives to the pieces in which their tokens begin."""
        begins, ends = np.clip(self._spans, window.since, window.until).T
        firsts, lasts = np.searchsorted(window.tokens, begins), np.searchsorted(window.tokens, ends)
        for place in np.flatnonzero(firsts < lasts):
            self._sums[self._owners[place]] += vectors[firsts[place] : lasts[place]].sum(axis=0, dtype=np.float64)

    def vectors(self, text: str, embedder: Embedder) -> NDArray[np.float32]:
        """Return the sums with length 1, and the piece's own vector where there is no sum."""
        lengths = np.linalg.norm(self._sums, axis=1, keepdims=True)
        vectors = np.asarray(self._sums / np.where(lengths > 0, lengths, 1), dtype=np.float32)
        empty = np.flatnonzero(lengths[:, 0] == 0).tolist()
        if empty:
            own = [SEPARATOR.join(text[start:end] for start, end in self._pieces[index]) for index in empty]
            vectors[empty] = embedder.embed(own)
        return vectors
