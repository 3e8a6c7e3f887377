"""Token numbers -> offsets in the text, for the few tokens at which windows begin and end.

A token extends from its offset to the offset of the next token, so characters that a tokenizer drops are never lost.

Tokenising with offsets takes 30 times as long as counting. So each different word of all texts is counted once, and
only words that a window cuts are tokenised with offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from kinsplit.parsers.units.sentences import IntArray
from kinsplit.text.graphemes import SPACES, code_points, grapheme_floor, skip_space
from kinsplit.tokenizers import SEPARATORS, STOPS, Tokenizer

# Words in a piece: behind a gap, windows go on from the start of a piece of whose tokens none was located.
_PIECE = 8
# Kinds of code points: white space at which words end, other white space, and stops, behind which a word begins.
_SEPARATOR, _OTHER_SPACE, _STOP = 1, 2, 3
_KINDS = np.zeros(ord(max(STOPS)) + 2, dtype=np.uint8)
for _kind, _characters in ((_OTHER_SPACE, SPACES), (_SEPARATOR, SEPARATORS), (_STOP, STOPS)):
    _KINDS[[ord(character) for character in _characters]] = _kind
_SPACES, _STOPS = "".join(SEPARATORS), "".join(STOPS)
_WORD = re.compile(f"[^{_SPACES}{_STOPS}]+[{_STOPS}]*|[{_STOPS}]+")
_ODD = re.compile(f"[{''.join(SPACES - SEPARATORS)}{_STOPS}]")


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

    def __init__(self, text: str, words: IntArray, pieces: IntArray, counts: IntArray) -> None:
        self.text = text
        # int64[n + 1]: offset of each word, and number of tokens before it; at last, those of the end of the text.
        self._words, self._before = words, np.append(0, np.cumsum(counts))
        self.total = int(self._before[-1])
        # Number of the first word of each piece, and the pieces of which tokens were located.
        self._pieces, self._located = pieces, set[int]()
        # Offsets of the tokens of words, and places of tokens.
        self._tokens: dict[int, list[int]] = {}
        self._places: dict[int, _Place] = {}
        self._end = _Place(len(text), len(text), self.total, self.total)
        self._plain = text.isascii()

    def __getitem__(self, number: int) -> int:
        """Return the offset of a located token or the end, moved back to the start of its grapheme cluster."""
        return self._place(number).floor

    def _place(self, number: int) -> _Place:
        return self._places[number] if number < self.total else self._end

    def at_or_before(self, offset: int) -> int:
        """Return the number of the last located token that begins at or before an offset and the space after it."""
        offset = skip_space(self.text, offset)
        word = max(0, int(np.searchsorted(self._words[:-1], offset, side="right")) - 1)
        first = int(self._firsts(word))
        if first not in self._located:
            return int(self._before[first])
        return int(self._before[word]) + max(0, bisect_right(self._tokens.get(word, []), offset) - 1)

    def _firsts(self, words: IntArray | int) -> IntArray:
        """Return the first word of the piece of each word."""
        return self._pieces[np.searchsorted(self._pieces, words, side="right") - 1]

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

    def around(self, numbers: Iterable[int]) -> tuple[IntArray, list[int]]:
        """Return tokens and the first tokens of the words around them, and the words that tokens begin inside.

        What is known already is left out.
        """
        wanted = np.array([number for number in numbers if number < self.total], dtype=np.int64)
        words = np.searchsorted(self._before, wanted, side="right") - 1
        firsts = self._firsts(words)
        self._located.update(firsts[self._before[firsts] < wanted].tolist())
        edges = self._before[words], self._before[np.searchsorted(self._before, wanted)]
        near = sorted({number for found in (wanted, *edges) for number in found.tolist()})
        new = [number for number in near if number < self.total and number not in self._places]
        inside = words[self._before[words] < wanted].tolist()
        return np.array(new, dtype=np.int64), sorted({word for word in inside if word not in self._tokens})

    def word(self, number: int) -> str:
        """Return a word and what follows it up to the next one."""
        return self.text[self._words[number] : self._words[number + 1]]

    def learn(self, numbers: IntArray, tokens: dict[int, IntArray]) -> None:
        """Store the places of tokens, given where the tokens of words begin in them."""
        for word, starts in tokens.items():
            begin = int(self._words[word])
            # Limits are checked by the count. If the tokenizer reports fewer offsets, other tokens share the last one.
            most = int(self._before[word + 1] - self._before[word])
            found = [begin + start for start in starts.tolist()[:most]] or [begin]
            self._tokens[word] = [begin, *found[1:], *[found[-1]] * (most - len(found))]
        last = np.searchsorted(self._before, numbers, side="right") - 1
        after = np.searchsorted(self._before, numbers)
        # A word that the tokenizer drops belongs to the next one.
        begins = self._words[np.where(numbers > 0, np.maximum(after, self._firsts(last)), 0)]
        rows = zip(*(a.tolist() for a in (numbers, begins, self._before[after], last, self._before[last])), strict=True)
        for number, begin, next_word, word, last_word in rows:
            offset = begin if number == last_word else self._tokens[word][number - last_word]
            floor = offset if self._plain else grapheme_floor(self.text, offset, 0)
            self._places[number] = _Place(offset, floor, next_word, last_word)


def count_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> list[TokenOffsets]:
    """Count the tokens of many texts in one pass, each different word once."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    found = []
    for text in texts:
        words, pieces, own = _words(text, tokenizer)
        found.append((text, words, pieces, np.fromiter(map(numbers.__getitem__, own), np.int64, len(words) - 1)))
    counts = tokenizer.count([*numbers])
    return [TokenOffsets(text, words, pieces, counts[own]) for text, words, pieces, own in found]


def _words(text: str, tokenizer: Tokenizer) -> tuple[IntArray, IntArray, Iterable[str]]:
    """Return the words, between which counts add up: their offsets and the text's end, firsts of pieces, and texts."""
    first = len(text) - len(text.lstrip())
    if first == len(text) or not tokenizer.splits_at_space:
        begins = np.array([first][: len(text) - first], dtype=np.int64)
        return np.append(begins, len(text)), np.arange(len(begins)), [text[first:]] * len(begins)
    kinds = np.take(_KINDS, code_points(text)[first:], mode="clip")
    before = np.append(_SEPARATOR, kinds[:-1])
    begins = (kinds != _SEPARATOR) & ((before == _SEPARATOR) | ((kinds != _STOP) & (before == _STOP)))
    words = np.flatnonzero(begins)
    pieces = np.flatnonzero(begins & (kinds != _OTHER_SPACE))[::_PIECE]
    split = _split_odd if (kinds == _STOP).any() or (kinds == _OTHER_SPACE).any() else str.split
    own = chain.from_iterable(map(split, text[first:].split("\n")))
    return np.append(words + first, len(text)), np.searchsorted(words, pieces), own


def _split_odd(line: str) -> list[str]:
    return _WORD.findall(line) if _ODD.search(line) else line.split()


def locate(texts: Sequence[TokenOffsets], wanted: Sequence[Iterable[int]], tokenizer: Tokenizer) -> None:
    """Locate some tokens of each text, all in one pass."""
    found = [(own, *own.around(numbers)) for own, numbers in zip(texts, wanted, strict=True)]
    cut = [*{own.word(word): None for own, _, words in found for word in words}]
    starts = dict(zip(cut, tokenizer.starts(cut), strict=True))
    for own, numbers, words in found:
        own.learn(numbers, {word: starts[own.word(word)] for word in words})
