"""Tables of a Postgres collection, and connections to them.

All tables are in the schema "kinsplit": `collections` holds the name and schema of each collection, `chunks_N` the
chunks of collection N, `terms_N` the term weights of their sparse vectors, `sizes_N` the number of chunks with terms
by level, and `counts_N` that of the chunks with a term.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

from psycopg import sql
from psycopg.types.json import Jsonb

from kinsplit.errors import ForeignCollectionError, StoreError
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.engines.postgres import session
from kinsplit.stores.engines.postgres.indexes import Indexes
from kinsplit.stores.engines.postgres.options import PostgresOptions
from kinsplit.stores.engines.postgres.query import type_of
from kinsplit.stores.engines.postgres.where import APART, Tables
from kinsplit.stores.schema import check_collection, check_schema, parse_schema, schema_to_create
from kinsplit.stores.values import DENSE, Schema

#: Key of kinsplit's advisory locks, used with a collection's number, or with 0 to create a collection.
LOCK = 0x6B696E73

_COLLECTIONS = """
CREATE TABLE kinsplit.collections (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, schema jsonb NOT NULL,
    options jsonb NOT NULL)
"""
# The columns of the table, if there is one.
_COLUMNS = """
SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
WHERE attrelid = to_regclass('kinsplit.collections') AND attnum > 0 AND NOT attisdropped
"""
_FIND = "SELECT id, schema, options FROM kinsplit.collections WHERE name = %s"

# The columns are generated from the payload, so that they can't contradict it. Filters and rankings read `facts`, which
# stays in its row and is not compressed, so that reading it takes an eighth of the time. The number of a partition
# can't be generated. The terms refer to the chunks without a foreign key, whose check would cost as much as all else.
# `Indexes` makes the indexes that are missing here.
_CHUNKS = """
CREATE TABLE {chunks} (
    key bigint NOT NULL,
    id uuid NOT NULL,
    source_id text NOT NULL GENERATED ALWAYS AS (payload ->> 'source_id') STORED,
    chunk_index int NOT NULL GENERATED ALWAYS AS ((payload -> 'chunk_index')::int) STORED,
    level int NOT NULL GENERATED ALWAYS AS ((payload -> 'level')::int) STORED,
    parent_id uuid GENERATED ALWAYS AS ((payload ->> 'parent_id')::uuid) STORED,
    content_hash text NOT NULL GENERATED ALWAYS AS (payload ->> 'content_hash') STORED,
    has_terms bool NOT NULL,
    payload jsonb NOT NULL,
    facts jsonb NOT NULL GENERATED ALWAYS AS (payload - {apart}::text[]) STORED,
{dense},
    PRIMARY KEY (key{part}), UNIQUE (id{part})){partitioned};
CREATE SEQUENCE {sequence} OWNED BY {chunks}.key;
CREATE INDEX ON {chunks} (source_id, level, chunk_index);
CREATE INDEX ON {chunks} (parent_id);
ALTER TABLE {chunks} ALTER COLUMN facts SET STORAGE MAIN;
CREATE TABLE {terms} (
    chunk bigint NOT NULL,
    term bigint NOT NULL,
    weight real NOT NULL,
    field smallint NOT NULL);
CREATE INDEX ON {terms} (chunk);
CREATE TABLE {sizes} (level int PRIMARY KEY, chunks bigint NOT NULL);
CREATE TABLE {counts} (field smallint, term bigint, chunks bigint NOT NULL, PRIMARY KEY (field, term))
    WITH (fillfactor = {filled})
