"""kinsplit's queries and filters as SQL, every value bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg import sql
from psycopg.types.json import Jsonb

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.conditions import Condition
from kinsplit.stores.layout import SPARSE, sparse_name
from kinsplit.stores.postgres_json import dump, encode_text
from kinsplit.stores.protocol import UUID, Query


class Tables(NamedTuple):
    """The names of a collection's tables."""

    chunks: sql.Identifier
    terms: sql.Identifier


class Statement(NamedTuple):
    """SQL and the values of its placeholders, in order."""

    text: sql.SQL | sql.Composed
    values: tuple[Any, ...] = ()


def field_of(level: int) -> int:
    """Return the number under which the terms of a level are kept: each has an IDF of its own."""
    return SPARSE.index(sparse_name(level))


def to_statement(
    tables: Tables, queries: Sequence[Query], level: int | None, conditions: Sequence[Condition]
) -> Statement:
    """Return the statement that answers all queries, as rows of query number, id, payload and distance."""
    parts = [
        _terms(tables, number, query.vector, query.limit, level or 0, conditions)
        if isinstance(query.vector, SparseVector)
        else _cosines(tables, number, query, _where(conditions))
        for number, query in enumerate(queries)
    ]
    text = sql.SQL("SELECT * FROM ({}) AS found ORDER BY number, distance").format(
        sql.SQL(" UNION ALL ").join(part.text for part in parts)
    )
    return Statement(text, tuple(value for part in parts for value in part.values))


def _cosines(tables: Tables, number: int, query: Query, where: Statement) -> Statement:
    text = sql.SQL(
        "(SELECT {number} AS number, id, payload, dense <=> %s AS distance FROM {chunks} WHERE {where}"
        " ORDER BY dense <=> %s LIMIT %s)"
    ).format(number=sql.Literal(number), chunks=tables.chunks, where=where.text)
    return Statement(text, (query.vector, *where.values, query.vector, query.limit))


def _terms(
    tables: Tables, number: int, vector: SparseVector, limit: int, level: int, conditions: Sequence[Condition]
) -> Statement:
    """BM25 over the term table; the IDF counts all chunks of the field, whatever the filter, as Qdrant's does.

    Computed before anything else by MATERIALIZED: else Postgres may compute it again for every chunk.
    """
    field = field_of(level)
    whole = field == level < len(SPARSE) - 1
    # Terms of a field that is one level are of that level, which is the last condition.
    others = conditions[:-1] if whole else conditions
    chosen = _where(others)
    text = sql.SQL(
        "(WITH asked AS (SELECT * FROM unnest(%s::bigint[], %s::float8[]) AS a(term, asked)),"
        " size AS MATERIALIZED (SELECT count(*)::float8 AS n FROM {chunks} WHERE {level} AND has_terms),"
        " rare AS MATERIALIZED (SELECT term, asked * ln((n - df + 0.5) / (df + 0.5) + 1) AS idf FROM asked, size,"
        "  LATERAL (SELECT count(*)::float8 AS df FROM {terms} AS t WHERE field = {field} AND t.term = asked.term)),"
        " best AS MATERIALIZED (SELECT chunk AS key, sum(weight * idf) AS score FROM rare JOIN {terms} USING (term)"
        "  WHERE field = {field}{among} GROUP BY chunk ORDER BY score DESC, chunk LIMIT %s)"
        " SELECT {number} AS number, id, payload, -score AS distance FROM best JOIN {chunks} USING (key))"
    ).format(
        number=sql.Literal(number),
        chunks=tables.chunks,
        terms=tables.terms,
        field=sql.Literal(field),
        level=sql.SQL("level = {}" if whole else "level >= {}").format(sql.Literal(field)),
        among=sql.SQL(" AND chunk IN (SELECT key FROM {} WHERE {})").format(tables.chunks, chosen.text)
        if others
        else sql.SQL(""),
    )
    return Statement(text, (list(vector.indices), list(vector.values), *chosen.values, limit))


def _where(conditions: Sequence[Condition]) -> Statement:
    parts = [_condition(condition) for condition in conditions]
    text = sql.SQL(" AND ").join([sql.SQL("true"), *(part.text for part in parts)])
    return Statement(text, tuple(value for part in parts for value in part.values))


def _condition(condition: Condition) -> Statement:
    """Return a condition on a column, or on the payload's index."""
    strings = [encode_text(value) for value in condition.strings]
    if condition.key in ("source_id", "content_hash"):
        return Statement(sql.SQL("{} = ANY(%s::text[])").format(sql.Identifier(condition.key)), (strings,))
    if condition.key in ("chunk_index", "level"):
        column = sql.Identifier(condition.key)
        return Statement(sql.SQL("{} = ANY(%s::bigint[])").format(column), (list(condition.integers),))
    if condition.key == "parent_id":
        return Statement(sql.SQL("parent_id = ANY(%s::uuid[])"), ([id_ for id_ in strings if UUID.fullmatch(id_)],))
    shapes = [
        Jsonb({condition.key: shape}, dumps=dump)
        for value in (*condition.strings, *condition.integers)
        for shape in (value, [value])
    ]
    if not shapes:
        return Statement(sql.SQL("false"))
    return Statement(sql.SQL("({})").format(sql.SQL(" OR ").join([sql.SQL("payload @> %s")] * len(shapes))), (*shapes,))
