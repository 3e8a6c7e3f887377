"""Tables of a Postgres collection, and connections to them.

All tables are in the schema "kinsplit": `collections` holds the name and schema of each collection, `chunks_N` the
chunks of collection N, and `terms_N` the term weights of their sparse vectors.
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

from kinsplit.errors import CollectionNotFoundError, KinsplitError, StoreError
from kinsplit.stores.engines.postgres.query import Tables, load
from kinsplit.stores.protocol import Schema
from kinsplit.stores.schema import DENSE, check_collection, check_schema, parse_schema, schema_to_create

Connection = psycopg.Connection[Any]
T = TypeVar("T")

# Index scans continue until enough chunks match the filter. Times without a zone are in UTC.
_SETTINGS = """
SELECT set_config('hnsw.iterative_scan', 'strict_order', false), set_config('hnsw.ef_search', '200', false),
    set_config('TimeZone', 'UTC', false), set_config('hnsw.max_scan_tuples', '2147483647', false),
    set_config('hnsw.scan_mem_multiplier', '1000', false)
"""


class Session:
    """A connection with kinsplit's settings, reopened if the server ended it.

    Args:
        dsn: Connection string of a database with the extension "vector".
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._lock = threading.Lock()
        self.connection = _connect(dsn)

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


#: Largest number of dimensions of pgvector's HNSW index.
_MOST_DIMENSIONS = 2000
#: Key of kinsplit's advisory locks, used with a collection's number, or with 0 to create a collection.
LOCK = 0x6B696E73

_COLLECTIONS = """
CREATE TABLE IF NOT EXISTS kinsplit.collections (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, schema jsonb NOT NULL)
"""

# The columns are generated from the payload, so that they can't contradict it.
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
    """An open collection.

    Attributes:
        name: Name for errors, without user and password.
        number: Number of the collection in `kinsplit.collections`.
        schema: Schema of the collection.
        tables: Tables of the collection.
        reader: Session for single statements.
        writer: Session for transactions, so that readers need not wait for them.
    """

    name: str
    number: int
    schema: Schema
    tables: Tables
    reader: Session
    writer: Session


def open_tables(dsn: str, collection: str, schema: Schema | None) -> Opened:
    """Connect and open a collection, creating it if it does not exist.

    Raises:
        StoreError: An error or one of its subclasses; see `kinsplit.stores.open_store`.
    """
    check_collection(collection)
    place = place_of(dsn)
    name = f"{place}/{collection}"
    with postgres_errors(name), ExitStack() as stack:
        with closing(psycopg.connect(dsn, autocommit=True)) as connection:
            found = _find(connection, collection)
            if found is None:
                _create(connection, collection, schema_to_create(place, collection, schema, names_in(connection)))
                found = _find(connection, collection)
        if found is None:
            raise StoreError(f"{name}: was deleted while it was opened. Open it again.")
        number, stored = found
        check_schema(name, made := parse_schema(name, stored), schema)
        reader = stack.enter_context(closing(Session(dsn)))
        writer = Session(dsn)
        stack.pop_all()
    return Opened(name, number, made, tables_of(number), reader, writer)


@contextmanager
def postgres_errors(name: str) -> Iterator[None]:
    """Turn the driver's errors into one-line errors."""
    try:
        yield
    except KinsplitError:
        raise
    except psycopg.errors.UndefinedTable as error:
        raise CollectionNotFoundError(f"{name} was dropped. Open the collection that has its name now.") from error
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        raise StoreError(f"{name}: {reason or type(error).__name__}") from error


def place_of(dsn: str) -> str:
    """Return the name of a database for errors, without user and password.

    Raises:
        StoreError: The address is no connection string.
    """
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        # Without the driver's message, which may contain the password.
        raise StoreError(
            "pgvector: the address is no connection string. Write for example 'pgvector:postgresql://localhost/mydata'."
        ) from None
    return f"pgvector:{parts.get('host') or 'localhost'}/{parts.get('dbname') or ''}"


def tables_of(number: int) -> Tables:
    """Return the tables of a collection by its number."""
    return Tables(sql.Identifier("kinsplit", f"chunks_{number}"), sql.Identifier("kinsplit", f"terms_{number}"))


def names_in(connection: Connection) -> list[str]:
    """Return the names of all collections."""
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
    """Create all tables in one transaction, unless another process creates them first."""
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
        tables = tables_of(row[0])
        columns = [
            sql.SQL(_DENSE).format(name=sql.Identifier(name), dimension=sql.Literal(schema.dimension)) for name in DENSE
        ]
        connection.execute(
            sql.SQL(_CHUNKS).format(chunks=tables.chunks, terms=tables.terms, dense=sql.SQL(",\n").join(columns))
        )
        for name in DENSE if schema.dimension <= _MOST_DIMENSIONS else ():
            connection.execute(sql.SQL(_HNSW).format(chunks=tables.chunks, name=sql.Identifier(name)))
