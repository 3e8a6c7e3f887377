"""Long texts as windows that a model can read, and windows back as one vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import EmbeddingError
from kinsplit.tokenizers import Tokenizer

if TYPE_CHECKING:
    import tokenizers
    from tokenizers import Encoding


class Window(NamedTuple):
    """What a model reads at once.

    Attributes:
        text: A whole text or a slice of one, without the prompt.
        encoding: Its tokens, those of the prompt and the special ones included.
    """

    text: str
    encoding: Encoding


def read_windows(
    texts: Sequence[str], tokenizer: tokenizers.Tokenizer, window: int, prompt: str = ""
) -> list[list[Window]]:
    """Tokenise texts, each once unless it is too long; that is cut, and its slices are tokenised again.

    Args:
        texts: The texts.
        tokenizer: Without truncation and padding.
        window: Most tokens that the model reads at once, special tokens and the prompt included.
        prompt: What the model reads before each window.

    Returns:
        Per text its windows, none longer than `window`; their texts join to the text.

    Raises:
        EmbeddingError: The prompt leaves no room, or a single character has more tokens than it leaves.
    """
    taken = tokenizer.num_special_tokens_to_add(False)
    taken += len(tokenizer.encode(prompt, add_special_tokens=False).ids) if prompt else 0
    if window <= taken:
        raise EmbeddingError(f"The model's window of {window} tokens leaves none beside its prompt {prompt!r}.")
    return _read(texts, tokenizer, window, prompt, window - taken)


def _read(
    texts: Sequence[str], tokenizer: tokenizers.Tokenizer, window: int, prompt: str, budget: int
) -> list[list[Window]]:
    encodings = tokenizer.encode_batch_fast([prompt + text for text in texts] if prompt else list(texts))
    read = [[Window(text, encoding)] for text, encoding in zip(texts, encodings, strict=True)]
    for index, encoding in enumerate(encodings):
        if len(encoding.ids) > window:
            (slices,) = split_texts([texts[index]], tokenizer, budget)
            # Joined to the prompt, a text can have more tokens than both have alone: then its slices are made shorter.
            nested = _read(slices, tokenizer, window, prompt, budget if len(slices) > 1 else budget - 1)
            read[index] = [part for parts in nested for part in parts]
    return read


def split_texts(texts: Sequence[str], tokenizer: tokenizers.Tokenizer, budget: int) -> list[list[str]]:
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


def _cut(text: str, encoding: Encoding, tokenizer: tokenizers.Tokenizer, budget: int) -> list[str]:
    starts = [*_window_starts(text, encoding, budget), len(text)]
    # A slice can have more tokens than it had inside the text (a word cut in two), so each is counted again.
    nested = split_texts([text[start:end] for start, end in pairwise(starts)], tokenizer, budget)
    return [part for parts in nested for part in parts]


def _window_starts(text: str, encoding: Encoding, budget: int) -> list[int]:
    """Return where each window starts: windows of like length, cut between words where possible."""
    offsets, words, count = encoding.offsets, encoding.word_ids, len(encoding.ids)

    def between_characters(stop: int) -> bool:
        return bool(offsets[stop][0] >= offsets[stop - 1][1] and offsets[stop][0] > starts[-1])

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
