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
from kinsplit.text.graphemes import SPACES, grapheme_floor, skip_space
from kinsplit.tokenizers import SEPARATORS, STOPS, Tokenizer

# Words in a piece.
_PIECE = 8
# White space that doesn't separate words here.
_OTHER_SPACES = sorted(SPACES - SEPARATORS)
_SPACES, _STOPS = "".join(SEPARATORS), "".join(STOPS)
_WORD = re.compile(f"[^{_SPACES}{_STOPS}]+[{_STOPS}]*|[{_STOPS}]+")
_UNSPACED_WORD = re.compile(rf"(?<=[{_STOPS}])[^\s{_STOPS}]")


class _Piece(NamedTuple):
    numbers: list[int]
    offsets: list[int]
    word_numbers: list[int]


class _Place(NamedTuple):
    """Where a token begins.

    Attributes:
        offset: First code point of the token.
        floor: Start of the grapheme cluster that it is in.
        next_word: Number of the first token of the first word that begins there or later.
        last_word: Number of the first token of the last word that begins there or earlier.
    """

    offset: int
    floor: int
    next_word: int
    last_word: int


class TokenOffsets:
    """Offsets of a text's tokens, computed on request (see `locate`)."""

    def __init__(self, text: str, words: IntArray, counts: IntArray) -> None:
        self.text = text
        # Offset of each word, and of each piece and number of tokens before it; the last entry is the end of the text.
        self._words = words.data  # Its slices are made faster than those of an array.
        self._begins = [*words[:-1:_PIECE].tolist(), len(text)]
        self._before: list[int] = [0, *np.cumsum(counts).tolist()]
        self._inside: dict[int, _Piece] = {}
        self._places: dict[int, _Place] = {}
        self.total = self._before[-1]
        self._plain = text.isascii()
        self._has_other_space = any(space in text for space in _OTHER_SPACES)

    def __getitem__(self, number: int) -> int:
        """Return the offset of a located token or the end, moved back to the start of its grapheme cluster."""
        return self._place(number).floor

    def _place(self, number: int) -> _Place:
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = self._find(number)
        return place

    def _find(self, number: int) -> _Place:
        if number >= self.total:
            return _Place(len(self.text), len(self.text), self.total, self.total)
        piece = bisect_right(self._before, number) - 1
        if number == self._before[piece]:
            # Characters dropped before the first token belong to it.
            offset, next_word, last_word = self._begins[piece if number else 0], number, number
        else:
            inside = self._inside[piece]
            offset = inside.offsets[bisect_left(inside.numbers, number)]
            at = bisect_left(words := inside.word_numbers, number)
            next_word = words[at] if at < len(words) else self._before[piece + 1]
            last_word = words[bisect_right(words, number, at) - 1]
        floor = offset if self._plain else grapheme_floor(self.text, offset, 0)
        return _Place(offset, floor, next_word, last_word)

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
        after, before = self._place(first).next_word, self._place(stop).last_word
        if after > before:
            return None
        for number in () if self._plain else (first, after, before, stop):
            place = self._place(number)
            if place.offset != place.floor:
                # A word begins inside a grapheme cluster, so the window doesn't end where its tokens do.
                return None
        return after, before

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
        if not self._has_other_space:
            return self._words[piece * _PIECE : (piece + 1) * _PIECE + 1].tolist()
        start, end = self.whole(piece)
        return [start, *(m.start() for m in _WORD.finditer(self.text, start, end) if m.start() > start), end]

    def learn_words(self, piece: int, offsets: list[int], counts: list[int]) -> None:
        """Store the token counts of a piece's words."""
        numbers = [*accumulate(counts[:-1], initial=self._before[piece])]
        if 0 in counts:
            # A word that the tokenizer drops has the number of the next word and belongs to it.
            first_at = dict(zip(reversed(numbers), reversed(offsets), strict=True))
            numbers, offsets = [*reversed(first_at)], [*reversed(first_at.values())]
        self._inside[piece] = _Piece(numbers, offsets, [*numbers])

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
    words = [_word_begins(text, tokenizer) for text in texts]
    begins = [[*own[:-1:_PIECE].tolist(), len(text)] for text, own in zip(texts, words, strict=True)]
    pieces = [text[s:e] for text, b in zip(texts, begins, strict=True) for s, e in pairwise(b)]
    counts = divide(tokenizer.count(pieces), [len(b) - 1 for b in begins])
    return [TokenOffsets(text, own, found) for text, own, found in zip(texts, words, counts, strict=True)]


def _word_begins(text: str, tokenizer: Tokenizer) -> IntArray:
    """Return the offsets of the words, between which counts add up, and the end of the text."""
    starts = runs(text).starts
    if not tokenizer.splits_at_space:
        return np.append(starts[:1], len(text))
    before = code_points(text)[starts[1:] - 1]
    begins = starts[1:][np.isin(before, [ord(c) for c in SEPARATORS])]
    if any(stop in text for stop in STOPS):
        unspaced = np.array([m.start() for m in _UNSPACED_WORD.finditer(text)], dtype=np.int64)
        begins = np.sort(np.concatenate([begins, unspaced]), kind="stable")
    return np.concatenate([starts[:1], begins, [len(text)]])


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
    numbers = {word: number for number, word in enumerate(dict.fromkeys(texts))}
    counts = tokenizer.count([*numbers])[[numbers[word] for word in texts]].tolist()
    stop = 0
    for (own, piece), bounds in zip(pieces, words, strict=True):
        start, stop = stop, stop + len(bounds) - 1
        own.learn_words(piece, bounds[:-1], counts[start:stop])
