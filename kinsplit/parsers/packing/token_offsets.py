"""Token numbers -> offsets in the text, for the few tokens at which windows begin and end.

A token extends from its offset to the offset of the next token, so characters that a tokenizer drops are never lost.

Tokenising with offsets takes 30 times as long as counting. So a text is counted in pieces of a few words, only the
pieces around the requested tokens are counted word by word, and only words that a window cuts are tokenised with
offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from kinsplit.parsers.packing.refine import divide
from kinsplit.parsers.units.sentences import IntArray, code_points, runs
from kinsplit.text.graphemes import grapheme_floor, skip_space
from kinsplit.tokenizers import SEPARATORS, STOPS, Tokenizer

# Words in a piece.
_PIECE = 8
_SPACES, _STOPS = "".join(SEPARATORS), "".join(STOPS)
_WORD = re.compile(f"[^{_SPACES}{_STOPS}]+[{_STOPS}]*|[{_STOPS}]+")
_UNSPACED_WORD = re.compile(rf"(?<=[{_STOPS}])[^\s{_STOPS}]")


class _Piece(NamedTuple):
    numbers: list[int]
    offsets: list[int]
    word_numbers: list[int]


class TokenOffsets:
    """Offsets of a text's tokens, computed on request (see `locate`)."""

    def __init__(self, text: str, begins: IntArray, counts: IntArray) -> None:
        self.text = text
        # Offset of each piece and number of tokens before it; the last entry is the end of the text.
        self._begins: list[int] = begins.tolist()
        self._before: list[int] = [0, *np.cumsum(counts).tolist()]
        self._inside: dict[int, _Piece] = {}
        self.total = self._before[-1]
        self._plain = text.isascii()

    def __getitem__(self, number: int) -> int:
        """Return the offset of a located token or the end, moved back to the start of its grapheme cluster."""
        offset = self._offset(number)
        return offset if self._plain else grapheme_floor(self.text, offset, 0)

    def _offset(self, number: int) -> int:
        if number >= self.total:
            return len(self.text)
        if number == 0:
            # Characters dropped before the first token belong to it.
            return self._begins[0]
        piece = bisect_right(self._before, number) - 1
        if number == self._before[piece]:
            return self._begins[piece]
        inside = self._inside[piece]
        return inside.offsets[bisect_left(inside.numbers, number)]

    def at_or_before(self, offset: int) -> int:
        """Return the number of the last located token that begins at or before an offset and the space after it."""
        offset = skip_space(self.text, offset)
        piece = max(0, bisect_right(self._begins, offset, hi=len(self._begins) - 1) - 1)
        if piece not in self._inside:
            return self._before[piece]
        inside = self._inside[piece]
        return inside.numbers[max(0, bisect_right(inside.offsets, offset) - 1)]

    def word_bounds(self, first: int, stop: int) -> tuple[int, int] | None:
        """Return the first and the last word that begin between two located tokens, as token numbers, or None.

        Between these, counts add up.
        """
        after, before = self._next_word(first), self._last_word(stop)
        # If a word begins inside a grapheme cluster, the window doesn't end where its tokens do.
        exact = all(self[number] == self._offset(number) for number in {first, after, before, stop})
        return (after, before) if after <= before and exact else None

    def _next_word(self, number: int) -> int:
        piece = self._piece_of(number)
        if number >= self.total or number == self._before[piece]:
            return min(number, self.total)
        words = self._inside[piece].word_numbers
        i = bisect_left(words, number)
        return words[i] if i < len(words) else self._before[piece + 1]

    def _last_word(self, number: int) -> int:
        piece = self._piece_of(number)
        if number >= self.total or number == self._before[piece]:
            return min(number, self.total)
        words = self._inside[piece].word_numbers
        return words[bisect_right(words, number) - 1]

    def _piece_of(self, number: int) -> int:
        return bisect_right(self._before, number) - 1

    def uncounted(self, numbers: Iterable[int]) -> list[int]:
        """Return the pieces that contain any of the tokens and whose words haven't been counted."""
        inside = {p for n in numbers if n < self.total and self._before[p := self._piece_of(n)] < n}
        return sorted(inside - self._inside.keys())

    def whole(self, piece: int) -> list[int]:
        """Return the start and end of a piece."""
        return self._begins[piece : piece + 2]

    def words(self, piece: int) -> list[int]:
        """Return the starts of a piece's words, followed by the end of the piece."""
        start, end = self.whole(piece)
        return [start, *(m.start() for m in _WORD.finditer(self.text, start, end) if m.start() > start), end]

    def learn_words(self, piece: int, offsets: list[int], counts: list[int]) -> None:
        """Store the token counts of a piece's words."""
        numbers = accumulate(counts[:-1], initial=self._before[piece])
        first_at: dict[int, int] = {}
        for number, offset in zip(numbers, offsets, strict=True):
            # A word that the tokenizer drops has the number of the next word and belongs to it.
            first_at.setdefault(number, offset)
        self._inside[piece] = _Piece(list(first_at), list(first_at.values()), list(first_at))

    def unknown_words(self, numbers: Iterable[int]) -> list[tuple[int, int, int, int]]:
        """Return the words inside which any of the tokens begins: piece, first token, start and end."""
        found = set()
        for number in numbers:
            if number < self.total and (piece := self._inside.get(self._piece_of(number))):
                i = bisect_left(piece.numbers, number)
                if i == len(piece.numbers) or piece.numbers[i] != number:
                    of = self._piece_of(number)
                    end = piece.offsets[i] if i < len(piece.offsets) else self._begins[of + 1]
                    found.add((of, piece.numbers[i - 1], piece.offsets[i - 1], end))
        return sorted(found)

    def learn_tokens(self, piece: int, first: int, start: int, starts: IntArray) -> None:
        """Store the offsets of a word's tokens."""
        inside = self._inside[piece]
        i = bisect_left(inside.numbers, first) + 1
        following = inside.numbers[i] if i < len(inside.numbers) else self._before[piece + 1]
        # Limits are checked by the count. If the tokenizer reports fewer offsets, the other tokens share the last one.
        found = [start + s for s in starts.tolist()[: following - first]] or [start]
        found += [found[-1]] * (following - first - len(found))
        inside.numbers[i:i] = range(first + 1, following)
        inside.offsets[i:i] = found[1:]


