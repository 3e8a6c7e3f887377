"""Protocol of tokenizers, and helpers for all of them.

Words unknown to a tokenizer: words in an unknown script, and words that are too long. A tokenizer reads such a word as
one token, however long it is, so a page of Thai could be ten tokens and limits would be meaningless. Therefore it
counts one token per four characters, about as many as English has.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import regex

from kinsplit.errors import KinsplitWarning
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


#: Characters of an unknown word per token.
CHARACTERS = 4
# Maximum length of a word that is not unknown for its length.
_LONG = 100
# Minimum number of characters in one script for a warning, more than a name or an example.
_ENOUGH = 200
# Latin, Greek and Cyrillic letters lie below; their words are unknown only because of single odd characters.
_FIRST_OTHER = 0x530
# BERT separates words by white space, punctuation and each CJK ideograph.
_WORD = regex.compile(
    r"[^\t\n\r\p{Z}\p{P}$+<=>^`|~\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]{5,}"
)


class UnknownScriptWarning(KinsplitWarning):
    """Texts are in a script that the tokenizer doesn't know.

    Args:
        tokenizer: Name of the tokenizer.
        script: Name of the script.
    """

    def __init__(self, tokenizer: str, script: str) -> None:
        super().__init__(tokenizer, script)
        self.tokenizer, self.script = tokenizer, script

    def __str__(self) -> str:
        return (
            f"tokenizer: {self.tokenizer!r} doesn't know words in {self.script} script; each counts one token per "
            f"{CHARACTERS} characters, and models with this vocabulary can't distinguish them. Choose a tokenizer "
            'and an embedding model that support the script, for example tokenizer="hf:BAAI/bge-m3".'
        )


def words(text: str) -> list[tuple[int, int]]:
    """Return the words of a text, as separated by BERT, that count more than one token if they are unknown."""
    if text.isascii() and len(text) <= _LONG:
        return []
    found = (match.span() for match in _WORD.finditer(text))
    return [(start, end) for start, end in found if end - start > _LONG or not text[start:end].isascii()]


def is_word(text: str) -> bool:
    """Return whether a text of more than a few characters is a single word to BERT."""
    return _WORD.fullmatch(text) is not None


def extra(spans: Iterable[tuple[int, int]]) -> int:
    """Return the number of tokens of unknown words beyond one per word."""
    return sum((end - start - 1) // CHARACTERS for start, end in spans)


def pieces(start: int, end: int) -> IntArray:
    """Return the offsets of the tokens of an unknown word."""
    return np.arange(start, end, CHARACTERS, dtype=np.int64)


def warn_of_scripts(tokenizer: str, found: Iterable[str]) -> None:
    """Warn once per script of unknown words, unless there are only a few words."""
    letters = Counter("".join(found))
    scripts: Counter[str] = Counter()
    for letter, number in letters.items():
        if ord(letter) >= _FIRST_OTHER and letter.isalpha():
            scripts[unicodedata.name(letter, "unnamed").partition(" ")[0].title()] += number
    for script, number in scripts.items():
        if number >= _ENOUGH:
            # One location and one text, so that Python shows it once per run.
            warnings.warn(UnknownScriptWarning(tokenizer, script), stacklevel=1)
