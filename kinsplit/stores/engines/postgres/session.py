"""Connections to Postgres, and its errors in one line."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import set_json_loads

from kinsplit.errors import CollectionNotFoundError, KinsplitError, StoreError
from kinsplit.stores.engines.postgres.json_text import load
from kinsplit.stores.engines.postgres.options import (
    MOST_CANDIDATES,
    PROBES_FACTOR,
    PROBES_POWER,
    PostgresOptions,
    unknown_options,
)

Connection = psycopg.Connection[Any]
T = TypeVar("T")

#: Oldest versions with `jsonb_path_exists_tz` and with index scans that continue until enough rows match a filter.
_POSTGRES, _PGVECTOR = 13, (0, 8)
#: Seconds to wait for a server, unless the address or PGCONNECT_TIMEOUT says otherwise.
_TIMEOUT = 30

# Index scans continue until enough chunks match the filter; a strict order would drop those found late. Times without a
# zone are in UTC. Statements are planned for their values, since a plan for any filter suits none, and not compiled,
# which takes longer than most of them. The memory is enough for the scores of a million chunks, which the server would
# otherwise write to files.
_SETTINGS = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', false), set_config('hnsw.ef_search', %s, false),
    set_config('TimeZone', 'UTC', false), set_config('hnsw.max_scan_tuples', '2147483647', false),
    set_config('hnsw.scan_mem_multiplier', '64', false), set_config('plan_cache_mode', 'force_custom_plan', false),
    set_config('jit', 'off', false), set_config('ivfflat.iterative_scan', 'relaxed_order', false),
    set_config('ivfflat.probes', coalesce(%s, ({probes}), 1)::text, false),
    set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')) / 1024, 65536) || 'kB', false)
"""
# The indexes of a collection with lists have about the same number of them. The larger a collection is, the smaller the
# share of its lists that has the nearest vectors.
_PROBES = """
SELECT ceil(%s::float8 * max(substring(option FROM '^lists=(.*)')::int) ^ %s::float8)::int
    FROM pg_class, unnest(reloptions) AS option WHERE relnamespace = to_regnamespace('kinsplit') AND relname LIKE %s
"""
_VERSIONS = "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'"
_ACCESS = "Check user and password, which may also be in PGUSER, PGPASSWORD and libpq's password file"


class Session:
    """A connection with kinsplit's settings, reopened if the server ended it.

    Args:
        dsn: Connection string of a database with the extension "vector".
        options: Options of its searches.
        number: Number of the collection that it searches.
    """

    def __init__(self, dsn: str, options: PostgresOptions, number: int) -> None:
        self._dsn, self._options, self._number = dsn, options, number
        self._lock = threading.Lock()
        self.connection = self._connect()

    def run(self, work: Callable[[Connection], T]) -> T:
        """Call a function with the connection, and retry once over a new one if the old one has ended.

        Args:
            work: Function of the connection that can safely be retried, as it only reads or opens a transaction.
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
                self.connection = self._connect()
            return self.connection

    def _connect(self) -> Connection:
        connection = connect(self._dsn)
        try:
            register_vector(connection)
            set_json_loads(load, connection)
            candidates, probes = min(self._options.hnsw_ef, MOST_CANDIDATES), self._options.ivfflat_probes
            names = f"chunks\\_{self._number}\\_dense%"
            values = [str(candidates), probes, PROBES_FACTOR, PROBES_POWER, names]
            connection.execute(_SETTINGS.replace("{probes}", _PROBES), values)
        except BaseException:
            connection.close()
            raise
        return connection


def connect(dsn: str) -> Connection:
    """Return a new connection, whose statements are transactions of their own."""
    given = conninfo_to_dict(dsn).get("connect_timeout") or os.environ.get("PGCONNECT_TIMEOUT")
    return psycopg.connect(dsn, autocommit=True, connect_timeout=given or _TIMEOUT)


def check_versions(place: str, connection: Connection) -> None:
    """Check that a server and its pgvector are new enough.

    Raises:
        StoreError: One of them is too old, or pgvector is not installed.
    """
    version = connection.info.server_version // 10_000
    if version < _POSTGRES:
        raise StoreError(f"{place} runs Postgres {version}; kinsplit needs {_POSTGRES} or newer. Update the server.")
    installed, offered = connection.execute(_VERSIONS).fetchone() or (None, None)
    if offered is None:
        raise StoreError(f"{place} has no pgvector. Install the package on the server, such as postgresql-17-pgvector.")
    if _numbers(installed or offered) < _PGVECTOR:
        oldest = ".".join(map(str, _PGVECTOR))
        remedy = "Run: ALTER EXTENSION vector UPDATE" if _numbers(offered) >= _PGVECTOR else "Update it on the server"
        raise StoreError(f"{place} has pgvector {installed or offered}; kinsplit needs {oldest} or newer. {remedy}.")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


@contextmanager
def postgres_errors(name: str) -> Iterator[None]:
    """Turn the driver's errors into one-line errors.

    Args:
        name: Collection or database.

    Raises:
        CollectionNotFoundError: The collection was dropped after it was opened.
        StoreError: The driver raised another error.
    """
    try:
        yield
    except KinsplitError:
        raise
    except psycopg.errors.UndefinedTable as error:
        raise CollectionNotFoundError(f"{name} was dropped. Open the collection that has its name now.") from error
    except psycopg.Error as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        remedy = f". {_ACCESS}." if "password" in reason and isinstance(error, psycopg.OperationalError) else ""
        raise StoreError(f"{name}: {reason}{remedy}") from error


def place_of(dsn: str) -> str:
    """Return the name of a database for errors, without user and password.

    Raises:
        InvalidParameterError: The URL has an unknown option.
        StoreError: The address is no connection string.
    """
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        unknown = unknown_options(dsn, {option.keyword.decode() for option in pq.Conninfo.get_defaults()})
        if unknown is not None:
            raise unknown from None
        # Without the driver's message, which may contain the password.
        raise StoreError(
            "pgvector: the address is no connection string. Write for example 'pgvector:postgresql://localhost/mydata'."
        ) from None
    return f"pgvector:{parts.get('host') or 'localhost'}/{parts.get('dbname') or ''}"
