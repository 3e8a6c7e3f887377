"""Long texts as windows that a model can read, and windows back as one vector."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import EmbeddingError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


def split_texts(texts: Sequence[str], tokenizer: Tokenizer, budget: int) -> list[list[str]]:
    """Cut every text into slices of at most `budget` tokens.

    Args:
        texts: The texts.
        tokenizer: Without truncation and padding.
        budget: Most tokens of a slice, special tokens not counted.

    Returns:
        Per text its slices, whose concatenation is the text; one slice where the text fits.

    Raises:
        EmbeddingError: A single character has more tokens than the budget.
    """
    encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [
        [text] if len(encoding.ids) <= budget else _cut(text, encoding, tokenizer, budget)
        for text, encoding in zip(texts, encodings, strict=True)
    ]


def _cut(text: str, encoding: Encoding, tokenizer: Tokenizer, budget: int) -> list[str]:
    starts = [*_window_starts(text, encoding, budget), len(text)]
    # A slice can have more tokens than it had inside the text (a word cut in two), so each is counted again.
    nested = split_texts([text[start:end] for start, end in pairwise(starts)], tokenizer, budget)
    return [part for parts in nested for part in parts]


def _window_starts(text: str, encoding: Encoding, budget: int) -> list[int]:
    """Return where each window starts: windows of like length, cut between words where possible."""
    offsets, words, count = encoding.offsets, encoding.word_ids, len(encoding.ids)

    def between_characters(stop: int) -> bool:
        return offsets[stop][0] >= offsets[stop - 1][1] and offsets[stop][0] > starts[-1]

    def between_words(stop: int) -> bool:
        return between_characters(stop) and (words[stop] is None or words[stop] != words[stop - 1])

    starts, position = [0], 0
    while count - position > budget:
        remaining = count - position
        # The mean weighs windows alike, so a last window of a few tokens would weigh too much.
        even = position - (-remaining // -(-remaining // budget))
        shorter, longer = range(even, position, -1), range(even + 1, position + budget + 1)
        stops = (*filter(between_words, shorter), *filter(between_characters, (*shorter, *longer)))
        if not stops:
            character = text[offsets[position][0]]
            raise EmbeddingError(f"The model's window leaves {budget} tokens for a text; {character!r} alone has more.")
        position = stops[0]
        starts.append(offsets[position][0])
    return starts


def mean_of_windows(vectors: NDArray[np.float32], counts: Sequence[int]) -> NDArray[np.float32]:
    """Average the vectors of each text's windows.

    Args:
        vectors: One per window, in order, shape (sum(counts), d).
        counts: Windows of each text, each at least 1.

    Returns:
        One vector of length 1 per text, shape (len(counts), d).
    """
    if not counts:
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    # The sum points where the mean points; the length is made 1 anyway.
    sums = np.add.reduceat(vectors, np.cumsum([0, *counts[:-1]]), axis=0, dtype=np.float32)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.maximum(norms, np.finfo(np.float32).tiny), dtype=np.float32)
