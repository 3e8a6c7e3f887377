"""Overlapping windows over a text, and where the tokens of each begin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Of a window, shared with the next one: each token has an eighth of a window on either side, but at a text's ends.
_OVERLAP = 4


class Reach(NamedTuple):
    """A window of a text.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        since: Of the tokens that begin from here
        until: to here, the window gives the vectors.
        tokens: Where its tokens begin, in the text.
    """

    start: int
    end: int
    since: int
    until: int
    tokens: NDArray[np.int64]


def lay_windows(text: str, tokenizer: Tokenizer, window: int) -> list[Reach]:
    """Cover a text with windows.

    Args:
        text: The text.
        tokenizer: The model's, without truncation and padding.
        window: Most tokens that the model reads at once, special tokens included.

    Returns:
        Windows in order. Every token of the text is given by one of them.
    """
    budget = max(1, window - tokenizer.num_special_tokens_to_add(False))
    tokens = _places(text, tokenizer)
    if len(tokens) <= budget:
        return [Reach(0, len(text), 0, len(text), tokens)]
    laid = list(_lay(text, tokens, tokenizer, budget))
    # Two windows meet in the middle of what they share.
    shared = (np.searchsorted(tokens, (later.start, earlier.end)) for earlier, later in pairwise(laid))
    meets = [0, *(int(tokens[(first + last) // 2]) for first, last in shared), len(text)]
    between = zip(laid, pairwise(meets), strict=True)
    return [reach._replace(since=since, until=until) for reach, (since, until) in between]


def _lay(text: str, tokens: NDArray[np.int64], tokenizer: Tokenizer, budget: int) -> Iterator[Reach]:
    """Yield the windows, cut between words where possible; each still gives all its tokens."""
    begins_word = np.array([start > 0 and text[start - 1].isspace() for start in tokens])
    first = last = 0
    while last < len(tokens):
        start = int(tokens[first]) if first else 0
        last = _stop(first, budget, tokens, begins_word)
        while True:
            end = int(tokens[last]) if last < len(tokens) else len(text)
            own = start + _places(text[start:end], tokenizer)
            # It can have more tokens than it had inside the text, where a word is cut in two.
            if len(own) <= budget or last == first + 1:
                break
            last -= 1
        yield Reach(start, end, start, end, own)
        first = max(first + 1, _stop(first, last - first - budget // _OVERLAP, tokens, begins_word))


def _stop(first: int, count: int, tokens: NDArray[np.int64], begins_word: NDArray[np.bool_]) -> int:
    """Return the last token at most `count` tokens on that begins a word, or else any."""
    if first + count >= len(tokens):
        return len(tokens)
    words = np.flatnonzero(begins_word[first + 1 : first + count + 1])
    return first + 1 + int(words[-1]) if len(words) else first + max(1, count)


def _places(text: str, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return where the tokens of a text begin, special ones left out, never decreasing."""
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    return np.maximum.accumulate(np.array([start for start, _ in offsets], dtype=np.int64))