def count_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> list[TokenOffsets]:
    """Count the tokens of many texts in one pass, piece by piece."""
    begins = [_piece_begins(text, tokenizer) for text in texts]
    pieces = [text[s:e] for text, b in zip(texts, begins, strict=True) for s, e in pairwise(b.tolist())]
    counts = divide(tokenizer.count(pieces), [len(b) - 1 for b in begins])
    return [TokenOffsets(text, b, found) for text, b, found in zip(texts, begins, counts, strict=True)]


def _piece_begins(text: str, tokenizer: Tokenizer) -> IntArray:
    starts = runs(text).starts
    if not tokenizer.splits_at_space:
        return np.append(starts[:1], len(text))
    before = code_points(text)[starts[1:] - 1]
    begins = starts[1:][np.isin(before, [ord(c) for c in SEPARATORS])]
    if any(stop in text for stop in STOPS):
        unspaced = np.array([m.start() for m in _UNSPACED_WORD.finditer(text)], dtype=np.int64)
        begins = np.sort(np.concatenate([begins, unspaced]), kind="stable")
    return np.concatenate([starts[:1], begins[_PIECE - 1 :: _PIECE], [len(text)]])


def locate(texts: Sequence[TokenOffsets], wanted: Sequence[Iterable[int]], tokenizer: Tokenizer) -> None:
    """Locate some tokens of each text, all in one pass."""
    uncounted = [(own, piece) for own, numbers in zip(texts, wanted, strict=True) for piece in own.uncounted(numbers)]
    _count_words(uncounted, tokenizer)
    unknown = [(own, word) for own, numbers in zip(texts, wanted, strict=True) for word in own.unknown_words(numbers)]
    starts = tokenizer.starts([own.text[start:end] for own, (_, _, start, end) in unknown])
    for (own, (piece, first, start, _)), found in zip(unknown, starts, strict=True):
        own.learn_tokens(piece, first, start, found)


def _count_words(pieces: Sequence[tuple[TokenOffsets, int]], tokenizer: Tokenizer) -> None:
    words = [own.words(piece) if tokenizer.splits_at_space else own.whole(piece) for own, piece in pieces]
    texts = [own.text[s:e] for (own, _), bounds in zip(pieces, words, strict=True) for s, e in pairwise(bounds)]
    counts = divide(tokenizer.count(texts), [len(bounds) - 1 for bounds in words])
    for (own, piece), bounds, found in zip(pieces, words, counts, strict=True):
        own.learn_words(piece, bounds[:-1], found.tolist())
