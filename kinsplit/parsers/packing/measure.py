"""Lengths of units in characters, words or tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from kinsplit.parsers.units.sentences import IntArray, Units, words
from kinsplit.tokenizers import CallableTokenizer, Tokenizer

Unit = Literal["character", "word", "token"]

#: Maximum characters per token of a chunk's limit, including white space and characters that a tokenizer drops.
CHARACTERS_PER_TOKEN = 100

# Characters that are worth counting in a separate thread.
_ENOUGH = 1 << 16


class Scale(NamedTuple):
    """Cumulative lengths of units.

    Units i to j - 1 together have the length `right[j - 1] - left[i]`.
    """

    left: IntArray  # int64[n], cumulative length at the start of each unit.
    right: IntArray  # int64[n], cumulative length at the end of each unit.


@dataclass(frozen=True, slots=True)
class Ruler:
    """Measures texts in one unit."""

    unit: Unit
    tokenizer: Tokenizer

    @property
    def adds_up(self) -> bool:
        """Whether the length of a run of words is always the sum of the words' lengths."""
        return self.unit != "token" or self.tokenizer.splits_at_space

    def lengths(self, texts: Sequence[str], units: Iterable[Units]) -> list[IntArray]:
        """Measure the units of many texts in one pass, each unit on its own, as int64[n] for each text."""
        if self.unit == "character":
            return [u.ends - u.starts for u in units]
        if self.unit == "word":
            return [_word_counts(text, u) for text, u in zip(texts, units, strict=True)]
        return self._token_counts(texts, units)

    def _token_counts(self, texts: Sequence[str], units: Iterable[Units]) -> list[IntArray]:
        # A caller's function may not be thread-safe.
        enough = math.inf if isinstance(self.tokenizer, CallableTokenizer) else _ENOUGH
        sizes: list[int] = []
        counts: list[Future[IntArray]] = []
        pieces: list[str] = []
        waiting = 0
        with ThreadPoolExecutor(max_workers=1) as executor:
            for text, u in zip(texts, units, strict=True):
                pieces += slices(text, u)
                sizes.append(len(u.starts))
                waiting += int((u.ends - u.starts).sum())
                if waiting >= enough:
                    counts.append(executor.submit(self.tokenizer.count, pieces))
                    pieces, waiting = [], 0
            last = self.tokenizer.count(pieces)
        return divide(np.concatenate([*(c.result() for c in counts), last]), sizes)

    def length(self, text: str) -> int:
        """Return the length of one text."""
        everything = Units(np.zeros(1, dtype=np.int64), np.full(1, len(text), dtype=np.int64))
        return int(self.lengths([text], [everything])[0][0])

    def scale(self, units: Units, lengths: IntArray) -> Scale:
        """Return the cumulative lengths of units; in characters, white space between units counts too."""
        if self.unit == "character":
            return Scale(units.starts, units.ends)
        right = np.cumsum(lengths, dtype=np.int64)
        return Scale(right - lengths, right)


class Limit(NamedTuple):
    """Maximum length of a chunk."""

    size: int
    ruler: Ruler


def slices(text: str, units: Units) -> list[str]:
    """Return the units' texts."""
    return [text[s:e] for s, e in zip(units.starts.tolist(), units.ends.tolist(), strict=True)]


def divide(values: IntArray, sizes: Sequence[int]) -> list[IntArray]:
    """Split an array into pieces of the given sizes."""
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    return [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _word_counts(text: str, units: Units) -> IntArray:
    if not len(units.starts):
        return np.zeros(0, dtype=np.int64)
    found = words(text)
    first = np.searchsorted(found.ends, units.starts, side="right")
    last = np.searchsorted(found.starts, units.ends, side="left")
    return (last - first).astype(np.int64)
