"""Rows of a `KinStore` in a SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from kinsplit.errors import StoreError
from kinsplit.integrations.shared.kin.reader import Method, Place
from kinsplit.integrations.shared.kin.rows import Entry, Row, stale

T = TypeVar("T")

_TABLE = """
CREATE TABLE IF NOT EXISTS chunks (
    id TEXT PRIMARY KEY, source_id TEXT NOT NULL, level INTEGER NOT NULL, position INTEGER NOT NULL, chunk TEXT NOT NULL
)
"""
_INDEX = "CREATE INDEX IF NOT EXISTS places ON chunks (source_id, level, position)"
# Lists are passed as JSON, since the number of parameters is limited.
_ENTRIES = """
SELECT id, source_id, level, position FROM chunks WHERE source_id IN (SELECT value FROM json_each(?))
"""
_READ = """
SELECT chunk FROM chunks WHERE id IN (SELECT value FROM json_each(:ids))
UNION
SELECT chunk FROM chunks WHERE (source_id, level, position) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:places)
)
"""
_LEVEL = "SELECT chunk FROM chunks WHERE source_id IN (SELECT value FROM json_each(?)) AND level = ?"
_WRITE = "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?)"
_REMOVE = "DELETE FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
_DELETE = "DELETE FROM chunks WHERE source_id IN (SELECT value FROM json_each(?))"


class SqliteRows:
    """Rows in a SQLite file, which several processes may read and write.

    Args:
        path: Path of the file; ":memory:" for none.

    Raises:
        StoreError: The file can't be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        if str(path) != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute(_TABLE)
                self._connection.execute(_INDEX)
            except sqlite3.Error:
                self._connection.close()
                raise

    async def put(self, rows: Sequence[Row]) -> None:
        """Add or replace rows; see `kinsplit.integrations.shared.kin.sidecar.Rows`."""
        sources = json.dumps(list({row.place.source_id for row in rows}))

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute(_ENTRIES, [sources])
            entries = [Entry(id_, Place(*place)) for id_, *place in found]
            connection.execute(_REMOVE, [json.dumps(stale(entries, rows))])
            connection.executemany(_WRITE, [(row.id, *row.place, row.written()) for row in rows])

        await self._call(write)

    async def get(self, ids: Sequence[str], places: Sequence[Place]) -> list[Row]:
        """Return rows by id and place."""
        values = {"ids": json.dumps(list(ids)), "places": json.dumps(list(places))}
        return await self._call(lambda connection: _rows(connection.execute(_READ, values)))

    async def level(self, source_ids: Sequence[str], level: int) -> list[Row]:
        """Return the rows of a level of some documents."""
        values = (json.dumps(list(source_ids)), level)
        return await self._call(lambda connection: _rows(connection.execute(_LEVEL, values)))

    async def delete(self, source_ids: Sequence[str]) -> int:
        """Delete the rows of documents and return their number."""
        return await self._call(lambda connection: connection.execute(_DELETE, [json.dumps(list(source_ids))]).rowcount)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    async def _call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def call() -> T:
            with self._lock, self._errors(), self._connection:  # Which commits or rolls back what `work` began.
                return work(self._connection)

        result: T = await Method.threaded(call)()
        return result

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"The kin store {str(self._path)!r} can't be used: {error}") from error


def _rows(found: sqlite3.Cursor) -> list[Row]:
    return [Row.read(written) for (written,) in found]
