"""Tokenizers by name: token counts for limits, offsets for windows.

Text is always read raw: no truncation, no padding, no special tokens, and text that looks like a special token is
counted as text. Lone surrogates are read as U+FFFD. A word that a tokenizer doesn't know counts one token per four
characters, although the tokenizer reads it as a single token (see `kinsplit.tokenizers.protocol`).
"""

from __future__ import annotations

from kinsplit.tokenizers.foreign import CallableTokenizer, TiktokenTokenizer, describe
from kinsplit.tokenizers.json_file import JsonTokenizer
from kinsplit.tokenizers.protocol import SEPARATORS, STOPS, Tokenizer, UnknownScriptWarning
from kinsplit.tokenizers.registry import BUNDLED, BUNDLED_SHA256, resolve

__all__ = [
    "BUNDLED",
    "BUNDLED_SHA256",
    "SEPARATORS",
    "STOPS",
    "CallableTokenizer",
    "JsonTokenizer",
    "TiktokenTokenizer",
    "Tokenizer",
    "UnknownScriptWarning",
    "describe",
    "resolve",
]
