"""Store in Postgres with pgvector, and the conversion of payloads and vectors to its rows, and back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from psycopg import Cursor, sql
from psycopg.types.json import Jsonb

from kinsplit.embedding.protocol import SparseVector
from kinsplit.errors import StoreError, require
from kinsplit.stores.engines.postgres.options import PostgresOptions
from kinsplit.stores.engines.postgres.query import field_of, picked, to_statement, type_of
from kinsplit.stores.engines.postgres.session import Connection, begin, postgres_errors
from kinsplit.stores.engines.postgres.tables import LOCK, open_tables
from kinsplit.stores.engines.postgres.where import Statement, Tables, decode_text, dump, encode_text, to_where
from kinsplit.stores.filters import Condition, HasId, to_conditions
from kinsplit.stores.payload import Payload, Points
from kinsplit.stores.plan import Plan, check_source, content_of
from kinsplit.stores.store import ChunkStore, FoundPoint, batches
from kinsplit.stores.values import DENSE, Embedded, Query, Schema, Vectors, Where, layer_of

try:
    from pgvector import HalfVector, Vector
except ImportError:  # Before 0.4, which langchain-postgres requires.
    from pgvector.psycopg import HalfVector, Vector  # type: ignore[attr-defined, no-redef]

#: Columns of the dense vectors; a chunk fills that of its layer.
COLUMNS = sql.SQL(", ").join(map(sql.Identifier, DENSE))

_KEYS = "SELECT nextval(pg_get_serial_sequence(%s, 'key')) FROM generate_series(1, %s)"
_CHUNKS = "COPY {chunks} (key, id, payload, has_terms, {part}{dense}) FROM STDIN (FORMAT BINARY)"
_TERMS = "COPY {terms} (chunk, field, term, weight) FROM STDIN (FORMAT BINARY)"
_MOVE = "UPDATE {} SET payload = %s, part = %s WHERE id = %s"
# The array makes Postgres look the terms up by their index, whatever it knows of the tables.
_DELETE = """
WITH gone AS (DELETE FROM {chunks} WHERE {where} RETURNING key, level, has_terms),
    lost AS (DELETE FROM {terms} WHERE chunk = ANY(ARRAY(SELECT key FROM gone)) RETURNING field, term),
    fewer AS (UPDATE {sizes} AS size SET chunks = size.chunks - lost.chunks
        FROM (SELECT level, count(*) AS chunks FROM gone WHERE has_terms GROUP BY level) AS lost
        WHERE size.level = lost.level),
    rarer AS (UPDATE {counts} AS count SET chunks = count.chunks - less.chunks
        FROM (SELECT field, term, count(*) AS chunks FROM lost GROUP BY field, term) AS less
        WHERE count.field = less.field AND count.term = less.term)
