"""Token number -> place in the source text, for the few tokens at which windows begin and end.

A token's place is where its text begins; what follows it up to the next token's place belongs to it, so characters
that a tokenizer drops are never lost.

Tokenising with offsets takes 30 times as long as counting, so a text is counted in pieces of some words, the pieces in
which a wanted token lies are counted word by word, and only a word inside which one begins is tokenised with offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from kinsplit.parsers.packing.measure import divide
from kinsplit.parsers.units.graphemes import grapheme_floor, skip_space
from kinsplit.parsers.units.segment import IntArray, code_points, runs
from kinsplit.tokenizers import SEPARATORS, STOPS, Tokenizer

# Words in a piece.
_PIECE = 8
_SPACES, _STOPS = "".join(SEPARATORS), "".join(STOPS)
_WORD = re.compile(f"[^{_SPACES}{_STOPS}]+[{_STOPS}]*|[{_STOPS}]+")
_UNSPACED_WORD = re.compile(rf"(?<=[{_STOPS}])[^\s{_STOPS}]")


class _Piece(NamedTuple):
    """Tokens of a piece whose place is known, ascending: their numbers and places, and those that begin a word."""

    numbers: list[int]
    places: list[int]
    word_numbers: list[int]


class TokenPlaces:
    """The places of a text's tokens, found where they are asked for.

    Attributes:
        text: The text.
        total: Number of its tokens.
    """

    def __init__(self, text: str, begins: IntArray, counts: IntArray) -> None:
        self.text = text
        # Where pieces begin and how many tokens lie before each; the last entry is the end of the text.
        self._begins: list[int] = begins.tolist()
        self._before: list[int] = [0, *np.cumsum(counts).tolist()]
        self._inside: dict[int, _Piece] = {}
        self.total = self._before[-1]
        self._plain = text.isascii()

    def __getitem__(self, number: int) -> int:
        """Return the place of a token that was located, moved back to the start of its grapheme cluster.

        Args:
            number: Number of the token from 0; `total` is the end of the text.
        """
        place = self._place(number)
        return place if self._plain else grapheme_floor(self.text, place, 0)

    def _place(self, number: int) -> int:
        if number >= self.total:
            return len(self.text)
        if number == 0:
            # Characters that the tokenizer drops before it belong to no other token.
            return self._begins[0]
        piece = bisect_right(self._before, number) - 1
        if number == self._before[piece]:
            return self._begins[piece]
        inside = self._inside[piece]
        return inside.places[bisect_left(inside.numbers, number)]

    def at_or_before(self, place: int) -> int:
        """Return the number of the last token known to begin at or before a place or the white space behind it."""
        place = skip_space(self.text, place)
        piece = max(0, bisect_right(self._begins, place, hi=len(self._begins) - 1) - 1)
        if piece not in self._inside:
            return self._before[piece]
        inside = self._inside[piece]
        return inside.numbers[max(0, bisect_right(inside.places, place) - 1)]

    def word_bounds(self, first: int, stop: int) -> tuple[int, int] | None:
        """Return the first and the last word beginning between two located tokens, as numbers of tokens.

        Args:
            first: Number of a token.
            stop: Number of a later one.

        Returns:
            Numbers of tokens, or None where no word begins between the two. Counts add up between the words.
        """
        after, before = self._next_word(first), self._last_word(stop)
        # Where a word begins inside a grapheme cluster the window ends elsewhere than its tokens.
        in_place = all(self[number] == self._place(number) for number in {first, after, before, stop})
        return (after, before) if after <= before and in_place else None

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
        """Return the pieces inside which one of some tokens lies and whose words aren't counted yet."""
        inside = {p for n in numbers if n < self.total and self._before[p := self._piece_of(n)] < n}
        return sorted(inside - self._inside.keys())

    def whole(self, piece: int) -> list[int]:
        """Return where a piece begins and ends."""
        return self._begins[piece : piece + 2]

    def words(self, piece: int) -> list[int]:
        """Return where the words of a piece begin, and where it ends."""
        start, end = self.whole(piece)
        return [start, *(m.start() for m in _WORD.finditer(self.text, start, end) if m.start() > start), end]

    def learn_words(self, piece: int, places: list[int], counts: list[int]) -> None:
        """Take in how many tokens the words of a piece have."""
        numbers = accumulate(counts[:-1], initial=self._before[piece])
        first_at: dict[int, int] = {}
        for number, place in zip(numbers, places, strict=True):
            # Words that the tokenizer drops have the number of the next one and belong to it.
            first_at.setdefault(number, place)
        self._inside[piece] = _Piece(list(first_at), list(first_at.values()), list(first_at))

    def unknown_words(self, numbers: Iterable[int]) -> list[tuple[int, int, int, int]]:
        """Return the words inside which one of some tokens begins: piece, first token, start and end."""
        found = set()
        for number in numbers:
            if number < self.total and (piece := self._inside.get(self._piece_of(number))):
                i = bisect_left(piece.numbers, number)
                if i == len(piece.numbers) or piece.numbers[i] != number:
                    of = self._piece_of(number)
                    end = piece.places[i] if i < len(piece.places) else self._begins[of + 1]
                    found.add((of, piece.numbers[i - 1], piece.places[i - 1], end))
        return sorted(found)

    def learn_tokens(self, piece: int, first: int, start: int, starts: IntArray) -> None:
        """Take in where the tokens of a word begin."""
        inside = self._inside[piece]
        i = bisect_left(inside.numbers, first) + 1
        following = inside.numbers[i] if i < len(inside.numbers) else self._before[piece + 1]
        # The count is what limits are checked with; where a tokenizer finds fewer places, the other tokens share the
        # place of the last one.
        found = [start + s for s in starts.tolist()[: following - first]] or [start]
        found += [found[-1]] * (following - first - len(found))
        inside.numbers[i:i] = range(first + 1, following)
        inside.places[i:i] = found[1:]


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
    begins = starts[1:][np.isin(before, [ord(c) for c in SEPARATORS])]
    if any(stop in text for stop in STOPS):
        unspaced = np.array([m.start() for m in _UNSPACED_WORD.finditer(text)], dtype=np.int64)
        begins = np.sort(np.concatenate([begins, unspaced]), kind="stable")
    return np.concatenate([starts[:1], begins[_PIECE - 1 :: _PIECE], [len(text)]])