"""
#: Percentage of a page that is filled at first, since a row is best updated in its own page.
_FILLED = 50
_DENSE = "    {name} {type}({dimension})"
# A comparison with a vector outside its row takes ten times as long, which Postgres doesn't expect when it plans.
_INLINE = "ALTER TABLE {chunks} ALTER COLUMN {name} SET STORAGE PLAIN"
#: Largest size of a vector in bytes that leaves room for the rest of its row in a page of 8 kB.
_MOST_INLINE = 6000
_PART = "    part text NOT NULL"
_PARTITION = "CREATE TABLE {name} PARTITION OF {chunks} FOR VALUES WITH (MODULUS {count}, REMAINDER {number}){storage}"
# In a row above this size, payloads are compressed first, then they move out of it, and at last facts are compressed.
_STORAGE = " WITH (toast_tuple_target = {size})"
#: Bytes of a row besides its vector up to which facts are not compressed, and the largest size that Postgres takes.
_FACTS, _MOST = 1536, 8160


class OpenedTables(NamedTuple):
    """An open collection, with its name for errors, and a session for transactions, for which readers need not wait."""

    name: str
    number: int
    schema: Schema
    tables: Tables
    indexes: Indexes
    reader: session.Session
    writer: session.Session


def open_tables(dsn: str, options: PostgresOptions, collection: str, schema: Schema | None) -> OpenedTables:
    """Connect and open a collection, or create it, with the errors of `open_store`."""
    check_collection(collection)
    place = session.place_of(dsn)
    name = f"{place}/{collection}"
    with session.postgres_errors(name), ExitStack() as stack:
        with closing(session.connect(dsn)) as connection:
            session.check_versions(place, connection)
            found = _find(place, connection, collection)
            if found is None:
                new = schema_to_create(place, collection, schema, names_in(place, connection))
                _create(connection, place, collection, new, options)
                found = _find(place, connection, collection)
            if found is None:
                raise StoreError(f"{name}: was deleted while it was opened. Open it again.")
            number, stored, given = found
            check_schema(name, known := parse_schema(name, stored), schema)
            made = PostgresOptions.model_validate(given)
            options.check_made(name, made.of_new())
            tables = tables_of(number)._replace(partition_by=made.partition_by)
            indexes = Indexes(name, number, tables, known.dimension, made, options, partial(session.connect, dsn))
            indexes.complete(connection)
        reader = stack.enter_context(closing(session.Session(dsn, options, number)))
        writer = session.Session(dsn, options, number)
        stack.pop_all()
    return OpenedTables(name, number, known, indexes.tables, indexes, reader, writer)


def tables_of(number: int) -> Tables:
    """Return the tables of a collection by its number."""
    kinds = ("chunks", "terms", "sizes", "counts")
    chunks, terms, sizes, counts = (sql.Identifier("kinsplit", f"{kind}_{number}") for kind in kinds)
    return Tables(chunks, terms, sizes, counts)


def names_in(place: str, connection: session.Connection) -> dict[str, int]:
    """Return the numbers of all collections by name, with the errors of `is_set_up`."""
    if not is_set_up(place, connection):
        return {}
    return dict(connection.execute("SELECT name, id FROM kinsplit.collections"))


def is_set_up(place: str, connection: session.Connection) -> bool:
    """Return whether there is a table of collections, or raise ForeignCollectionError if it is not kinsplit's."""
    (columns,) = connection.execute(_COLUMNS).fetchone() or (None,)
    if columns not in (None, ["id", "name", "schema", "options"]):
        raise ForeignCollectionError(f"{place}: the table kinsplit.collections")
    return columns is not None


def _find(place: str, connection: session.Connection, collection: str) -> tuple[int, object, dict[str, Any]] | None:
    return connection.execute(_FIND, [collection]).fetchone() if is_set_up(place, connection) else None


def _create(
    connection: session.Connection, place: str, collection: str, schema: Schema, options: PostgresOptions
) -> None:
    """Create all tables in one transaction, unless another process creates them first."""
    with session.begin(connection, f"{place}: the creation of a collection", (LOCK, 0)):
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE SCHEMA IF NOT EXISTS kinsplit")
        if not is_set_up(place, connection):
            connection.execute(_COLLECTIONS)
        given = {name: value for name, value in options.of_new().items() if name in options.model_fields_set}
        row = connection.execute(
            "INSERT INTO kinsplit.collections (name, schema, options) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
            " RETURNING id",
            [collection, Jsonb(asdict(schema)), Jsonb(given)],
        ).fetchone()
        if row is not None:
            _create_tables(connection, row[0], schema, options)


