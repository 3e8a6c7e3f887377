"""Dictionary in a temporary file."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterator, MutableMapping
from typing import Any, TypeVar

V = TypeVar("V")


class TemporaryDict(MutableMapping[str, V]):
    """A dictionary in a temporary file, ordered by key, that takes a few megabytes of memory whatever its length.

    Values are pickled: a value that is changed has to be set again. The file is deleted with the dictionary.
    """

    def __init__(self) -> None:
        # An empty name stands for a file that SQLite deletes, and makes once its cache of 2 MB is full.
        self._items = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._items.execute("PRAGMA journal_mode = OFF")
        self._items.execute("CREATE TABLE items (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def __getitem__(self, key: str) -> V:
        row = self._items.execute("SELECT value FROM items WHERE key = ?", [_encoded(key)]).fetchone()
        if row is None:
            raise KeyError(key)
        value: V = pickle.loads(row[0])  # noqa: S301 - from a file of our own
        return value

    def __setitem__(self, key: str, value: V) -> None:
        self._items.execute("INSERT OR REPLACE INTO items VALUES (?, ?)", [_encoded(key), pickle.dumps(value)])

    def __delitem__(self, key: str) -> None:
        if not self._items.execute("DELETE FROM items WHERE key = ?", [_encoded(key)]).rowcount:
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        for (key,) in self._items.execute("SELECT key FROM items ORDER BY key"):
            yield key.decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        number: int = self._items.execute("SELECT count(*) FROM items").fetchone()[0]
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (), None, None, iter(self.items())


def _encoded(key: str) -> bytes:
    """Return a key as bytes of the same order; names of files that are not UTF-8 have lone surrogates."""
    return key.encode("utf-8", "surrogatepass")
