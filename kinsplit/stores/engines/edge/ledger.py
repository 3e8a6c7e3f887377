"""Record of acknowledged writes, kept outside the engine's files to compare them with.

Before a write, the ids of its points are recorded as pending; afterwards, marks of the written points replace them.
If the process is killed in between, they stay pending: both the old and the new state are valid then, and the state
that the engine has when it is reopened counts as acknowledged.

A document that a sync has made whole also has an inventory, until the next write to one of its points begins.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import StoreError
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Inventory, Plan
from kinsplit.stores.values import Vectors

# Points are ordered by document, so that the rows of a document share pages, however many others there are.
_TABLES = """
CREATE TABLE IF NOT EXISTS points (
    id BLOB NOT NULL, source_id TEXT NOT NULL, level INTEGER NOT NULL, number INTEGER NOT NULL,
    payload BLOB NOT NULL, vectors REAL NOT NULL, PRIMARY KEY (source_id, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (
    id BLOB NOT NULL, source_id TEXT NOT NULL, PRIMARY KEY (source_id, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    source_id TEXT PRIMARY KEY, holder BLOB NOT NULL, contents BLOB NOT NULL, leaves INTEGER NOT NULL,
    points INTEGER NOT NULL) WITHOUT ROWID;
"""
#: Flag of a ledger as old as its collection: any point that it does not know should not exist.
_WHOLE = 1
_ENCODER = json.JSONEncoder(sort_keys=True)
# Engines store vectors in 32 bits and normalise them themselves.
_TOLERANCE = 1e-3


class LedgerMark(NamedTuple):
    """Mark of an acknowledged point."""

    source_id: str
    level: int
    number: int
    payload: bytes
    vectors: float

    def resembles(self, vectors: float) -> bool:
        """Return whether the checksum equals that of the acknowledged vectors, within an engine's precision."""
        return abs(self.vectors - vectors) <= _TOLERANCE * max(1.0, abs(self.vectors))


class Ledger:
    """A file with a mark for every point, or a StoreError where it is damaged or can't be written. Not thread-safe."""

    def __init__(self, path: Path, *, is_new: bool = False) -> None:
        self._path = path
        with self._errors():
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            # Survives a crash of the process, not a power failure, in which the engine may lose writes as well.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(_TABLES)
            if is_new:
                self._connection.execute(f"PRAGMA user_version = {_WHOLE}")

    @property
    def is_whole(self) -> bool:
        """Whether it records every point that was ever written."""
        with self._errors():
            ((version,),) = self._connection.execute("PRAGMA user_version").fetchall()
        return bool(version == _WHOLE)

    def begin(self, plan: Plan) -> None:
        """Record that points are about to be written or deleted, and forget the inventories of their documents."""
        written = [(id_, payload["source_id"]) for id_, payload in (*plan.upserts, *plan.payloads)]
        keys = _keys((*written, *plan.departures.items()))
        sources = {(source_id,) for _, source_id in keys}
        with self._transaction() as connection:
            connection.executemany("INSERT OR IGNORE INTO pending VALUES (?, ?)", keys)
            connection.executemany("DELETE FROM documents WHERE source_id = ?", sources)

    def pending(self) -> list[tuple[str, str]]:
        """Return the ids of points whose write was started and not completed, each with that of its document."""
        with self._errors():
            rows = self._connection.execute("SELECT id, source_id FROM pending")
            return [(str(UUID(bytes=id_)), source_id) for id_, source_id in rows]

    def end(
        self, written: Mapping[str, LedgerMark], left: Iterable[tuple[str, str]], inventory: Inventory | None = None
    ) -> None:
        """Record written points and those that left their documents, and clear the pending ones.

        Args:
            written: Marks by id.
            left: Ids of points that were deleted or given to another document, each with that of the former document.
            inventory: Inventory of a document that is whole now.
        """
        rows = [(UUID(id_).bytes, *mark) for id_, mark in written.items()]
        with self._transaction() as connection:
            connection.executemany("DELETE FROM points WHERE id = ? AND source_id = ?", _keys(left))
            connection.executemany("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.execute("DELETE FROM pending")
            if inventory is not None:
                source_id, holder, contents, *numbers = inventory
                row = (source_id, UUID(holder).bytes, bytes.fromhex(contents), *numbers)
                connection.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?)", row)

    def marks(self, points: Sequence[tuple[str, str]]) -> dict[str, LedgerMark]:
        """Return the marks of points by id, without points that have none."""
        select = "SELECT source_id, level, number, payload, vectors FROM points WHERE id = ? AND source_id = ?"
        with self._errors():
            rows = [self._connection.execute(select, key).fetchone() for key in _keys(points)]
            return {id_: LedgerMark(*row) for (id_, _), row in zip(points, rows, strict=True) if row}

    def inventories(self, source_ids: Iterable[str]) -> list[Inventory]:
        """Return the inventories of those of some documents that have one."""
        select = "SELECT * FROM documents WHERE source_id = ?"
        with self._errors():
            rows = [self._connection.execute(select, [source_id]).fetchone() for source_id in source_ids]
            found = filter(None, rows)
            return [Inventory(id_, str(UUID(bytes=holder)), text.hex(), *ns) for id_, holder, text, *ns in found]

    def sources(self) -> dict[str, dict[str, LedgerMark]]:
        """Return all marks by source and by id."""
        sources: dict[str, dict[str, LedgerMark]] = {}
        with self._errors():
            for id_, *row in self._connection.execute("SELECT * FROM points"):
                mark = LedgerMark(*row)
                sources.setdefault(mark.source_id, {})[str(UUID(bytes=id_))] = mark
        return sources

    def close(self) -> None:
        """Close the file."""
        with self._errors(), closing(self._connection):
            pass

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise StoreError(
                f"{self._path}: {error}. It only tells what was stored, for `kinsplit verify`: where it is damaged, "
                "delete it, and the next writes begin another."
            ) from error


def count_recorded(path: Path) -> tuple[int, int] | None:
    """Return the numbers of documents and leaves in a ledger, also one that is open, or None if it lacks some."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            ((version,),) = connection.execute("PRAGMA user_version")
            counts = "SELECT count(DISTINCT source_id), count(*) FROM points WHERE level = 0"
            ((documents, leaves),) = connection.execute(counts)
    except sqlite3.Error:
        return None
    return (documents, leaves) if version == _WHOLE else None


def _keys(points: Iterable[tuple[str, str]]) -> list[tuple[bytes, str]]:
    """Return the keys of points, given by their ids and those of their documents."""
    return [(UUID(id_).bytes, source_id) for id_, source_id in points]


def encode_payload(payload: Payload) -> bytes:
    """Encode a payload in a form that does not change when it is stored and read back."""
    plain = {key: value if isinstance(value, str | int) else _rounded(value) for key, value in payload.items()}
    return _ENCODER.encode(plain).encode()


def digest(encoded: bytes) -> bytes:
    """Return the hash of an encoded payload, in eight bytes."""
    return blake2b(encoded, digest_size=8).digest()


def _rounded(value: object) -> object:
    # An engine may change a float's last digit.
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value


def sketch(vectors: Vectors) -> float:
    """Return a checksum of vectors: the sum of projections of the dense vector's direction and of the terms."""
    total = 0.0
    if vectors.dense is not None:
        dense = np.asarray(vectors.dense, dtype=np.float64)
        length = float(np.linalg.norm(dense))
        total += float(dense @ _directions(len(dense))) / length if length else 0.0
    if vectors.sparse is not None and vectors.sparse.indices:
        terms = np.asarray(vectors.sparse.indices, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32)
        total += float(np.asarray(vectors.sparse.values) @ (1 + terms / 2**32))
    return total


@cache
def _directions(dimension: int) -> NDArray[np.float64]:
    """Return weights of both signs and many sizes, so that a shuffled or negated vector has another sum."""
    weights: NDArray[np.float64] = np.sin(np.arange(1, dimension + 1) * 12.9898) * 10
    return weights
