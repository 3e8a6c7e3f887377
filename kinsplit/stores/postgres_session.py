"""A connection to Postgres that outlives the server's restart, or whatever else ends a session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg.types.json import set_json_loads

from kinsplit.stores.postgres_json import load

Connection = psycopg.Connection[Any]
T = TypeVar("T")

# An index scan goes on until the filter has let enough chunks through. A time without a zone is in UTC.
_SETTINGS = """
SELECT set_config('hnsw.iterative_scan', 'strict_order', false), set_config('hnsw.ef_search', '200', false),
    set_config('TimeZone', 'UTC', false), set_config('hnsw.max_scan_tuples', '2147483647', false),
    set_config('hnsw.scan_mem_multiplier', '1000', false)
"""


class Session:
    """A connection with kinsplit's settings, made again where the server has ended it.

    Args:
        dsn: A connection string; the extension "vector" is there.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._lock = threading.Lock()
        self.connection = _connect(dsn)

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do some work, and once more over a new connection if it finds out that the old one has ended.

        Args:
            work: Takes the connection. What it does before it fails must not matter: a read, or an open transaction.
        """
        try:
            return work(self._open())
        except psycopg.OperationalError:
            if not self.connection.closed:
                raise
        return work(self._open())

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def _open(self) -> Connection:
        with self._lock:
            if self.connection.closed:
                self.connection = _connect(self._dsn)
            return self.connection


def _connect(dsn: str) -> Connection:
    connection = psycopg.connect(dsn, autocommit=True)
    try:
        register_vector(connection)
        set_json_loads(load, connection)
        connection.execute(_SETTINGS)
    except BaseException:
        connection.close()
        raise
    return connection
