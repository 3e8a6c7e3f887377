"""Conversion of payloads and vectors to rows of a Postgres collection, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import HalfVector, Vector
from psycopg import Connection, Cursor, sql
from psycopg.types.json import Jsonb

from kinsplit.chunk import Content
from kinsplit.embedding.protocol import SparseVector
from kinsplit.errors import InvalidParameterError
from kinsplit.stores.engines.postgres.options import PostgresOptions
from kinsplit.stores.engines.postgres.query import field_of, type_of
from kinsplit.stores.engines.postgres.where import Statement, Tables, dump, encode_text
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import content_of
from kinsplit.stores.schema import DENSE, layer_of
from kinsplit.stores.values import Vectors

#: Columns of the dense vectors; a chunk fills that of its layer.
COLUMNS = sql.SQL(", ").join(map(sql.Identifier, DENSE))

_KEYS = "SELECT nextval(pg_get_serial_sequence(%s, 'key')) FROM generate_series(1, %s)"
_CHUNKS = "COPY {chunks} (key, id, payload, has_terms, {part}{dense}) FROM STDIN (FORMAT BINARY)"
_TERMS = "COPY {terms} (chunk, field, term, weight) FROM STDIN (FORMAT BINARY)"
_MOVE = "UPDATE {} SET payload = %s, part = %s WHERE id = %s"
# The array makes Postgres look the terms up by their index, whatever it knows of the tables.
_DELETE = """
WITH gone AS (DELETE FROM {chunks} WHERE {where} RETURNING key, level, has_terms),
    lost AS (DELETE FROM {terms} WHERE chunk = ANY(ARRAY(SELECT key FROM gone)) RETURNING field, term){fewer}
SELECT count(*) FROM gone WHERE level = 0
"""
_FEWER = """,
    fewer AS (UPDATE {sizes} AS size SET chunks = size.chunks - lost.chunks
        FROM (SELECT level, count(*) AS chunks FROM gone WHERE has_terms GROUP BY level) AS lost
        WHERE size.level = lost.level),
    rarer AS (UPDATE {counts} AS count SET chunks = count.chunks - less.chunks
        FROM (SELECT field, term, count(*) AS chunks FROM lost GROUP BY field, term) AS less
        WHERE count.field = less.field AND count.term = less.term)
"""
_MORE = """
INSERT INTO {sizes} AS size SELECT * FROM unnest(%s::int[], %s::bigint[])
ON CONFLICT (level) DO UPDATE SET chunks = size.chunks + excluded.chunks
"""
_COUNT = """
INSERT INTO {counts} AS count SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[])
ON CONFLICT (field, term) DO UPDATE SET chunks = count.chunks + excluded.chunks
"""


def upsert(
    cursor: Cursor[Any],
    tables: Tables,
    made: PostgresOptions,
    points: Sequence[tuple[str, Payload]],
    vectors: Mapping[Content, Vectors],
) -> None:
    """Insert or replace points.

    Args:
        cursor: Cursor in a transaction that excludes other writers.
        tables: Tables of the collection.
        made: Options that the collection was made with.
        points: Ids and payloads.
        vectors: Vectors by content.

    Raises:
        InvalidParameterError: The value by which the collection is partitioned is no string.
    """
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
    if tables.sizes is not None:
        sizes = Counter(payload["level"] for (_, payload), row in zip(points, rows, strict=True) if row[3])
        cursor.execute(sql.SQL(_MORE).format(sizes=tables.sizes), [list(sizes), list(sizes.values())])
        counts = sorted(Counter((field, term) for _, field, term, _ in terms).items())
        columns = [field for (field, _), _ in counts], [term for (_, term), _ in counts], [count for _, count in counts]
        cursor.execute(sql.SQL(_COUNT).format(counts=tables.counts), columns)


def update(cursor: Cursor[Any], tables: Tables, made: PostgresOptions, points: Sequence[tuple[str, Payload]]) -> None:
    """Replace the payloads of stored points.

    Args:
        cursor: Cursor in a transaction that excludes other writers.
        tables: Tables of the collection.
        made: Options that the collection was made with.
        points: Ids and payloads.

    Raises:
        InvalidParameterError: See `upsert`.
    """
    key = made.partition_by
    text = "UPDATE {} SET payload = %s WHERE id = %s" if key is None else _MOVE
    rows = [
        (Jsonb(payload, dumps=dump), *([] if key is None else [_part(payload, key)]), id_) for id_, payload in points
    ]
    cursor.executemany(sql.SQL(text).format(tables.chunks), rows)


def delete(cursor: Cursor[Any] | Connection[Any], tables: Tables, where: Statement) -> int:
    """Delete points with their terms and return the number of leaves."""
    fewer = sql.SQL("" if tables.sizes is None else _FEWER).format(sizes=tables.sizes, counts=tables.counts)
    text = sql.SQL(_DELETE).format(chunks=tables.chunks, terms=tables.terms, where=where.text, fewer=fewer)
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
    if not isinstance(value, str):
        rule = "must be a string, since the collection is partitioned by it"
        raise InvalidParameterError(f"metadata {key!r}", rule, value, "Change it, or partition by another key.")
    return encode_text(value)


def to_vectors(dense: Any, terms: Sequence[int] | None, weights: Sequence[float] | None) -> Vectors:
    """Return the vectors of a row, from pgvector's dense vector or None, and terms and weights, or None without any."""
    return Vectors(
        None if dense is None else np.asarray(dense.to_numpy(), dtype=np.float32),
        None if terms is None or weights is None else SparseVector(tuple(terms), tuple(weights)),
    )
