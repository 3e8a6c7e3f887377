"""Long texts as slices that a model can read, by any tokenizer that counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import EmbeddingError
from kinsplit.tokenizers import Tokenizer


def slice_texts(texts: Sequence[str], tokenizer: Tokenizer, budget: int) -> list[list[str]]:
    """Cut every text into slices of at most `budget` tokens, of like length and between words where possible.

    Args:
        texts: The texts.
        tokenizer: Counts, and knows where tokens begin.
        budget: Most tokens of a slice.

    Returns:
        Per text its slices, whose concatenation is the text; one slice where the text fits.

    Raises:
        EmbeddingError: A single character has more tokens than the budget.
    """
    counts = tokenizer.count(texts) if texts else ()
    return [
        [text] if count <= budget else list(_slices(text, tokenizer, budget))
        for text, count in zip(texts, counts, strict=True)
    ]


def _slices(text: str, tokenizer: Tokenizer, budget: int) -> Iterator[str]:
    cuts = [0, *_cuts(text, tokenizer, budget), len(text)]
    # A slice can have more tokens than it had inside the text (a word cut in two), so each is counted again.
    for parts in slice_texts([text[start:end] for start, end in pairwise(cuts)], tokenizer, budget):
        yield from parts


def _cuts(text: str, tokenizer: Tokenizer, budget: int) -> Iterator[int]:
    """Yield where the second and later slices begin, at least one."""
    (starts,) = tokenizer.starts([text])
    is_word = np.array([start > 0 and text[start - 1].isspace() for start in starts])
    position, begin, total = 0, 0, len(starts)
    while total - position > budget:
        remaining = total - position
        # The mean weighs slices alike, so a last slice of a few tokens would weigh too much.
        even = position + -(-remaining // -(-remaining // budget))
        later = np.flatnonzero(starts[position : position + budget + 1] > begin) + position
        words = later[is_word[later] & (later <= even)]
        stops = words[-1:] if len(words) else later[later <= even][-1:]
        if not len(stops):
            stops = later[:1]
        if not len(stops):  # One word alone, without places inside.
            yield begin + _half(text[begin : _next(starts, position, len(text))], budget)
            return
        position, begin = int(stops[0]), int(starts[stops[0]])
        yield begin
    if begin == 0:  # The places are fewer than the count.
        yield _half(text, budget)


def _next(starts: NDArray[np.int64], position: int, end: int) -> int:
    later = starts[starts > starts[position]]
    return int(later[0]) if len(later) else end


def _half(text: str, budget: int) -> int:
    if len(text) < 2:
        raise EmbeddingError(f"The model's window leaves {budget} tokens for a text; {text!r} alone has more.")
    return len(text) // 2