def _create_tables(connection: session.Connection, number: int, schema: Schema, options: PostgresOptions) -> None:
    tables = tables_of(number)
    kind, column = sql.Identifier(type_of(options)), sql.SQL(_DENSE)
    columns = [column.format(name=sql.Identifier(name), type=kind, dimension=schema.dimension) for name in DENSE]
    is_partitioned = options.partition_by is not None
    vector = schema.dimension * (2 if options.halfvec else 4)
    is_inline = vector <= _MOST_INLINE
    size = min(_MOST, (vector if is_inline else 0) + _FACTS)
    storage = sql.SQL(_STORAGE).format(size=size)
    connection.execute(
        sql.SQL(_CHUNKS).format(
            chunks=tables.chunks,
            terms=tables.terms,
            sizes=tables.sizes,
            counts=tables.counts,
            filled=_FILLED,
            apart="{" + ",".join(APART) + "}",
            sequence=sql.Identifier("kinsplit", f"chunks_{number}_key_seq"),
            dense=sql.SQL(",\n").join([*columns, *[sql.SQL(_PART)] * is_partitioned]),
            part=sql.SQL(", part" if is_partitioned else ""),
            partitioned=sql.SQL(" PARTITION BY HASH (part)") if is_partitioned else storage,
        )
    )
    for name in DENSE if is_inline else ():
        connection.execute(sql.SQL(_INLINE).format(chunks=tables.chunks, name=sql.Identifier(name)))
    for part in range(options.partitions if is_partitioned else 0):
        connection.execute(
            sql.SQL(_PARTITION).format(
                name=sql.Identifier("kinsplit", f"chunks_{number}_part_{part}"),
                chunks=tables.chunks,
                count=options.partitions,
                number=part,
                storage=storage,
            )
        )


_COUNTS = "SELECT count(DISTINCT source_id), count(*) FROM {chunks} WHERE level = 0"
# Partitions count for themselves.
_SIZE = """
WITH named AS (SELECT unnest(%s::regclass[]) AS relid)
SELECT sum(pg_total_relation_size(relid)) FROM (
    SELECT relid FROM named UNION SELECT part.relid FROM named, pg_partition_tree(named.relid) AS part) AS every
"""
# The chunks go first, since readers lock them first.
_DROP = "DROP TABLE IF EXISTS {}"
_RENAME = "UPDATE kinsplit.collections SET name = %s WHERE id = %s"
# No collection can have this name.
_MOVING = "/"


class PostgresCatalog(Catalog):
    """The collections of a Postgres database, whose changes are transactions."""

    def __init__(self, dsn: str) -> None:
        self._place: str = session.place_of(dsn)
        with session.postgres_errors(self._place):
            self._connection: session.Connection = session.connect(dsn)

    def close(self) -> None:
        """Close the connection. A second call does nothing."""
        self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        if self._connection.closed:
            raise StoreError(f"{self._place} was closed. Open the catalog again.")
        with session.postgres_errors(self._place):
            yield

    @contextmanager
    def _dropping(self) -> Iterator[None]:
        with self._reading(), self._connection.transaction():
            yield

    @contextmanager
    def _naming(self) -> Iterator[None]:
        with self._dropping():
            if is_set_up(self._place, self._connection):
                self._connection.execute("LOCK TABLE kinsplit.collections IN SHARE ROW EXCLUSIVE MODE")
            yield

    def _names(self) -> Mapping[str, int]:
        return names_in(self._place, self._connection)

    def _stored(self, key: int) -> object:
        row = self._connection.execute("SELECT schema FROM kinsplit.collections WHERE id = %s", [key]).fetchone()
        return row and row[0]

    def _measure(self, name: str, key: int, schema: Schema | None) -> tuple[int | None, int | None, int | None]:  # noqa: ARG002
        tables, connection = tables_of(key), self._connection
        documents, leaves = connection.execute(sql.SQL(_COUNTS).format(chunks=tables.chunks)).fetchone() or (None, None)
        size = connection.execute(_SIZE, [[table.as_string(connection) for table in tables[:4]]]).fetchone()
        return documents, leaves, None if size is None else int(size[0])

    def _drop(self, name: str, key: int) -> None:
        # Once its writers and the running statements of its readers are done.
        with session.begin(self._connection, f"{self._place}/{name}", (LOCK, key)):
            self._connection.execute(sql.SQL(_DROP).format(sql.SQL(", ").join(tables_of(key)[:4])))
            self._connection.execute("DELETE FROM kinsplit.collections WHERE id = %s", [key])

    def _rename(self, name: str, key: int, new: str) -> None:  # noqa: ARG002
        self._connection.execute(_RENAME, [new, key])

    def _switch(self, keys: dict[str, int]) -> None:
        (one, first), (other, second) = keys.items()
        for new, key in ((_MOVING, first), (one, second), (other, first)):
            self._connection.execute(_RENAME, [new, key])
