"""Encodings of `tiktoken`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinsplit.tokenizers.protocol import IntArray, replace_surrogates, valid


class TiktokenTokenizer:
    """An encoding of `tiktoken`."""

    splits_at_space = False

    def __init__(self, name: str, encoding: Any) -> None:
        self.name = name
        self._encoding = encoding

    def count(self, texts: Sequence[str]) -> IntArray:
        """See `Tokenizer.count`."""
        return np.array([len(ids) for ids in self._encode(texts)], dtype=np.int64)

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """See `Tokenizer.starts`."""
        return [self._token_starts(text, ids) for text, ids in zip(texts, self._encode(texts), strict=True)]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        readable = list(valid(texts))
        if len(readable) == 1:
            # A batch starts threads even for one text.
            return [self._encoding.encode_ordinary(readable[0])]
        encoded: list[list[int]] = self._encoding.encode_ordinary_batch(readable)
        return encoded

    def _token_starts(self, text: str, ids: list[int]) -> IntArray:
        # A token may begin inside a character; its offset is that of the character.
        sizes = np.array([len(b) for b in self._encoding.decode_tokens_bytes(ids)], dtype=np.int64)
        byte_starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        data = np.frombuffer(replace_surrogates(text).encode(), dtype=np.uint8)
        character = np.cumsum((data & 0xC0) != 0x80) - 1
        starts: IntArray = character[byte_starts].astype(np.int64)
        return starts
