"""Tokenizers from a tokenizer.json, encoded fast with tokie where it agrees with an exact tokenizer.

Words unknown to a tokenizer: words in an unknown script, and words that are too long. A tokenizer reads such a word as
one token, however long it is, so a page of Thai could be ten tokens and limits would be meaningless. Therefore it
counts one token per four characters, about as many as English has.
"""

from __future__ import annotations

import functools
import json
import re
import string
import tempfile
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import regex

from kinsplit.errors import KinsplitWarning, MissingExtraError, TokenizerError
from kinsplit.support.extras import needs
from kinsplit.tokenizers.protocol import SEPARATORS, STOPS, IntArray, valid
from kinsplit.tokenizers.word_piece import WordPiece

#: Function that returns the concatenated token ids of all texts and the number of ids per text.
Encode = Callable[[Sequence[str]], tuple[IntArray, IntArray]]

# From 64 KiB on, tokie splits a text between its threads at arbitrary offsets, even inside words and characters.
LONGEST = 16_000
# Characters that are read before tokie is loaded, which takes as long as reading these without it.
_FEW = 100_000
# Longer texts are cut where counts add up.
_ENDS = re.escape("".join(SEPARATORS | STOPS) + string.punctuation)
_PIECE = re.compile(rf".{{0,{LONGEST - 1}}}[{_ENDS}]|[^{_ENDS}]+[{_ENDS}]?", re.DOTALL)

# Texts on which tokenizers are most likely to disagree: case, accents, CJK, emoji, controls, numbers, long words.
_PROBE = (
    "The quick brown fox's 1,234.50 jumps! Über naïve café cafe\u0301 Ελλάδα Привет 東京タワー 食べ物 ไทย नमस्ते عربي",
    "👩‍👩‍👧‍👦 a\u00a0b\u2003c\r\nd\te  f\u200b\u00adg <|endoftext|> [MASK] </s> don't can’t x_y a--b … “q” "
    + "z" * 120,
    "def f(x):\n    return x ** 2  # comment\n\n\n<p>&nbsp;</p>\ufffd\x07",
)


# Code points below this are probed at the start, others when they first occur.
_COMMON = 0x300


class FastEncoder:
    """Encoder with the results of an exact tokenizer and the speed of tokie.

    Raises:
        ImportError: tokie is not installed.
        ValueError: tokie doesn't support the tokenizer or reads the probe texts differently.
    """

    def __init__(self, raw: dict[str, Any], encode_exactly: Encode, unknown: int | None, splits_at_space: bool) -> None:
        self._tokie = _tokie(raw, encode_exactly)
        self._encode_exactly, self._unknown, self._splits_at_space = encode_exactly, unknown, splits_at_space
        # Whether each code point was probed, and whether the two libraries read it differently.
        self._probed, self._odd = np.zeros(0x110000, dtype=np.bool_), np.zeros(0x110000, dtype=np.bool_)
        self._probe(np.arange(_COMMON))
        self._odd_common = [chr(point) for point in np.flatnonzero(self._odd).tolist()]

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return what the exact tokenizer does, or raise UnicodeEncodeError for a lone surrogate."""
        if max(map(len, texts), default=0) <= LONGEST:
            return self._encode(texts)
        flat, numbers = self._pieces(texts)
        ids, counts = self._encode(flat, np.array([len(piece) > LONGEST for piece in flat], dtype=np.bool_))
        return ids, np.add.reduceat(counts, np.cumsum([0, *numbers[:-1]]))

    def _encode(self, texts: Sequence[str], long: npt.NDArray[np.bool_] | bool = False) -> tuple[IntArray, IntArray]:
        exact = self._are_odd(texts) | long
        if not exact.any():
            return self._read(texts)
        found, slow = (
            iter(_apart(*encode([text for text, is_exact in zip(texts, exact, strict=True) if is_exact == kind])))
            for encode, kind in ((self._read, False), (self._encode_exactly, True))
        )
        ids = [next(slow) if is_exact else next(found) for is_exact in exact]
        return np.concatenate(ids), np.array([len(own) for own in ids], dtype=np.int64)

    def _read(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        ids, counts = self._tokie.encode_batch_flat(list(texts), add_special_tokens=False)
        return ids.astype(np.int64), counts.astype(np.int64)

    def _are_odd(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts contain a character that tokie reads differently."""
        joined = "".join(texts)
        odd = {c for c in self._odd_common if c in joined}
        if not joined.isascii():
            points = np.frombuffer(joined.encode("utf-32-le"), dtype="<u4")
            rare = points[points >= _COMMON]
            if not self._probed[rare].all():
                self._probe(np.unique(rare[~self._probed[rare]]))
            odd.update(map(chr, rare[self._odd[rare]].tolist()))
        if not odd:
            return np.zeros(len(texts), dtype=np.bool_)
        return np.array([not odd.isdisjoint(text) for text in texts], dtype=np.bool_)

    def _probe(self, points: npt.NDArray[np.integer[Any]]) -> None:
        """Check whether both libraries, whose Unicode versions differ, read some code points alike."""
        texts = [f"{c} a{c}b 1{c}{c}, {c}." for c in map(chr, points.tolist())]
        read = zip(_apart(*self._read(texts)), _apart(*self._encode_exactly(texts)), strict=True)
        self._odd[points] = [not np.array_equal(fast, exact) for fast, exact in read]
        self._probed[points] = True

    def _pieces(self, texts: Sequence[str]) -> tuple[list[str], list[int]]:
        """Cut long texts into pieces between tokens, and return them with their number per text."""
        is_cut = self._splits_at_space
        pieces = [
            [*map(self._abridged, _PIECE.findall(text))] if is_cut and len(text) > LONGEST else [text] for text in texts
        ]
        return [piece for found in pieces for piece in found], [len(found) for found in pieces]

    def _abridged(self, piece: str) -> str:
        """Return as much of a piece as determines its tokens: a word with an unknown beginning is unknown."""
        if len(piece) <= LONGEST or not _WORD.fullmatch(piece[:-1]):
            return piece
        begin = piece[: LONGEST - 1]
        return begin + piece[-1] if self._encode([begin])[0].tolist() == [self._unknown] else piece


