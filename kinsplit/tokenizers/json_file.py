"""Tokenizers from a tokenizer.json."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinsplit.errors import MissingExtraError, TokenizerError
from kinsplit.support.extras import needs
from kinsplit.tokenizers.fast import LONGEST, Encode, FastEncoder
from kinsplit.tokenizers.protocol import IntArray, extra, pieces, valid, warn_of_scripts, words
from kinsplit.tokenizers.word_piece import WordPiece


class JsonTokenizer:
    """A tokenizer.json: tokie counts tokens where it is installed and agrees with an exact tokenizer.

    The exact one gives the offsets: `kinsplit.tokenizers.word_piece` for BERT's uncased kind, else `tokenizers`. For
    unknown words, see `kinsplit.tokenizers.protocol`.

    Args:
        name: Name of the tokenizer.
        content: The tokenizer.json.

    Raises:
        MissingExtraError: Reading it takes `tokenizers`, which is not installed.
        TokenizerError: The content is not a tokenizer.json.
    """

    def __init__(self, name: str, content: str | bytes) -> None:
        self.name = name
        try:
            raw = _raw(json.loads(content))
            self._exact: WordPiece | _LibraryTokenizer = WordPiece.of(raw) or _LibraryTokenizer(raw)
        except MissingExtraError:
            raise
        except Exception as error:
            raise TokenizerError(f"tokenizer: {name!r} is not a tokenizer.json ({error}).") from error
        self.splits_at_space = _splits_at_space(raw)
        self._unknown = self._exact.unknown
        self._encode: Encode = self._encode_exactly
        # Without tokie, or where it reads texts differently, the exact tokenizer counts.
        with contextlib.suppress(ImportError, ValueError):
            self._encode = FastEncoder(raw, self._encode_exactly, self._unknown, self.splits_at_space).encode

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
        counts[numbers] += np.array([extra(found) for found in spans], dtype=np.int64)
        warn_of_scripts(
            self.name, (text[start:end] for text, own in zip(doubtful, spans, strict=True) for start, end in own)
        )
        return counts

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the concatenated token ids of all texts and the number of ids per text, both as int64[...]."""
        return self._encode(valid(texts))

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
        return [
            np.sort(np.concatenate([*(s + next(known) for s, _ in own), *(pieces(*span)[first:] for span in found)]))
            for own, found in zip(ranges, spans, strict=True)
        ]

    def _unknown_words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the spans of the unknown words in each text that count more than one token."""
        if isinstance(self._exact, _LibraryTokenizer) and not self.splits_at_space:
            return self._exact.unknown_spans(valid(texts))
        spans = [words(text) for text in texts]
        begins = [text[start:end][:LONGEST] for text, own in zip(texts, spans, strict=True) for start, end in own]
        ids, counts = self._encode(begins)
        firsts = ids[np.minimum(np.cumsum(counts) - counts, len(ids) - 1)] if len(ids) else counts
        is_unknown = iter(((counts == 1) & (firsts == self._unknown)).tolist())
        return [[span for span in own if next(is_unknown)] for own in spans]


class _LibraryTokenizer:
    """A tokenizer of `tokenizers`.

    Raises:
        MissingExtraError: The library is not installed.
        Exception: It can't read the content.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        with needs("tokenizers"):
            import tokenizers
        self._tokenizer = tokenizers.Tokenizer.from_str(json.dumps(raw))
        #: Id of the unknown token, or None.
        self.unknown: int | None = raw["model"].get("unk_id")
        if self.unknown is None and raw["model"].get("unk_token"):
            self.unknown = self._tokenizer.token_to_id(raw["model"]["unk_token"])

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the concatenated token ids of all texts and the number of ids per text, both as int64[...]."""
        ids = [each.ids for each in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
        return (
            np.array([token for own in ids for token in own], dtype=np.int64),
            np.array([len(own) for own in ids], dtype=np.int64),
        )

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """Return, for each text, the code point at which each token begins, as int64[tokens], never decreasing."""
        read = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [np.maximum.accumulate(np.array([s for s, _ in each.offsets], dtype=np.int64)) for each in read]

    def unknown_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the spans of the unknown tokens of each text."""
        return [
            [span for token, span in zip(each.ids, each.offsets, strict=True) if token == self.unknown]
            for each in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]


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
    return (
        pre_tokenizer.get("type") == "BertPreTokenizer"
        and raw["model"].get("max_input_chars_per_word", LONGEST) < LONGEST
        and normalizer.get("type") in {None, "BertNormalizer"}
        and not any(
            t.get("lstrip") or t.get("rstrip") or any(map(str.isspace, t["content"])) for t in raw["added_tokens"]
        )
    )
