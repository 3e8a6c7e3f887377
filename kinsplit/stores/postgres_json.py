r"""Payloads as Postgres's jsonb takes them, without loss.

Postgres has no NUL in any text, and writes a float of 1e16 or more as an integer. So "\x1a" (the control character
SUBSTITUTE) is an escape: "\x1a0" stands for NUL, "\x1a1" for itself, and "\x1af" before digits makes them a float.
Offsets are those of the text as it was given; only SQL of one's own sees the escapes.
"""

from __future__ import annotations

import json
from typing import Any

from kinsplit.embedding.texts import replace_surrogates

_LARGE = 1e16


def encode_text(text: str) -> str:
    """Return a text without NUL, and without lone surrogates, which no store keeps."""
    return replace_surrogates(text).replace("\x1a", "\x1a1").replace("\0", "\x1a0")


def decode_text(text: str) -> str:
    """Return the text that `encode_text` was given."""
    return text.replace("\x1a0", "\0").replace("\x1a1", "\x1a")


def dump(value: Any) -> str:
    """Return a JSON value as text for jsonb."""
    return json.dumps(_encode(value))


def load(data: str | bytes) -> Any:
    """Return the value of a jsonb's text."""
    value = json.loads(data)
    escaped = b"\\u001a" in data if isinstance(data, bytes) else "\\u001a" in data
    return _decode(value) if escaped else value


def _encode(value: Any) -> Any:
    if isinstance(value, str):
        return encode_text(value)
    if isinstance(value, float) and abs(value) >= _LARGE:
        return f"\x1af{value!r}"
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {encode_text(key): _encode(item) for key, item in value.items()}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, str):
        return float(value[2:]) if value.startswith("\x1af") else decode_text(value)
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, dict):
        return {decode_text(key): _decode(item) for key, item in value.items()}
    return value