def locate(places: Sequence[TokenPlaces], wanted: Sequence[Iterable[int]], tokenizer: Tokenizer) -> None:
    """Make the places of some tokens of each text known, all in one pass.

    Args:
        places: The texts' tokens.
        wanted: Numbers of tokens for each text.
        tokenizer: The tokenizer that counted them.
    """
    _count_words(
        [(p, piece) for p, numbers in zip(places, wanted, strict=True) for piece in p.uncounted(numbers)], tokenizer
    )
    unknown = [(p, word) for p, numbers in zip(places, wanted, strict=True) for word in p.unknown_words(numbers)]
    starts = tokenizer.starts([p.text[start:end] for p, (_, _, start, end) in unknown])
    for (p, (piece, first, start, _)), found in zip(unknown, starts, strict=True):
        p.learn_tokens(piece, first, start, found)


def _count_words(pieces: Sequence[tuple[TokenPlaces, int]], tokenizer: Tokenizer) -> None:
    words = [p.words(piece) if tokenizer.splits_at_space else p.whole(piece) for p, piece in pieces]
    texts = [p.text[s:e] for (p, _), bounds in zip(pieces, words, strict=True) for s, e in pairwise(bounds)]
    counts = divide(tokenizer.count(texts), [len(bounds) - 1 for bounds in words])
    for (p, piece), bounds, found in zip(pieces, words, counts, strict=True):
        p.learn_words(piece, bounds[:-1], found.tolist())
