"""JSON as jsonb columns hold it: NUL, lone surrogates and large numbers are escaped."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from kinsplit.embedding.protocol import replace_surrogates

_LARGE = 1e16


def encode_text(text: str) -> str:
    """Escape NUL in a text, and replace lone surrogates, which no store keeps."""
    return replace_surrogates(text).replace("\x1a", "\x1a1").replace("\0", "\x1a0")


def decode_text(text: str) -> str:
    """Undo the escapes of `encode_text`."""
    return text.replace("\x1a0", "\0").replace("\x1a1", "\x1a")


def dump(value: Any) -> str:
    """Return a JSON value as text for jsonb."""
    return json.dumps(_encode(value))


def load(data: str | bytes) -> Any:
    """Return the value of jsonb text."""
    value = from_json(data)
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