def _apart(ids: IntArray, counts: IntArray) -> list[IntArray]:
    """Return the ids of each text as separate arrays."""
    return np.split(ids, np.cumsum(counts)[:-1]) if len(counts) else []


def _tokie(raw: dict[str, Any], encode_exactly: Encode) -> Any:
    import tokie

    # tokie reads only files.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_text(json.dumps(raw), encoding="utf-8")
        try:
            fast = tokie.Tokenizer.from_json(str(file))
            fast.no_truncation()
            fast.no_padding()
            read = [list(fast.encode(text, add_special_tokens=False).ids) for text in _PROBE]
            same = read == [encode_exactly([text])[0].tolist() for text in _PROBE]
        except (tokie.TokieError, RuntimeError) as error:
            raise ValueError(str(error)) from error
    if not same:
        raise ValueError("tokie reads the probe texts differently")
    return fast


# Characters of an unknown word per token.
_CHARACTERS = 4
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
            f"{_CHARACTERS} characters, and models with this vocabulary can't distinguish them. Choose a tokenizer "
            'and an embedding model that support the script, for example tokenizer="hf:BAAI/bge-m3".'
        )


def _words(text: str) -> list[tuple[int, int]]:
    """Return the words of a text, as separated by BERT, that count more than one token if they are unknown."""
    if text.isascii() and len(text) <= _LONG:
        return []
    found = (match.span() for match in _WORD.finditer(text))
    return [(start, end) for start, end in found if end - start > _LONG or not text[start:end].isascii()]


def _warn_of_scripts(tokenizer: str, found: Iterable[str]) -> None:
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


