"""An on-disk cache of JSON and vectors by key, in one SQLite file."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import CacheError, CacheWarning

#: Name of the file in its folder.
FILE = "entries.sqlite"
_JSON, _VECTOR = "json", "vector"
# Marks of the file format; raise the version when the tables change.
_APPLICATION, _VERSION = 0x6B696E73, 1
_TABLES = {
    "entries": (
        "CREATE TABLE entries (key BLOB PRIMARY KEY, kind TEXT NOT NULL, value BLOB NOT NULL, "
        "checksum INTEGER NOT NULL, used INTEGER NOT NULL)"
    ),
    "by_use": "CREATE INDEX by_use ON entries (used)",
}
# Seconds to wait for another process that writes.
_BUSY_TIMEOUT = 60.0
# Maximum bytes of a value, and of unpacked JSON.
_LONGEST, _LONGEST_JSON = 64 << 20, 512 << 20
# Keys per statement; some builds of SQLite accept only 999.
_TOGETHER = 500
# Resolution of the time of use in seconds, so that reading seldom writes.
_HOUR = 3600


class DiskCache:
    """Entries by key, safe with several threads and processes; a full cache drops the least recently used ones.

    Nothing in the folder, which is created if it is missing, is executed or used as a path: an entry is JSON or a
    vector, with a checksum, and anything else counts as missing. The size is in bytes on disk, apart from those of one
    write.

    Raises:
        CacheError: The folder can't be written, or the file is damaged or not a cache of kinsplit.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.folder, self.size = folder, size
        self._lock, self._process = threading.Lock(), 0
        self._connection: sqlite3.Connection | None = None
        # Connections of a parent process: closing one in a child could damage it.
        self._inherited: list[sqlite3.Connection | None] = []
        with self._using():
            pass

    def get_json(self, key: bytes) -> Any:
        """Return the value of a key, or None."""
        for packed in self._get(_JSON, [key]).values():
            unzip = zlib.decompressobj()
            with contextlib.suppress(zlib.error, ValueError, RecursionError):
                text = unzip.decompress(packed, _LONGEST_JSON)
                return json.loads(text) if unzip.eof else None
        return None

    def put_json(self, key: bytes, value: Any) -> None:
        """Store a JSON value."""
        text = json.dumps(value, separators=(",", ":"))
        if len(text) <= _LONGEST_JSON:
            self._put(_JSON, {key: zlib.compress(text.encode("utf-8"), 1)})

    def get_vectors(self, keys: Sequence[bytes], dimension: int | None) -> dict[bytes, NDArray[np.float32]]:
        """Return the stored vectors, by key; one of another length counts as missing, unless the dimension is None."""
        return {
            key: np.frombuffer(data, dtype="<f4").astype(np.float32)
            for key, data in self._get(_VECTOR, keys).items()
            if dimension is None or len(data) == 4 * dimension
        }

    def put_vectors(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Store vectors in one transaction."""
        self._put(_VECTOR, {key: vector.astype("<f4").tobytes() for key, vector in vectors.items()})

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _get(self, kind: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        now, unnoted = _now(), list[tuple[int, bytes]]()
        with self._using() as connection:
            for some in (keys[start : start + _TOGETHER] for start in range(0, len(keys), _TOGETHER)):
                marks = ",".join("?" * len(some))
                query = (
                    "SELECT key, value, checksum, used FROM entries WHERE kind = ? AND length(value) <= ? "  # noqa: S608
                    f"AND typeof(value) = 'blob' AND key IN ({marks})"
                )
                for key, value, checksum, used in connection.execute(query, (kind, _LONGEST, *some)):
                    if _checksum(kind, key, value) == checksum:
                        found[key] = value
                        unnoted += [(now, key)] if used != now else []
            if unnoted:
                with _transaction(connection):
                    connection.executemany("UPDATE entries SET used = ? WHERE key = ?", unnoted)
        return found

    def _put(self, kind: str, values: Mapping[bytes, bytes]) -> None:
        now = _now()
        # A value that nearly fills the cache would displace everything else.
        rows = [
            (key, kind, value, _checksum(kind, key, value), now)
            for key, value in values.items()
            if len(value) <= min(_LONGEST, self.size // 4)
        ]
        with self._using() as connection, _transaction(connection):
            connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", rows)
            self._forget(connection)

    def _forget(self, connection: sqlite3.Connection) -> None:
        """Delete the least recently used entries, more than necessary, so that not every write has to delete."""
        while _bytes(connection) > self.size:
            ((count,),) = connection.execute("SELECT count(*) FROM entries")
            if not count:
                return
            oldest = "SELECT rowid FROM entries ORDER BY used, rowid LIMIT ?"
            connection.execute(f"DELETE FROM entries WHERE rowid IN ({oldest})", (-(-count // 10),))  # noqa: S608

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection to one thread at a time, and convert its errors."""
        if self._process != os.getpid():
            # After a fork: a thread of the parent may hold the lock, and the connection is the parent's.
            self._inherited.append(self._connection)
            self._lock, self._process, self._connection = threading.Lock(), os.getpid(), None
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = self._connect()
                yield self._connection
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                rule = f"{self.folder}: another process keeps the cache locked"
                raise CacheError(f"{rule}. Wait until it ends.") from error
            remedy = "Choose a folder that can be written and has room."
            raise CacheError(f"{self.folder}: the cache can't be used ({error}). {remedy}") from error
        except sqlite3.Error as error:
            remedy = "Delete the folder: nothing in it is needed."
            raise CacheError(f"{self.folder}: the cache is damaged ({error}). {remedy}") from error
        except OSError as error:
            remedy = "Choose a folder that can be written."
            raise CacheError(f"{self.folder}: nothing can be kept there ({error}). {remedy}") from error

    def _connect(self) -> sqlite3.Connection:
        self.folder.mkdir(parents=True, exist_ok=True)
        options: Any = {"timeout": _BUSY_TIMEOUT, "isolation_level": None, "check_same_thread": False}
        connection: sqlite3.Connection = sqlite3.connect(self.folder / FILE, **options)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {_LONGEST}")
            _write_ahead(connection)
            with _transaction(connection):
                _check_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection


class JsonCache:
    """A cache of JSON by key that warns once if its folder can't be used, and stores nothing from then on.

    Without a folder it stores nothing either. The warning names the values by `what`.
    """

    def __init__(self, folder: Path | None, size: int, what: str) -> None:
        self.folder, self._what = folder, what
        self._cache: DiskCache | None = None
        if folder is not None:
            with self._lenient():
                self._cache = DiskCache(folder, size)

    def get(self, key: bytes) -> Any:
        """Return the value of a key, or None."""
        if self._cache is not None:
            with self._lenient():
                return self._cache.get_json(key)
        return None

    def put(self, key: bytes, value: Any) -> None:
        """Store a JSON value."""
        if self._cache is not None:
            with self._lenient():
                self._cache.put_json(key, value)

    def close(self) -> None:
        """Close the file."""
        if self._cache is not None:
            self._cache.close()

    @contextlib.contextmanager
    def _lenient(self) -> Iterator[None]:
        try:
            yield
        except CacheError as error:
            self._cache = None
            rule = f"{self._what} are not kept: {error}"
            warnings.warn(f"{rule} Or set KINSPLIT_CACHE to another folder.", CacheWarning, stacklevel=4)


def _now() -> int:
    return int(time.time() // _HOUR)


def _checksum(kind: str, key: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(key, zlib.crc32(kind.encode())))


def _bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Allow reads while another process writes; for this change, SQLite doesn't wait for others by itself."""
    until = time.monotonic() + _BUSY_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def _check_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in a new file, and check those of an existing one."""
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    marks = tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if not found and marks == (0, 0):
        marks_set = (f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {_VERSION}")
        for statement in (*_TABLES.values(), *marks_set):
            connection.execute(statement)
    elif found != _TABLES or marks != (_APPLICATION, _VERSION):
        raise sqlite3.DatabaseError(f"{FILE} is not a cache of this version of kinsplit")
