from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from pydantic import model_validator

from kinsplit.parsers.base import Cut, Levels, Strategy
from kinsplit.parsers.packing.groups import window_count, windows
from kinsplit.parsers.packing.refine import Unit
from kinsplit.parsers.parameters import Overlap, Size, check_below
from kinsplit.parsers.units.sentences import Units, words
from kinsplit.spans import Span


class WordStrategy(Strategy):
    """Windows of a fixed number of words.

    Words are separated as by `str.split`; in scripts without spaces between words, each grapheme is a word.

    Attributes:
        chunk_size: Words per window.
        chunk_overlap: Words shared with the previous window.

    Example:
        >>> from kinsplit import split
        >>> [chunk.text for chunk in split("one two three", "word", chunk_size=2)]
        ['one two', 'three']
    """

    name = "word"
    summary = "Word windows of a fixed size"
    origin = "10-K search (500/0); rag_eval uses 256/20"
    counted: ClassVar[Unit] = "word"

    chunk_size: Size = 500
    chunk_overlap: Overlap = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_below("chunk_overlap", self.chunk_overlap, "chunk_size", self.chunk_size)
        return self

    def expected_chunks(self, text: str) -> int:
        """Return the number of windows."""
        return window_count(len(words(text).starts), self.chunk_size, self.chunk_size - self.chunk_overlap)

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        size, overlap = self.chunk_size, self.chunk_overlap
        return [[[Cut((span,)) for span in word_windows(words(text), size, overlap)]] for text in texts]


def word_windows(found: Units, size: int, overlap: int) -> list[Span]:
    """Return windows of `size` words, each starting with the last `overlap` words of the previous one."""
    runs = np.array(windows(len(found.starts), size, size - overlap), dtype=np.int64).reshape(-1, 2)
    return list(map(Span, found.starts[runs[:, 0]].tolist(), found.ends[runs[:, 1] - 1].tolist()))
