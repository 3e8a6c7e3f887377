"""Tokenizers from a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinsplit.errors import TokenizerError
from kinsplit.tokenizers.fast import LONGEST, Encode, FastEncoder
from kinsplit.tokenizers.protocol import IntArray, valid
from kinsplit.tokenizers.unknown import extra, pieces, warn_of_scripts, words


class JsonTokenizer:
    """A tokenizer.json: tokie counts tokens if it agrees with `tokenizers`, which gives the offsets.

    For unknown words, see `kinsplit.tokenizers.unknown`.
    """

    def __init__(self, name: str, content: str | bytes) -> None:
        import tokenizers

        self.name = name
        try:
            raw = _raw(json.loads(content))
            self._reference = tokenizers.Tokenizer.from_str(json.dumps(raw))
        except Exception as error:
            raise TokenizerError(f"tokenizer: {name!r} is not a tokenizer.json ({error}).") from error
        self.splits_at_space = _splits_at_space(raw)
        self._unknown = _unknown_id(raw["model"], self._reference)
        try:
            fast = FastEncoder(raw, self._reference, self._encode_exactly, self._unknown, self.splits_at_space)
            self._encode: Encode = fast.encode
        except ValueError:
            self._encode = self._encode_exactly

    @property
    def backend(self) -> Any:
        """The tokenizer object for other libraries."""
        return self._reference

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
        ids = [e.ids for e in self._reference.encode_batch_fast(list(valid(texts)), add_special_tokens=False)]
        return (
            np.array([token for own in ids for token in own], dtype=np.int64),
            np.array([len(own) for own in ids], dtype=np.int64),
        )

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """See `Tokenizer.starts`."""
        texts = valid(texts)
        spans = self._unknown_words(texts) if self._unknown is not None else [[] for _ in texts]
        if self.splits_at_space:
            # Unknown words are left out, since `tokenizers` is slow on long words.
            ranges = [_between(len(text), found) for text, found in zip(texts, spans, strict=True)]
        else:
            ranges = [[(0, len(text))] for text in texts]
        known = iter(self._own_starts([text[s:e] for text, own in zip(texts, ranges, strict=True) for s, e in own]))
        first = 0 if self.splits_at_space else 1
        return [
            np.sort(np.concatenate([*(s + next(known) for s, _ in own), *(pieces(*span)[first:] for span in found)]))
            for own, found in zip(ranges, spans, strict=True)
        ]

    def _own_starts(self, texts: Sequence[str]) -> list[IntArray]:
        encodings = self._reference.encode_batch(list(texts), add_special_tokens=False)
        return [np.maximum.accumulate(np.array([start for start, _ in e.offsets], dtype=np.int64)) for e in encodings]

    def _unknown_words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the spans of the unknown words in each text that count more than one token."""
        if not self.splits_at_space:
            encodings = self._reference.encode_batch(list(valid(texts)), add_special_tokens=False)
            return [
                [offsets for token, offsets in zip(e.ids, e.offsets, strict=True) if token == self._unknown]
                for e in encodings
            ]
        spans = [words(text) for text in texts]
        begins = [text[start:end][:LONGEST] for text, own in zip(texts, spans, strict=True) for start, end in own]
        ids, counts = self._encode(begins)
        firsts = ids[np.minimum(np.cumsum(counts) - counts, len(ids) - 1)] if len(ids) else counts
        is_unknown = iter(((counts == 1) & (firsts == self._unknown)).tolist())
        return [[span for span in own if next(is_unknown)] for own in spans]


def _between(length: int, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges between spans in a text of the given length, including empty ones."""
    return list(zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), length], strict=True))


def _unknown_id(model: dict[str, Any], reference: Any) -> int | None:
    """Return the id of a model's unknown token, or None if it has none."""
    if model.get("unk_id") is not None or not model.get("unk_token"):
        return model.get("unk_id")
    found: int | None = reference.token_to_id(model["unk_token"])
    return found


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