class JsonTokenizer:
    """A tokenizer.json: tokie counts tokens where it is installed and agrees with an exact tokenizer.

    The exact one gives the offsets: `kinsplit.tokenizers.word_piece` for BERT's uncased kind, else `tokenizers`. For
    unknown words, see the module.

    Args:
        name: Name of the tokenizer.
        content: The tokenizer.json, as a text or as what is read from it.

    Raises:
        MissingExtraError: Reading it takes `tokenizers`, which is not installed.
        TokenizerError: The content is not a tokenizer.json.
    """

    def __init__(self, name: str, content: str | bytes | dict[str, Any]) -> None:
        self.name = name
        try:
            raw = _raw(content if isinstance(content, dict) else json.loads(content))
            self._exact: WordPiece | _LibraryTokenizer = WordPiece.of(raw) or _LibraryTokenizer(raw)
        except MissingExtraError:
            raise
        except Exception as error:
            raise TokenizerError(f"tokenizer: {name!r} is not a tokenizer.json ({error}).") from error
        self.splits_at_space = _splits_at_space(raw)
        self._unknown = self._exact.unknown
        self._raw, self._left = raw, _FEW

    def count(self, texts: Sequence[str]) -> IntArray:
        """See `Tokenizer.count`."""
        try:
            ids, counts = self._encode(texts)
        except UnicodeEncodeError:
            texts = valid(texts)
            ids, counts = self._encode(texts)
        if self._unknown is None:
            return counts
        owners = np.searchsorted(np.cumsum(counts), np.flatnonzero(ids == self._unknown), side="right")
        numbers = np.flatnonzero(np.bincount(owners, minlength=len(texts)))
        doubtful = [texts[number] for number in numbers.tolist()]
        spans = self._unknown_words(doubtful)
        more = [sum((end - start - 1) // _CHARACTERS for start, end in found) for found in spans]
        counts[numbers] += np.array(more, dtype=np.int64)
        found = zip(doubtful, spans, strict=True)
        _warn_of_scripts(self.name, (text[start:end] for text, own in found for start, end in own))
        return counts

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the concatenated token ids of all texts and the number of ids per text, both as int64[...]."""
        return self._encode(valid(texts))

    def _encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        if self._left > 0:
            self._left -= sum(map(len, texts))
        return self._encode_exactly(texts) if self._left > 0 else self._encode_fast(texts)

    @functools.cached_property
    def _encode_fast(self) -> Encode:
        """Without tokie, or where it reads texts differently, the exact tokenizer counts."""
        try:
            return FastEncoder(self._raw, self._encode_exactly, self._unknown, self.splits_at_space).encode
        except (ImportError, ValueError):
            return self._encode_exactly

    def _encode_exactly(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        return self._exact.encode(valid(texts))

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """See `Tokenizer.starts`."""
        texts = valid(texts)
        spans = self._unknown_words(texts) if self._unknown is not None else [[] for _ in texts]
        if self.splits_at_space:
            # Unknown words are left out, since `tokenizers` is slow on long words.
            ranges = [_between(len(text), found) for text, found in zip(texts, spans, strict=True)]
        else:
            ranges = [[(0, len(text))] for text in texts]
        known = iter(self._exact.starts([text[s:e] for text, own in zip(texts, ranges, strict=True) for s, e in own]))
        first = 0 if self.splits_at_space else 1
        starts = [[s + next(known) for s, _ in own] for own in ranges]
        unknown = [[np.arange(*span, _CHARACTERS, dtype=np.int64)[first:] for span in found] for found in spans]
        both = zip(starts, unknown, strict=True)
        return [np.sort(np.concatenate([*own, *more])) if more else own[0] for own, more in both]

    def _unknown_words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the spans of the unknown words in each text that count more than one token."""
        if isinstance(self._exact, _LibraryTokenizer) and not self.splits_at_space:
            return self._exact.unknown_spans(valid(texts))
        spans = [_words(text) for text in texts]
        begins = [text[start:end][:LONGEST] for text, own in zip(texts, spans, strict=True) for start, end in own]
        ids, counts = self._encode(begins)
        firsts = ids[np.minimum(np.cumsum(counts) - counts, len(ids) - 1)] if len(ids) else counts
        is_unknown = iter(((counts == 1) & (firsts == self._unknown)).tolist())
        return [[span for span in own if next(is_unknown)] for own in spans]


class _LibraryTokenizer:
    """A tokenizer of `tokenizers`, which may raise anything for content that it can't read."""

    def __init__(self, raw: dict[str, Any]) -> None:
        with needs("tokenizers"):
            import tokenizers
        self._tokenizer = tokenizers.Tokenizer.from_str(json.dumps(raw))
        #: Id of the unknown token, or None.
        self.unknown: int | None = raw["model"].get("unk_id")
        if self.unknown is None and raw["model"].get("unk_token"):
            self.unknown = self._tokenizer.token_to_id(raw["model"]["unk_token"])

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        ids = [each.ids for each in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
        counts = np.array([len(own) for own in ids], dtype=np.int64)
        return np.array([token for own in ids for token in own], dtype=np.int64), counts

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        read = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [np.maximum.accumulate(np.array([s for s, _ in each.offsets], dtype=np.int64)) for each in read]

    def unknown_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        read = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        tokens = [zip(each.ids, each.offsets, strict=True) for each in read]
        return [[span for token, span in own if token == self.unknown] for own in tokens]


def _between(length: int, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges between spans in a text of the given length, including empty ones."""
    return list(zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), length], strict=True))


def _raw(config: dict[str, Any]) -> dict[str, Any]:
    """Return a tokenizer.json without truncation, padding and special tokens."""
    added = [token for token in config.get("added_tokens") or [] if not token.get("special")]
    return {**config, "truncation": None, "padding": None, "post_processor": None, "added_tokens": added}


def _splits_at_space(raw: dict[str, Any]) -> bool:
    """Return whether a tokenizer is BERT's, without added tokens that contain or absorb white space."""
    pre_tokenizer, normalizer = raw.get("pre_tokenizer") or {}, raw.get("normalizer") or {}
    spaced = (t.get("lstrip") or t.get("rstrip") or any(map(str.isspace, t["content"])) for t in raw["added_tokens"])
    return (
        pre_tokenizer.get("type") == "BertPreTokenizer"
        and raw["model"].get("max_input_chars_per_word", LONGEST) < LONGEST
        and normalizer.get("type") in {None, "BertNormalizer"}
        and not any(spaced)
    )
