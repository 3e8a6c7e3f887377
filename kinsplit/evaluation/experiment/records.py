"""Chunks and rankings of one strategy as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import kinsplit
from kinsplit.chunk import Chunk, Document
from kinsplit.spans import Span
from kinsplit.support.disk_cache import JsonCache


class QuestionRanking(NamedTuple):
    """The ranking for one question.

    Attributes:
        read: See `Outcome.read`; keys are strings, as in JSON.
    """

    positions: list[int]
    scores: list[float]
    cosines: list[float]
    seconds: float
    read: Mapping[str, Mapping[str, Sequence[Sequence[int]]]] = MappingProxyType({})


@dataclass
class StrategyRecord:
    """The chunks and rankings of one strategy computed so far.

    Attributes:
        split_seconds: Wall time of splitting; None if vectors came from a cache.
        embed_seconds: Wall time of embedding; None before it is finished, or if vectors came from a cache.
    """

    chunks: list[Chunk]
    split_seconds: float | None = None
    embed_seconds: float | None = None
    warnings: list[str] = field(default_factory=list)
    answers: dict[str, QuestionRanking] = field(default_factory=dict)

    @property
    def leaves(self) -> list[Chunk]:
        """The chunks that are searched."""
        return [chunk for chunk in self.chunks if chunk.level == 0]

    def to_json(self) -> dict[str, Any]:
        """Return the record without the documents' metadata."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self)},
            "chunks": [[getattr(chunk, name) for name in _KEPT] for chunk in self.chunks],
            "answers": {key: [*answer[:-1], dict(answer.read)] for key, answer in self.answers.items()},
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], documents: Mapping[str, Document]) -> Self:
        """Return the record from a cached value."""
        chunks = [_chunk(dict(zip(_KEPT, row, strict=True)), documents) for row in kept["chunks"]]
        answers = {key: QuestionRanking(*answer) for key, answer in kept["answers"].items()}
        return cls(**{**kept, "chunks": chunks, "answers": answers})


_KEPT: Sequence[str] = [f.name for f in fields(Chunk) if f.name != "metadata"]


def _chunk(row: dict[str, Any], documents: Mapping[str, Document]) -> Chunk:
    spans = tuple(Span(*span) for span in row["spans"])
    return Chunk(**{**row, "spans": spans}, metadata=documents[row["source_id"]].metadata)


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
