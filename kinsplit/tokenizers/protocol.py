"""Protocol of tokenizers, and helpers for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kinsplit.spans import replace_surrogates

IntArray = npt.NDArray[np.int64]

#: White space that always separates tokens if a tokenizer splits at white space; BERT drops other white space.
SEPARATORS = frozenset(" \t\n\r\u00a0\u3000")

#: Punctuation without a following space, which such tokenizers read as separate tokens.
STOPS = frozenset("。！？，、；：")


class Tokenizer(Protocol):
    """A tokenizer.

    Attributes:
        name: Name that `resolve` accepts.
        splits_at_space: Whether white space always separates tokens, so that the counts of pieces cut there add up.
    """

    name: str
    splits_at_space: bool

    def count(self, texts: Sequence[str]) -> IntArray:
        """Return the number of tokens of each text as int64[len(texts)]; an unknown word may count several."""
        ...

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """Return, for each text, the code point at which each token begins, as int64[tokens], never decreasing."""
        ...


def valid(texts: Sequence[str]) -> Sequence[str]:
    """Return texts with lone surrogates replaced one-to-one, since Rust requires valid Unicode."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [replace_surrogates(text) for text in texts]
    return texts