SELECT count(*) FROM gone WHERE level = 0
"""
_MORE = """
INSERT INTO {sizes} AS size SELECT * FROM unnest(%s::int[], %s::bigint[])
ON CONFLICT (level) DO UPDATE SET chunks = size.chunks + excluded.chunks
"""
_COUNT = """
INSERT INTO {counts} AS count SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[])
ON CONFLICT (field, term) DO UPDATE SET chunks = count.chunks + excluded.chunks
"""

#: Points per statement.
_BATCH = 500
#: The columns that `_vectors_of` takes, of points by id.
_VECTORS = (
    "coalesce({dense}), terms, weights FROM {chunks}, LATERAL (SELECT array_agg(term ORDER BY term) AS terms,"
    " array_agg(weight ORDER BY term) AS weights FROM {terms} WHERE chunk = key) AS sparse WHERE id = ANY(%s::uuid[])"
)


class PostgresStore(ChunkStore):
    """A collection in a Postgres database, with an index for up to 2,000 dimensions, or 4,000 of 16 bits.

    A sync is one transaction. An advisory lock makes the writers of a collection, in all processes, take turns; readers
    never wait for them. Sessions that the server ended are reopened; an interrupted sync raises an error and changes
    nothing. Terms are ranked by BM25, with the IDF of the current chunks; Edge also counts recently deleted ones. A
    search without a filter reads up to 50,000 chunks of its terms, and up to 5,000 of each in any case: those in which
    they weigh most. Postgres chooses between comparing all vectors, which is exact, and the index, which finds nearly
    all of the nearest ones and none of length 0; elsewhere these rank last. A filter is evaluated once for all rankings
    of a search by meaning and terms, and the vectors of all matching chunks are compared.

    Payloads are stored in a jsonb column, with the keys that Qdrant has. NUL, which Postgres can't store, is escaped
    (see `kinsplit.stores.engines.postgres.where`) and restored.

    Args:
        dsn: Connection string or URL for libpq, which takes missing parts from its environment variables and password
            file. The role needs permission to create the schema "kinsplit" and, if missing, the extension "vector".
        options: Options of the collection and its searches.
        collection, schema: See `open_store`, which also names the errors.
    """

    def __init__(self, dsn: str, options: PostgresOptions, collection: str, schema: Schema | None = None) -> None:
        opened = open_tables(dsn, options, collection, schema)
        super().__init__(opened.schema)
        self._name, self._number, self._tables = opened.name, opened.number, opened.tables
        self._indexes, self._made = opened.indexes, opened.indexes.made
        self._reader, self._writer = opened.reader, opened.writer
        self._candidates = options.hnsw_ef if self._made.dense_index == "hnsw" else 1
        self._closed = False
        self._writing = threading.RLock()

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source in one statement and return the number of its leaves."""
        check_source(source_id)
        of_source = self._where(to_conditions(None, {"source_id": source_id}))
        with self._exclusively():
            return delete(self._writer.connection, self._tables, of_source)

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        chosen = self._where(to_conditions(level, where))
        rows = self._read("SELECT count(*) FROM {chunks} WHERE {where}", chosen.values, where=chosen.text)
        return int(rows[0][0])

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        chosen = self._where(to_conditions(level, where))
        query = "SELECT source_id, count(*) FROM {chunks} WHERE {where} GROUP BY source_id"
        rows = self._read(query, chosen.values, where=chosen.text)
        return dict(sorted((decode_text(source_id), count) for source_id, count in rows))

    @contextmanager
    def first_load(self) -> Iterator[None]:
        """Postpone most indexes while an empty collection is filled; see `ChunkStore.first_load`."""
        with self._indexes.postponed():
            yield
        # A new session takes its settings from the new indexes.
        self._reader.close()

    def close(self) -> None:
        """Close the connections. A second call does nothing."""
        with self._writing:
            self._closed = True
            self._reader.close()
            self._writer.close()

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Exclude other writers by a transaction with the collection's lock."""
        with (
            self._writing,
            self._usable(),
            self._writer.run(lambda connection: begin(connection, self._name, (LOCK, self._number))),
        ):
            yield

    @contextmanager
    def _usable(self) -> Iterator[None]:
        if self._closed:
            raise StoreError(f"{self._name} was closed. Open the store again.")
        with postgres_errors(self._name):
            yield

    def _read(self, statement: str, values: Sequence[Any] = (), **parts: sql.Composable) -> list[tuple[Any, ...]]:
        text = sql.SQL(statement).format(chunks=self._tables.chunks, terms=self._tables.terms, **parts)
        with self._usable():
            return self._reader.run(lambda connection: connection.execute(text, values).fetchall())

    def _where(self, conditions: Sequence[Condition]) -> Statement:
        return to_where(self._tables, conditions)

    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        where = self._where(conditions)
        payload = sql.SQL("payload") if keys is None else picked(keys)
        query = "SELECT id, {payload} FROM {chunks} WHERE {where}"
        rows = self._read(query, where.values, payload=payload, where=where.text)
        return {str(id_): payload for id_, payload in rows}

    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        rows = self._read(f"SELECT id, {_VECTORS}", [list(ids)], dense=COLUMNS)
        return {str(id_): _vectors_of(*vectors) for id_, *vectors in rows}

    def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        rows = self._read(f"SELECT id, payload, {_VECTORS}", [list(ids)], dense=COLUMNS)
        return {str(id_): (payload, _vectors_of(*vectors)) for id_, payload, *vectors in rows}

    def _write(self, plan: Plan, vectors: Embedded) -> None:
        with self._writer.connection.cursor() as cursor:
            for batch in batches(plan.upserts, _BATCH):
                upsert(cursor, self._tables, self._made, batch, vectors)
            if plan.payloads:
                update(cursor, self._tables, self._made, plan.payloads)
            if plan.deletes:
                delete(cursor, self._tables, self._where([HasId(tuple(plan.deletes))]))

    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        rankings: list[list[FoundPoint]] = [[] for _ in queries]
        text, values = to_statement(self._tables, self._made, queries, keys, self._candidates)
        with self._usable():
            rows = self._reader.run(lambda connection: connection.execute(text, values).fetchall())
        for number, id_, payload, distance in rows:
            score = -distance if queries[number].using == "bm25" else 1 - distance
            # Postgres returns NaN as the cosine with a vector of length 0.
            rankings[number].append(FoundPoint(str(id_), payload, 0.0 if score != score else score))
        return rankings

    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        rows = self._read("SELECT id, payload FROM {chunks} WHERE id = ANY(%s::uuid[])", [list(ids)])
        return {str(id_): payload for id_, payload in rows}


