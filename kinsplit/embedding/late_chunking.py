"""Late chunking: a document is embedded as a whole, and each chunk gets the mean of its tokens' vectors.

A chunk's vector thus reflects its context: "the city" is the Berlin of the paragraph before. After Günther, Mohr,
Williams, Wang & Xiao 2024, *Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding Models* (arXiv
2409.04701), with their overlapping windows for documents that are longer than the model's window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import SEPARATOR
from kinsplit.embedding.protocol import Embedder, Progress, TokenEmbedder, check_texts
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.spans import Span

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The fraction of a window that it shares with the next one: each token has at least an eighth of a window on either
# side, except at the ends of a text.
_OVERLAP = 4


class Reach(NamedTuple):
    """A window of a text."""

    start: int
    end: int
    since: int
    until: int
    tokens: NDArray[np.int64]


def lay_windows(text: str, tokenizer: Tokenizer, window: int) -> list[Reach]:
    """Cover a text with windows in order, exactly one of which provides the vector of each token."""
    budget = max(1, window - tokenizer.num_special_tokens_to_add(False))
    tokens = _offsets(text, tokenizer)
    if len(tokens) <= budget:
        return [Reach(0, len(text), 0, len(text), tokens)]
    laid = list(_lay(text, tokens, tokenizer, budget))
    # Each of two windows provides half of the tokens that they share.
    shared = (np.searchsorted(tokens, (later.start, earlier.end)) for earlier, later in pairwise(laid))
    meets = [0, *(int(tokens[(first + last) // 2]) for first, last in shared), len(text)]
    between = zip(laid, pairwise(meets), strict=True)
    return [reach._replace(since=since, until=until) for reach, (since, until) in between]


def _lay(text: str, tokens: NDArray[np.int64], tokenizer: Tokenizer, budget: int) -> Iterator[Reach]:
    """Yield the windows, cut between words where possible; each still provides all of its tokens."""
    begins_word = np.array([start > 0 and text[start - 1].isspace() for start in tokens])
    first = last = 0
    while last < len(tokens):
        start = int(tokens[first]) if first else 0
        last = _stop(first, budget, tokens, begins_word)
        while True:
            end = int(tokens[last]) if last < len(tokens) else len(text)
            own = start + _offsets(text[start:end], tokenizer)
            # A cut inside a word can yield more tokens than the whole text has there.
            if len(own) <= budget or last == first + 1:
                break
            last -= 1
        yield Reach(start, end, start, end, own)
        first = max(first + 1, _stop(first, last - first - budget // _OVERLAP, tokens, begins_word))


def _stop(first: int, count: int, tokens: NDArray[np.int64], begins_word: NDArray[np.bool_]) -> int:
    """Return the last token within the next `count` that begins a word, or else the last of them."""
    if first + count >= len(tokens):
        return len(tokens)
    words = np.flatnonzero(begins_word[first + 1 : first + count + 1])
    return first + 1 + int(words[-1]) if len(words) else first + max(1, count)


def _offsets(text: str, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return the offsets of a text's tokens without special ones, never decreasing."""
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    return np.maximum.accumulate(np.array([start for start, _ in offsets], dtype=np.int64))


#: Spans of a piece in order; nearly always one.
Spans = Sequence[Span]

_REMEDY = "Take the bundled model or another one of sentence-transformers."
# Windows whose token vectors are in memory together.
_BATCH = 64


def token_embedder(embedder: Embedder) -> TokenEmbedder:
    """Return an embedder with vectors for tokens, which late chunking needs.

    Raises:
        InvalidParameterError: The embedder has none.
    """
    if not isinstance(embedder, TokenEmbedder):
        rule = "'late' needs an embedder with vectors for tokens"
        raise InvalidParameterError("embedding_context", rule, embedder.name, _REMEDY)
    return embedder


def embed_late(
    embedder: Embedder, texts: Sequence[str], pieces: Sequence[Sequence[Spans]], progress: Progress | None = None
) -> list[NDArray[np.float32]]:
    """Embed pieces of texts, each in its context; a piece is given by its spans.

    A text longer than the model's window is read in windows that overlap by a quarter, and each token's vector comes
    from the window in which the token has more context. Token vectors have length 1 before they are averaged. A piece
    without tokens is embedded on its own. The embedder's `tokenizer` must neither truncate nor pad.

    Returns:
        The vectors of each text's pieces, each of length 1: float32, shape (pieces, dimension).

    Raises:
        InvalidParameterError: The embedder has no vectors for tokens.
        EmbeddingError: The offsets of its tokens are unknown.
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
    tokenizer: Tokenizer | None = getattr(embedder, "tokenizer", None)
    if tokenizer is None:
        raise EmbeddingError(f"{embedder.name} has no `tokenizer`, so its tokens can't be placed. {_REMEDY}")
    return tokenizer


class _Pooled:
    """The pieces of one text and the sums of their tokens' vectors."""

    def __init__(self, pieces: Sequence[Spans], dimension: int) -> None:
        self._pieces = pieces
        self._spans = np.array([span for spans in pieces for span in spans], dtype=np.int64).reshape(-1, 2)
        self._owners = np.repeat(np.arange(len(pieces)), [len(spans) for spans in pieces])
        self._sums = np.zeros((len(pieces), dimension))

    def add(self, window: Reach, vectors: NDArray[np.float32]) -> None:
        """Add the vectors of a window to the pieces in which their tokens begin."""
        begins, ends = np.clip(self._spans, window.since, window.until).T
        firsts, lasts = np.searchsorted(window.tokens, begins), np.searchsorted(window.tokens, ends)
        for index in np.flatnonzero(firsts < lasts):
            self._sums[self._owners[index]] += vectors[firsts[index] : lasts[index]].sum(axis=0, dtype=np.float64)

    def vectors(self, text: str, embedder: Embedder) -> NDArray[np.float32]:
        """Return the sums scaled to length 1, and the vector of the piece alone where the sum is zero."""
        lengths = np.linalg.norm(self._sums, axis=1, keepdims=True)
        vectors = np.asarray(self._sums / np.where(lengths > 0, lengths, 1), dtype=np.float32)
        empty = np.flatnonzero(lengths[:, 0] == 0).tolist()
        if empty:
            own = [SEPARATOR.join(text[start:end] for start, end in self._pieces[index]) for index in empty]
            vectors[empty] = embedder.embed(own)
        return vectors
