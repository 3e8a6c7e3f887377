"""Disk cache of chunks and rankings, so that a stopped evaluation continues where it was."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import kinsplit
from kinsplit.support.disk_cache import JsonCache

#: Bytes on disk; what was not used for the longest time goes first.
_SIZE = 1 << 29
#: The parts of kinsplit whose code decides what is retrieved.
_PARTS = (
    "chunk.py",
    "identity.py",
    "spans.py",
    "indexing",
    "parsers",
    "embedding",
    "tokenizers",
    "stores",
    "retrieval",
    "evaluation/splitters",
    "evaluation/experiment",
)


class OutcomeCache:
    """Records by key, safe with several processes.

    A folder that can't be read or written costs nothing but time: with one warning, nothing is kept from then on.

    Args:
        folder: Where they lie; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._cache = JsonCache(folder, _SIZE, "Outcomes")

    def get(self, key: str) -> dict[str, Any] | None:
        """Return a record, or None."""
        found = self._cache.get(key.encode())
        return found if isinstance(found, dict) else None

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Keep a record of what JSON can hold."""
        self._cache.put(key.encode(), record)

    def close(self) -> None:
        """Let go of the file."""
        self._cache.close()


@cache
def code_version() -> str:
    """Return a hash of the code that decides what is retrieved: what older code retrieved counts no more."""
    root, digest = Path(kinsplit.__file__).parent, hashlib.blake2b(digest_size=16)
    for part in _PARTS:
        path = root / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return f"{kinsplit.__version__} {digest.hexdigest()}"


def hashed(*parts: Any) -> str:
    """Return a hash of what JSON can hold; what it can't counts by its text."""
    data = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(data.encode(), digest_size=16).hexdigest()