def upsert(cursor: Cursor[Any], tables: Tables, made: PostgresOptions, points: Points, vectors: Embedded) -> None:
    """Insert or replace points, or raise InvalidParameterError if the key of the partitions is no string in one."""
    delete(cursor, tables, Statement(sql.SQL("id = ANY(%s::uuid[])"), ([id_ for id_, _ in points],)))
    keys = cursor.execute(_KEYS, [tables.chunks.as_string(cursor), len(points)]).fetchall()
    rows, terms = [], []
    for (key,), (id_, payload) in zip(keys, points, strict=True):
        given = vectors[content_of(payload)]
        sparse = given.sparse or SparseVector((), ())
        own = layer_of(payload["level"]).dense
        dense = [_stored(given.dense, made) if name == own else None for name in DENSE]
        part = () if made.partition_by is None else (_part(payload, made.partition_by),)
        rows.append((key, UUID(id_), Jsonb(payload, dumps=dump), bool(sparse.indices), *part, *dense))
        field = field_of(payload["level"])
        terms += [(key, field, *pair) for pair in zip(sparse.indices, sparse.values, strict=True)]
    column = sql.SQL("" if made.partition_by is None else "part, ")
    text = sql.SQL(_CHUNKS).format(chunks=tables.chunks, part=column, dense=COLUMNS)
    types = ["int8", "uuid", "jsonb", "bool", *([] if made.partition_by is None else ["text"])]
    _copy(cursor, text, [*types, *[type_of(made)] * len(DENSE)], rows)
    _copy(cursor, sql.SQL(_TERMS).format(terms=tables.terms), ["int8", "int2", "int8", "float4"], terms)
    sizes = Counter(payload["level"] for (_, payload), row in zip(points, rows, strict=True) if row[3])
    cursor.execute(sql.SQL(_MORE).format(sizes=tables.sizes), [list(sizes), list(sizes.values())])
    counts = sorted(Counter((field, term) for _, field, term, _ in terms).items())
    columns = [field for (field, _), _ in counts], [term for (_, term), _ in counts], [count for _, count in counts]
    cursor.execute(sql.SQL(_COUNT).format(counts=tables.counts), columns)


def update(cursor: Cursor[Any], tables: Tables, made: PostgresOptions, points: Points) -> None:
    """Replace the payloads of stored points, with the errors of `upsert`."""
    key = made.partition_by
    text = "UPDATE {} SET payload = %s WHERE id = %s" if key is None else _MOVE
    parts = [() if key is None else (_part(payload, key),) for _, payload in points]
    rows = [(Jsonb(payload, dumps=dump), *part, id_) for (id_, payload), part in zip(points, parts, strict=True)]
    cursor.executemany(sql.SQL(text).format(tables.chunks), rows)


def delete(cursor: Cursor[Any] | Connection, tables: Tables, where: Statement) -> int:
    """Delete points with their terms and return the number of leaves."""
    text = sql.SQL(_DELETE).format(where=where.text, **tables.names)
    (leaves,) = cursor.execute(text, where.values).fetchone() or (0,)
    return int(leaves)


def _copy(cursor: Cursor[Any], text: sql.Composed, types: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    with cursor.copy(text) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def _stored(vector: Any, made: PostgresOptions) -> Any:
    if vector is None:
        return None
    return HalfVector(vector) if made.halfvec else Vector(vector)


def _part(payload: Payload, key: str) -> str:
    """Return the value by which a point is assigned to a partition."""
    value = payload.get(key)
    if value is None:
        return ""
    rule = "must be a string, since the collection is partitioned by it"
    require(isinstance(value, str), f"metadata {key!r}", rule, value, "Change it, or partition by another key.")
    return encode_text(value)


def _vectors_of(dense: Any, terms: Sequence[int] | None, weights: Sequence[float] | None) -> Vectors:
    """Return the vectors of a row, from pgvector's dense vector or None, and terms and weights, or None without any."""
    # An array already in pgvector before 0.4.
    return Vectors.of(dense.to_numpy() if hasattr(dense, "to_numpy") else dense, terms, weights)
