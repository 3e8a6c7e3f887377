"""The tables of a Postgres collection, and the connections to them.

All lie in the schema "kinsplit": `collections` holds each collection's name and schema, `chunks_N` the chunks of
collection N, and `terms_N` the term weights of their sparse vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb, set_json_loads

from kinsplit.errors import KinsplitError, StoreError
from kinsplit.stores.engines.postgres.query import Tables, load
from kinsplit.stores.protocol import Schema
from kinsplit.stores.schema import DENSE, check_collection, check_schema, parse_schema, schema_to_create

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


#: Of pgvector's HNSW index.
_MOST_DIMENSIONS = 2000
#: Advisory locks of kinsplit: this key with a collection's number, and with 0 to make a collection.
LOCK = 0x6B696E73

_COLLECTIONS = """
CREATE TABLE IF NOT EXISTS kinsplit.collections (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, schema jsonb NOT NULL)
"""

# The columns are made from the payload, so that they can't contradict it.
_CHUNKS = """
CREATE TABLE {chunks} (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    source_id text NOT NULL GENERATED ALWAYS AS (payload ->> 'source_id') STORED,
    chunk_index int NOT NULL GENERATED ALWAYS AS ((payload -> 'chunk_index')::int) STORED,
    level int NOT NULL GENERATED ALWAYS AS ((payload -> 'level')::int) STORED,
    parent_id uuid GENERATED ALWAYS AS ((payload ->> 'parent_id')::uuid) STORED,
    content_hash text NOT NULL GENERATED ALWAYS AS (payload ->> 'content_hash') STORED,
    has_terms bool NOT NULL,
    payload jsonb NOT NULL,
{dense});
CREATE INDEX ON {chunks} (source_id, level, chunk_index);
CREATE INDEX ON {chunks} (parent_id);
CREATE INDEX ON {chunks} (level) WHERE has_terms;
CREATE INDEX ON {chunks} USING gin (payload jsonb_path_ops);
CREATE TABLE {terms} (
    chunk bigint NOT NULL REFERENCES {chunks} ON DELETE CASCADE,
    field smallint NOT NULL,
    term bigint NOT NULL,
    weight real NOT NULL,
    PRIMARY KEY (field, term, chunk) INCLUDE (weight));
CREATE INDEX ON {terms} (chunk)
"""
_DENSE = "    {name} vector({dimension})"
_HNSW = "CREATE INDEX ON {chunks} USING hnsw ({name} vector_cosine_ops)"


class Opened(NamedTuple):
    """A collection that was opened.

    Attributes:
        name: For errors, without user and password.
        number: Of the collection in `kinsplit.collections`.
        schema: What it was made with.
        tables: Where its chunks are.
        reader: For single statements.
        writer: For transactions, so that readers need not wait for them.
    """

    name: str
    number: int
    schema: Schema
    tables: Tables
    reader: Session
    writer: Session


def open_tables(dsn: str, collection: str, schema: Schema | None) -> Opened:
    """Connect and open a collection, creating it where there is none.

    Raises:
        StoreError: And its kinds, as `kinsplit.stores.open_store` tells.
    """
    check_collection(collection)
    place = _place(dsn)
    name = f"{place}/{collection}"
    with postgres_errors(name), ExitStack() as stack:
        with closing(psycopg.connect(dsn, autocommit=True)) as connection:
            found = _find(connection, collection)
            if found is None:
                _create(connection, collection, schema_to_create(place, collection, schema, _names(connection)))
                found = _find(connection, collection)
        if found is None:
            raise StoreError(f"{name}: was deleted while it was opened. Open it again.")
        number, stored = found
        check_schema(name, made := parse_schema(name, stored), schema)
        reader = stack.enter_context(closing(Session(dsn)))
        writer = Session(dsn)
        stack.pop_all()
    return Opened(name, number, made, _tables(number), reader, writer)


@contextmanager
def postgres_errors(name: str) -> Iterator[None]:
    """Turn what the driver raises into one line."""
    try:
        yield
    except KinsplitError:
        raise
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        raise StoreError(f"{name}: {reason or type(error).__name__}") from error


def _place(dsn: str) -> str:
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        # Not the driver's words, which can hold the password.
        raise StoreError(
            "pgvector: the address is no connection string. Write for example 'pgvector:postgresql://localhost/mydata'."
        ) from None
    return f"pgvector:{parts.get('host') or 'localhost'}/{parts.get('dbname') or ''}"


def _tables(number: int) -> Tables:
    return Tables(sql.Identifier("kinsplit", f"chunks_{number}"), sql.Identifier("kinsplit", f"terms_{number}"))


def _names(connection: Connection) -> list[str]:
    if not _is_set_up(connection):
        return []
    return [name for (name,) in connection.execute("SELECT name FROM kinsplit.collections")]


def _is_set_up(connection: Connection) -> bool:
    (exists,) = connection.execute("SELECT to_regclass('kinsplit.collections') IS NOT NULL").fetchone() or (False,)
    return bool(exists)


def _find(connection: Connection, collection: str) -> tuple[int, dict[str, Any]] | None:
    if not _is_set_up(connection):
        return None
    return connection.execute("SELECT id, schema FROM kinsplit.collections WHERE name = %s", [collection]).fetchone()


def _create(connection: Connection, collection: str, schema: Schema) -> None:
    """Make the tables, all or none, unless another process makes them meanwhile."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [LOCK])
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE SCHEMA IF NOT EXISTS kinsplit")
        connection.execute(_COLLECTIONS)
        row = connection.execute(
            "INSERT INTO kinsplit.collections (name, schema) VALUES (%s, %s) ON CONFLICT DO NOTHING RETURNING id",
            [collection, Jsonb(asdict(schema))],
        ).fetchone()
        if row is None:
            return
        tables = _tables(row[0])
        columns = [
            sql.SQL(_DENSE).format(name=sql.Identifier(name), dimension=sql.Literal(schema.dimension)) for name in DENSE
        ]
        connection.execute(
            sql.SQL(_CHUNKS).format(chunks=tables.chunks, terms=tables.terms, dense=sql.SQL(",\n").join(columns))
        )
        for name in DENSE if schema.dimension <= _MOST_DIMENSIONS else ():
            connection.execute(sql.SQL(_HNSW).format(chunks=tables.chunks, name=sql.Identifier(name)))
