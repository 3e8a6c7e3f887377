"""Connections to Postgres, and its errors in one line."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import set_json_loads

from kinsplit.errors import CollectionNotFoundError, KinsplitError, KinsplitWarning, LockWarning, StoreError
from kinsplit.stores.engines.postgres.options import MOST_CANDIDATES, PROBES, PostgresOptions, unknown_options
from kinsplit.stores.engines.postgres.where import load

Connection = psycopg.Connection[Any]
T = TypeVar("T")

#: Oldest versions with `jsonb_path_exists_tz` and with index scans that continue until enough rows match a filter.
_POSTGRES, _PGVECTOR = 13, (0, 8)
#: Seconds after which either side of a silent connection asks the other for a sign of life, and after which it asks
#: again; and milliseconds for which data may be unconfirmed. So a machine that vanished is noticed after 14 seconds.
_IDLE, _INTERVAL, _UNCONFIRMED = 5, 3, 12_000
#: libpq's parameters of a connection, unless the user gives others.
_PARAMETERS = {
    "connect_timeout": 30,
    "fallback_application_name": "kinsplit",
    "keepalives": 1,
    "keepalives_idle": _IDLE,
    "keepalives_interval": _INTERVAL,
    "keepalives_count": 3,
    "tcp_user_timeout": _UNCONFIRMED,
}
#: The server's settings of its side, which holds the locks of a machine that vanished. A Unix socket ignores them.
_KEEPALIVES = {
    "tcp_keepalives_idle": str(_IDLE),
    "tcp_keepalives_interval": str(_INTERVAL),
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": str(_UNCONFIRMED),
}
# Those that the address, the role or the database has on its own stay. Not sent when the connection begins, since
# PgBouncer refuses that.
_SET_KEEPALIVES = """
SELECT set_config(name, given.value, false) FROM unnest(%s::text[], %s::text[]) AS given (name, value)
    JOIN pg_settings USING (name) WHERE source NOT IN ('client', 'user', 'database', 'database user')
"""
#: Seconds that a writer waits for another one before it says so.
_PATIENCE = 5
# The session has its own timeout again when it has the lock.
_LOCK_SOON = """
WITH own AS MATERIALIZED (SELECT current_setting('lock_timeout') AS timeout)
SELECT set_config('lock_timeout', CASE timeout WHEN '0' THEN %s ELSE timeout END, true),
    pg_advisory_xact_lock(%s, %s), set_config('lock_timeout', timeout, true) FROM own
"""
_LOCK = "SELECT pg_advisory_xact_lock(%s, %s)"
_OWN_TIMEOUT = "SELECT nullif(current_setting('lock_timeout'), '0')"
# What another role's session does is hidden from most roles.
_HOLDER = """
SELECT pid, usename, application_name, host(client_addr), state,
    to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND objsubid = 2 AND granted
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

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
    """A connection with kinsplit's settings, reopened if the server ended it."""

    def __init__(self, dsn: str, options: PostgresOptions, number: int) -> None:
        self._dsn, self._options, self._number = dsn, options, number
        self._lock = threading.Lock()
        self.connection = self._connect()

    def run(self, work: Callable[[Connection], T]) -> T:
        """Call a function that only reads or opens a transaction; once more if the connection has ended."""
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
            values = [str(candidates), probes, *PROBES, names]
            connection.execute(_SETTINGS.replace("{probes}", _PROBES), values)
        except BaseException:
            connection.close()
            raise
        return connection


class KeepaliveWarning(KinsplitWarning):
    """The server may notice late that the machine of a writer has vanished."""


def connect(dsn: str) -> Connection:
    """Return a new connection, whose statements are transactions of their own.

    Either side notices within about 15 seconds that the other has vanished, unless the user has other settings.
    """
    connection = psycopg.connect(dsn, autocommit=True, **_parameters(dsn))
    try:
        _set_keepalives(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _parameters(dsn: str) -> dict[str, Any]:
    """Return the parameters of a connection that neither its address nor the environment gives."""
    given = conninfo_to_dict(dsn)
    # The file of a service may give any of the others, and only libpq reads it.
    wanted = ("connect_timeout",) if "service" in given else tuple(_PARAMETERS)
    # With the values of the environment, which may name a service.
    usual = {option.keyword.decode(): option.val for option in pq.Conninfo.get_defaults()}
    # Older versions of libpq don't know all of them.
    return {name: _PARAMETERS[name] for name in wanted if name not in given and usual.get(name, b"") is None}


def _set_keepalives(connection: Connection) -> None:
    try:
        connection.execute(_SET_KEEPALIVES, [list(_KEEPALIVES), list(_KEEPALIVES.values())])
    except psycopg.Error as error:
        if connection.closed:
            raise
        reason = " ".join(str(error).split())
        warnings.warn(
            f"pgvector:{connection.info.host} refuses the settings of keepalives ({reason}). If a writer's machine "
            "vanishes, the others wait until the server notices: set tcp_keepalives_idle and tcp_user_timeout there.",
            KeepaliveWarning,
            stacklevel=2,
        )


def begin(connection: Connection, name: str, key: tuple[int, int]) -> ExitStack:
    """Begin a transaction with an advisory lock, and return the context manager that ends both.

    A wait of more than a few seconds is reported by a warning, and goes on.

    Raises:
        StoreError: The session has a `lock_timeout` of its own, and it has passed.
    """
    try:
        return _begin(connection, _LOCK_SOON, [f"{_PATIENCE}s", *key])
    except psycopg.errors.LockNotAvailable as error:
        holder = _holder(connection, key)
        (timeout,) = connection.execute(_OWN_TIMEOUT).fetchone() or (None,)
        if timeout is not None:
            raise StoreError(f"{name} was not free within the lock_timeout of {timeout}: {holder}") from error
        warnings.warn(f"{name}: still waiting after {_PATIENCE} seconds: {holder}", LockWarning, stacklevel=2)
    return _begin(connection, _LOCK, key)


def _begin(connection: Connection, statement: str, values: Sequence[Any]) -> ExitStack:
    with ExitStack() as stack:
        stack.enter_context(connection.transaction())
        connection.execute(statement, values)
        return stack.pop_all()


def _holder(connection: Connection, key: tuple[int, int]) -> str:
    """Return sentences about the session that has an advisory lock."""
    found = connection.execute(_HOLDER, key).fetchone()
    if found is None:
        return "another session was writing, which has just ended."
    pid, user, application, address, state, begun = found
    details = [
        f"user {user}" if user else "of a role whose details are hidden",
        application,
        f"from {address}" if address else "",
        f"{state}, its transaction began at {begun} UTC" if begun else "",
    ]
    return (
        f"session {pid} of the server is writing ({', '.join(filter(None, details))}). If its machine has vanished, "
        f"the server soon ends it; if it hangs, SELECT pg_terminate_backend({pid}) ends it."
    )


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
        remedy = "Write for example 'pgvector:postgresql://localhost/mydata'."
        raise StoreError(f"pgvector: the address is no connection string. {remedy}") from None
    return f"pgvector:{parts.get('host') or 'localhost'}/{parts.get('dbname') or ''}"
