"""Conversion of payloads and vectors to rows of a Postgres collection, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from psycopg import Cursor, sql
from psycopg.types.json import Jsonb

from kinsplit.chunk import Content
from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.engines.postgres.query import Tables, dump, field_of
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import content_of
from kinsplit.stores.protocol import Vectors
from kinsplit.stores.schema import DENSE, layer_of

#: Columns of the dense vectors; a chunk fills that of its layer.
COLUMNS = sql.SQL(", ").join(map(sql.Identifier, DENSE))

# References to these columns in an upsert.
_EXCLUDED = sql.SQL(", ").join(sql.Identifier("excluded", name) for name in DENSE)
_VALUES = sql.SQL(", ").join([sql.Placeholder()] * (3 + len(DENSE)))

_UPSERT = """
INSERT INTO {chunks} (id, payload, has_terms, {dense}) VALUES ({values}) ON CONFLICT (id) DO UPDATE
SET (payload, has_terms, {dense}) = (excluded.payload, excluded.has_terms, {excluded})
"""
_OLD_TERMS = "DELETE FROM {terms} USING {chunks} WHERE chunk = key AND id = ANY(%s::uuid[])"
_NEW_TERMS = """
INSERT INTO {terms} SELECT key, field, term, weight FROM
unnest(%s::uuid[], %s::smallint[], %s::bigint[], %s::real[]) AS given(id, field, term, weight) JOIN {chunks} USING (id)
"""


def upsert(
    cursor: Cursor[Any], tables: Tables, points: Sequence[tuple[str, Payload]], vectors: Mapping[Content, Vectors]
) -> None:
    """Insert or replace points, with their vectors by content."""
    rows, terms = [], []
    for id_, payload in points:
        given = vectors[content_of(payload)]
        sparse = given.sparse or SparseVector((), ())
        dense = [given.dense if name == layer_of(payload["level"]).dense else None for name in DENSE]
        rows.append((id_, Jsonb(payload, dumps=dump), bool(sparse.indices), *dense))
        field = field_of(payload["level"])
        terms += [(id_, field, *pair) for pair in zip(sparse.indices, sparse.values, strict=True)]
    names = {"chunks": tables.chunks, "terms": tables.terms}
    cursor.executemany(
        sql.SQL(_UPSERT).format(chunks=tables.chunks, dense=COLUMNS, values=_VALUES, excluded=_EXCLUDED), rows
    )
    cursor.execute(sql.SQL(_OLD_TERMS).format(**names), [[id_ for id_, _ in points]])
    if terms:
        cursor.execute(sql.SQL(_NEW_TERMS).format(**names), [list(column) for column in zip(*terms, strict=True)])


def to_vectors(dense: Any, terms: Sequence[int | None], weights: Sequence[float]) -> Vectors:
    """Return the vectors of a row, from pgvector's dense vector or None, and terms, which are None if it has none."""
    return Vectors(
        None if dense is None else np.asarray(dense.to_numpy(), dtype=np.float32),
        None if terms[0] is None else SparseVector(tuple(term for term in terms if term is not None), tuple(weights)),
    )
