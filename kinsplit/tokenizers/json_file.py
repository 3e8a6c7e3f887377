"""A `tokenizer.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinsplit.errors import TokenizerError
from kinsplit.tokenizers.fast import LONGEST, FastCounter
from kinsplit.tokenizers.protocol import IntArray, valid


class JsonTokenizer:
    """A `tokenizer.json`: tokie counts where it agrees with `tokenizers`, `tokenizers` gives the offsets."""

    def __init__(self, name: str, content: str | bytes) -> None:
        import tokenizers

        self.name = name
        try:
            raw = _raw(json.loads(content))
            self._reference = tokenizers.Tokenizer.from_str(json.dumps(raw))
        except Exception as error:
            raise TokenizerError(f"tokenizer: {name!r} is not a tokenizer.json ({error}).") from error
        self.splits_at_space = _splits_at_space(raw)
        try:
            self._fast: FastCounter | None = FastCounter(
                raw, self._reference, self._count_exactly, self._encode_exactly, self.splits_at_space
            )
        except ValueError:
            self._fast = None

    @property
    def backend(self) -> Any:
        """The object that other libraries know."""
        return self._reference

    def count(self, texts: Sequence[str]) -> IntArray:
        """See `Tokenizer.count`."""
        if self._fast is None:
            return self._count_exactly(texts)
        try:
            return self._fast.count(texts)
        except UnicodeEncodeError:
            return self._fast.count(valid(texts))

    def _count_exactly(self, texts: Sequence[str]) -> IntArray:
        encodings = self._reference.encode_batch_fast(list(valid(texts)), add_special_tokens=False)
        return np.array([len(e) for e in encodings], dtype=np.int64)

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the token ids of all texts one after another, and how many are each text's, both as int64[...]."""
        return (self._encode_exactly if self._fast is None else self._fast.encode)(valid(texts))

    def _encode_exactly(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        ids = [e.ids for e in self._reference.encode_batch_fast(list(texts), add_special_tokens=False)]
        return (
            np.array([token for own in ids for token in own], dtype=np.int64),
            np.array([len(own) for own in ids], dtype=np.int64),
        )

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """See `Tokenizer.starts`."""
        encodings = self._reference.encode_batch(list(valid(texts)), add_special_tokens=False)
        return [np.maximum.accumulate(np.array([start for start, _ in e.offsets], dtype=np.int64)) for e in encodings]


def _raw(config: dict[str, Any]) -> dict[str, Any]:
    """Return a tokenizer's description without all that isn't counting: truncation, padding, special tokens."""
    added = [token for token in config.get("added_tokens") or [] if not token.get("special")]
    return {**config, "truncation": None, "padding": None, "post_processor": None, "added_tokens": added}


def _splits_at_space(raw: dict[str, Any]) -> bool:
    """Return whether a tokenizer is BERT's, with no added token that holds or swallows white space."""
    pre_tokenizer, normalizer = raw.get("pre_tokenizer") or {}, raw.get("normalizer") or {}
    return (
        pre_tokenizer.get("type") == "BertPreTokenizer"
        and raw["model"].get("max_input_chars_per_word", LONGEST) < LONGEST
        and normalizer.get("type") in {None, "BertNormalizer"}
        and not any(
            t.get("lstrip") or t.get("rstrip") or any(map(str.isspace, t["content"])) for t in raw["added_tokens"]
        )
    )
