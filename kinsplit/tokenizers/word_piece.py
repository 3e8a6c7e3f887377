"""BERT's uncased WordPiece, with the results of the library `tokenizers`.

What the library makes of each code point comes from a file and not from Python, whose Unicode tables are of another
year in each version: ids and offsets must be the same everywhere.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinsplit.tokenizers.protocol import IntArray

_FOLDER = Path(__file__).with_name("bert")

_HANGUL = range(0xAC00, 0xD7A4)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ASCII_WORD = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
# What tokens inside a word begin with; no word does.
_CONTINUED = "##"
# Longer words are unknown.
_LONGEST = 100
# Words whose tokens are kept; more than any document has.
_KEPT = 1 << 18


def bundled() -> dict[str, Any]:
    """Return the bundled tokenizer.json; its words have a file of their own, since a list is read faster than JSON."""
    found: dict[str, Any] = json.loads((_FOLDER / "tokenizer.json").read_bytes())
    words = gzip.decompress((_FOLDER / "vocabulary.txt.gz").read_bytes()).decode().split("\n")
    found["model"]["vocab"] = dict(zip(words, range(len(words)), strict=True))
    return found


class _Tokens(NamedTuple):
    """The tokens of a word: their ids, and the offset of each in the normalised word."""

    ids: tuple[int, ...]
    starts: tuple[int, ...]


class WordPiece:
    """Tokenizer of BERT's uncased kind."""

    def __init__(self, vocabulary: Mapping[str, int], unknown: int) -> None:
        #: Id of a word that has no tokens.
        self.unknown = unknown
        self._words = _Words(vocabulary, unknown)

    @classmethod
    def of(cls, raw: dict[str, Any]) -> WordPiece | None:
        """Return the tokenizer of a tokenizer.json, or None if it is of another kind."""
        model, normalizer = raw["model"], raw.get("normalizer") or {}
        same = (
            _has(normalizer, type="BertNormalizer", clean_text=True, handle_chinese_chars=True, lowercase=True)
            and normalizer.get("strip_accents") in {None, True}
            and _has(raw.get("pre_tokenizer"), type="BertPreTokenizer")
            and _has(model, type="WordPiece", continuing_subword_prefix=_CONTINUED)
            and not raw["added_tokens"]
            and model.get("unk_token") in model["vocab"]
            and model.get("max_input_chars_per_word") == _LONGEST
        )
        return cls(model["vocab"], model["vocab"][model["unk_token"]]) if same else None

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the concatenated token ids of all texts and the number of ids per text, both as int64[...]."""
        found = [[*chain.from_iterable([self._words[word].ids for word in _split(text)])] for text in texts]
        counts = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
        return np.fromiter(chain.from_iterable(found), dtype=np.int64, count=int(counts.sum())), counts

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """Return, for each text, the code point at which each token begins, as int64[tokens]."""
        return [self._starts(text) for text in texts]

    def _starts(self, text: str) -> IntArray:
        if text.isascii() and not _CONTROL.search(text):
            found = _ASCII_WORD.finditer(text.lower())
            return np.array([m.start() + own for m in found for own in self._words[m[0]].starts], dtype=np.int64)
        words = text.translate(_forms()).split(" ")
        tokens = [self._words[word].starts for word in words]
        begins = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
        normalised = np.repeat(begins, [len(own) for own in tokens])
        normalised += np.fromiter(chain.from_iterable(tokens), dtype=np.int64, count=len(normalised))
        points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        origins = np.repeat(np.arange(len(points)), _forms().lengths[points])
        # `tokenizers` sorts combining marks first, so an unknown word that begins with several may differ by a mark.
        starts: IntArray = origins[normalised].astype(np.int64)
        return starts


def _has(config: dict[str, Any] | None, **values: Any) -> bool:
    return config is not None and all(config.get(key) == value for key, value in values.items())


def _split(text: str) -> list[str]:
    """Return the normalised words and punctuation marks of a text; some may be empty."""
    if text.isascii() and not _CONTROL.search(text):
        return _ASCII_WORD.findall(text.lower())
    return text.translate(_forms()).split(" ")


class _Words(dict[str, _Tokens]):
    """Tokens of each word, found when it first occurs."""

    def __init__(self, vocabulary: Mapping[str, int], unknown: int) -> None:
        super().__init__({"": _Tokens((), ())})
        self._vocabulary = vocabulary
        self._unknown = _Tokens((unknown,), (0,))
        self._longest_token = max(map(len, vocabulary), default=0)

    def __missing__(self, word: str) -> _Tokens:
        tokens = self._read(word) if len(word) <= _LONGEST else self._unknown
        if len(self) < _KEPT:
            self[word] = tokens
        return tokens

    def _read(self, word: str) -> _Tokens:
        """Return the longest token that a word begins with, the longest after it, and so on."""
        ids, starts, start, known, prefix = [], [], 0, self._vocabulary, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest_token), start, -1):
                if (number := known.get(prefix + word[start:end])) is not None:
                    break
            else:
                return self._unknown
            ids.append(number)
            starts.append(start)
            start, prefix = end, _CONTINUED
        return _Tokens(tuple(ids), tuple(starts))


class _Forms(dict[int, str]):
    """Replacement of each code point: lower case without accents, a space, nothing, or itself between spaces."""

    def __init__(self) -> None:
        content = json.loads(gzip.decompress((_FOLDER / "characters.json.gz").read_bytes()))
        super().__init__({ord(character): form for character, form in content["forms"].items()})
        #: Length of each form, as uint8[0x110000].
        self.lengths: npt.NDArray[np.uint8] = np.ones(0x110000, dtype=np.uint8)
        self._kinds = np.zeros(0x110000, dtype=np.uint8)
        for kind, (name, length) in enumerate((("removed", 0), ("space", 1), ("alone", 3)), 1):
            for first, last in content[name]:
                self._kinds[first : last + 1], self.lengths[first : last + 1] = kind, length
        for point, form in self.items():
            self.lengths[point] = len(form)
        self.lengths[_HANGUL.start : _HANGUL.stop] = [len(_syllable(point)) for point in _HANGUL]

    def __missing__(self, point: int) -> str:
        character = chr(point)
        form = _syllable(point) if point in _HANGUL else (character, "", " ", f" {character} ")[self._kinds[point]]
        self[point] = form
        return form


def _syllable(point: int) -> str:
    """Return the letters of a Hangul syllable."""
    first, rest = divmod(point - _HANGUL.start, 588)
    middle, last = divmod(rest, 28)
    return chr(0x1100 + first) + chr(0x1161 + middle) + (chr(0x11A7 + last) if last else "")


_forms = functools.cache(_Forms)
