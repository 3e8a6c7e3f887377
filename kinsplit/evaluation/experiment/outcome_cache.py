"""Disk cache of chunks and rankings, so that an interrupted evaluation continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import kinsplit
from kinsplit.support.disk_cache import JsonCache

#: Maximum number of bytes on disk; the least recently used records are removed first.
_SIZE = 1 << 29
#: The parts of kinsplit whose code affects retrieval.
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
    """A cache of records that several processes can share.

    A folder that can't be read or written causes one warning and is no longer used.

    Args:
        folder: Folder of the cache; None for no cache.
    """

    def __init__(self, folder: Path | None) -> None:
        self._cache = JsonCache(folder, _SIZE, "Outcomes")

    def get(self, key: str) -> dict[str, Any] | None:
        """Return a record, or None."""
        found = self._cache.get(key.encode())
        return found if isinstance(found, dict) else None

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Store a record of JSON values."""
        self._cache.put(key.encode(), record)

    def close(self) -> None:
        """Close the file."""
        self._cache.close()


@cache
def code_version() -> str:
    """Return a hash of the code that affects retrieval, so that outcomes of older code are not used."""
    root, digest = Path(kinsplit.__file__).parent, hashlib.blake2b(digest_size=16)
    for part in _PARTS:
        path = root / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return f"{kinsplit.__version__} {digest.hexdigest()}"


def hashed(*parts: Any) -> str:
    """Return a hash of JSON values; other objects are hashed as their `str`."""
    data = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(data.encode(), digest_size=16).hexdigest()
