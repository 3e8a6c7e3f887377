"""Tokenizers by name: token counts for limits, offsets for windows.

Text is always read raw: no truncation, no padding, no special tokens, and text that looks like a special token is
counted as text. Lone surrogates are read as U+FFFD. A word that a tokenizer doesn't know counts one token per four
characters, although the tokenizer reads it as a single token (see `kinsplit.tokenizers.json_file`).
"""

from __future__ import annotations

from kinsplit.tokenizers.foreign import CallableTokenizer, describe
from kinsplit.tokenizers.json_file import JsonTokenizer, UnknownScriptWarning
from kinsplit.tokenizers.protocol import SEPARATORS, STOPS, Tokenizer
from kinsplit.tokenizers.registry import BUNDLED, BUNDLED_SHA256, resolve

__all__ = [
    "BUNDLED",
    "BUNDLED_SHA256",
    "SEPARATORS",
    "STOPS",
    "CallableTokenizer",
    "JsonTokenizer",
    "Tokenizer",
    "UnknownScriptWarning",
    "describe",
    "resolve",
]
