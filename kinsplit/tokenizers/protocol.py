"""What kinsplit needs of a tokenizer, and what all kinds share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

#: White space that separates tokens wherever a tokenizer splits at white space; others BERT's normaliser drops.
SEPARATORS = frozenset(" \t\n\r\u00a0\u3000")

#: Punctuation after which no space is written and which every such tokenizer reads as a token of its own.
STOPS = frozenset("。！？，、；：")

_SURROGATES = re.compile("[\ud800-\udfff]")


class Tokenizer(Protocol):
    """What kinsplit needs of a tokenizer.

    Attributes:
        name: The string that finds it again.
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
    """Return the texts with lone surrogates replaced one for one, since Rust takes valid Unicode only."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [replace_surrogates(text) for text in texts]
    return texts


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no encoding can carry, by U+FFFD; the length and every offset stay."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
