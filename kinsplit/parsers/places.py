"""Token number -> place in the source text, for the few tokens at which windows begin and end.

A token's place is where its text begins; what follows it up to the next token's place belongs to it, so characters
that a tokenizer drops are never lost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from kinsplit.parsers.measure import divide
from kinsplit.parsers.segment import IntArray, code_points, grapheme_floor, runs, skip_space
from kinsplit.tokenizers import SEPARATORS, Tokenizer

# Words in a piece that is counted as a whole. Only pieces in which a wanted token lies are tokenised with offsets,
# which takes 30 times as long as counting.
_PIECE = 3


class TokenPlaces:
    """The places of a text's tokens, found where they are asked for.

    Attributes:
        total: Number of tokens.
    """

    def __init__(self, text: str, begins: IntArray, counts: IntArray) -> None:
        self._text = text
        # Where pieces begin and how many tokens lie before each; the last entry is the end of the text.
        self._begins = begins
        self._before = np.concatenate([[0], np.cumsum(counts)])
        self._inside: dict[int, list[int]] = {}
        self._doubtful: set[int] = set()
        self.total = int(self._before[-1])

    def __getitem__(self, number: int) -> int:
        """Return the place of a token that was located, moved back to the start of its grapheme cluster.

        Args:
            number: Number of the token from 0; `total` is the end of the text.
        """
        if number >= self.total:
            return len(self._text)
        piece = int(np.searchsorted(self._before, number, side="right")) - 1
        place, offset = int(self._begins[piece]), number - int(self._before[piece])
        if offset:
            place += self._inside[piece][offset]
        if self._text.isascii():
            return place
        return grapheme_floor(self._text, place, 0)

    def at_or_before(self, place: int, tokenizer: Tokenizer) -> int:
        """Return the number of the last token that begins at or before a place or the white space behind it."""
        place = skip_space(self._text, place)
        piece = max(0, int(np.searchsorted(self._begins[:-1], place, side="right")) - 1)
        if piece not in self._inside:
            self.learn(piece, tokenizer.starts([self.piece(piece)])[0])
        offset = bisect_right(self._inside[piece], place - int(self._begins[piece])) - 1
        return int(self._before[piece]) + max(0, offset)

    def is_between_words(self, number: int) -> bool:
        """Return whether white space that separates tokens stands before a located token, so that counts add up there."""
        if number >= self.total:
            return True
        piece = int(np.searchsorted(self._before, number, side="right")) - 1
        offset = number - int(self._before[piece])
        if not offset:
            return True
        if piece in self._doubtful:
            return False
        # A token that begins inside a character has the place of the one before.
        starts = self._inside[piece]
        place = int(self._begins[piece]) + starts[offset]
        return starts[offset - 1] < starts[offset] and self._text[place - 1] in SEPARATORS and self[number] == place

    def unknown(self, numbers: Iterable[int]) -> list[int]:
        """Return the pieces that have to be tokenised with offsets before these tokens' places are known."""
        wanted = np.array([n for n in numbers if n < self.total], dtype=np.int64)
        piece = np.searchsorted(self._before, wanted, side="right") - 1
        inside = piece[self._before[piece] < wanted]
        return [p for p in np.unique(inside).tolist() if p not in self._inside]

    def piece(self, number: int) -> str:
        """Return the text of a piece."""
        return self._text[self._begins[number] : self._begins[number + 1]]

    def learn(self, piece: int, starts: IntArray) -> None:
        """Take in where the tokens of a piece begin."""
        # Counter and reference may know characters of different Unicode versions; the count is what limits are
        # checked with, so tokens that the reference doesn't see share the place of the one before.
        counted = int(self._before[piece + 1] - self._before[piece])
        if len(starts) != counted or not self.piece(piece).isascii():
            self._doubtful.add(piece)
        found = starts.tolist()[:counted] or [0]
        self._inside[piece] = found + [found[-1]] * (counted - len(found))


def count_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> list[TokenPlaces]:
    """Count the tokens of many texts in one pass, piece by piece."""
    begins = [_piece_begins(text, tokenizer) for text in texts]
    pieces = [text[s:e] for text, b in zip(texts, begins, strict=True) for s, e in pairwise(b.tolist())]
    counts = divide(tokenizer.count(pieces), [len(b) - 1 for b in begins])
    return [TokenPlaces(text, b, found) for text, b, found in zip(texts, begins, counts, strict=True)]


def _piece_begins(text: str, tokenizer: Tokenizer) -> IntArray:
    starts = runs(text).starts
    if not tokenizer.splits_at_space:
        return np.append(starts[:1], len(text))
    before = code_points(text)[starts[1:] - 1]
    separated = np.isin(before, [ord(c) for c in SEPARATORS])
    return np.concatenate([starts[:1], starts[1:][separated][_PIECE - 1 :: _PIECE], [len(text)]])


def locate(places: Sequence[TokenPlaces], wanted: Sequence[Iterable[int]], tokenizer: Tokenizer) -> None:
    """Make the places of some tokens of each text known, all in one pass.

    Args:
        places: The texts' tokens.
        wanted: Numbers of tokens for each text.
        tokenizer: The tokenizer that counted them.
    """
    unknown = [(p, piece) for p, numbers in zip(places, wanted, strict=True) for piece in p.unknown(numbers)]
    for (p, piece), starts in zip(unknown, tokenizer.starts([p.piece(n) for p, n in unknown]), strict=True):
        p.learn(piece, starts)
