"""Conversion of queries and filters to SQL, with every value as a bound parameter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg import sql
from psycopg.types.json import Jsonb

from kinsplit.embedding.protocol import SparseVector, replace_surrogates
from kinsplit.stores.engines.postgres.options import PostgresOptions
from kinsplit.stores.filters import (
    Condition,
    Either,
    HasId,
    Not,
    OneOf,
    Path,
    Range,
    TimeRange,
    paths_of,
    to_conditions,
)
from kinsplit.stores.protocol import UUID, Query
from kinsplit.stores.schema import LAYERS, layer_of

_LARGE = 1e16


def encode_text(text: str) -> str:
    """Escape NUL in a text, and replace lone surrogates, which no store keeps."""
    return replace_surrogates(text).replace("\x1a", "\x1a1").replace("\0", "\x1a0")


def decode_text(text: str) -> str:
    """Undo the escapes of `encode_text`."""
    return text.replace("\x1a0", "\0").replace("\x1a1", "\x1a")


def dump(value: Any) -> str:
    """Return a JSON value as text for jsonb."""
    return json.dumps(_encode(value))


def load(data: str | bytes) -> Any:
    """Return the value of jsonb text."""
    value = json.loads(data)
    escaped = b"\\u001a" in data if isinstance(data, bytes) else "\\u001a" in data
    return _decode(value) if escaped else value


def _encode(value: Any) -> Any:
    if isinstance(value, str):
        return encode_text(value)
    if isinstance(value, float) and abs(value) >= _LARGE:
        return f"\x1af{value!r}"
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {encode_text(key): _encode(item) for key, item in value.items()}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, str):
        return float(value[2:]) if value.startswith("\x1af") else decode_text(value)
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, dict):
        return {decode_text(key): _decode(item) for key, item in value.items()}
    return value


_COMPARE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class Tables(NamedTuple):
    """Names of a collection's tables."""

    chunks: sql.Identifier
    terms: sql.Identifier


class Statement(NamedTuple):
    """An SQL statement and the values of its placeholders, in order."""

    text: sql.SQL | sql.Composed
    values: tuple[Any, ...] = ()


def field_of(level: int) -> int:
    """Return the number of a level's terms in the term table: each layer has a separate IDF."""
    return LAYERS.index(layer_of(level))


def to_statement(
    tables: Tables, made: PostgresOptions, queries: Sequence[Query], keys: Sequence[str] | None
) -> Statement:
    """Return a statement for all queries, whose rows are query number, id, payload and distance.

    Args:
        tables: Tables of the collection.
        made: Options that the collection was made with.
        queries: The queries.
        keys: Payload keys to return; None for the whole payload.
    """
    payload = sql.SQL("payload") if keys is None else _picked(keys)
    parts = [
        _terms(tables, made, number, query, query.vector, payload)
        if isinstance(query.vector, SparseVector)
        else _cosines(tables, made, number, query, payload)
        for number, query in enumerate(queries)
    ]
    text = sql.SQL("SELECT * FROM ({}) AS found ORDER BY number, distance").format(
        sql.SQL(" UNION ALL ").join(part.text for part in parts)
    )
    return Statement(text, tuple(value for part in parts for value in part.values))


def _picked(keys: Sequence[str]) -> sql.Composed:
    pairs = (sql.SQL("{key}, payload -> {key}").format(key=sql.Literal(key)) for key in keys)
    return sql.SQL("jsonb_build_object({}) AS payload").format(sql.SQL(", ").join(pairs))


def _cosines(tables: Tables, made: PostgresOptions, number: int, query: Query, payload: sql.Composable) -> Statement:
    where = to_where(to_conditions(query.level, query.where), made.partition_by)
    text = sql.SQL(
        "(SELECT {number} AS number, id, {payload}, {dense} <=> %s::{type} AS distance FROM {chunks} WHERE {where}"
        " ORDER BY {dense} <=> %s::{type} LIMIT %s)"
    ).format(
        number=sql.Literal(number),
        type=sql.Identifier(type_of(made)),
        payload=payload,
        chunks=tables.chunks,
        dense=sql.Identifier(layer_of(query.level).dense or ""),
        where=where.text,
    )
    return Statement(text, (query.vector, *where.values, query.vector, query.limit))


def _terms(
    tables: Tables, made: PostgresOptions, number: int, query: Query, vector: SparseVector, payload: sql.Composable
) -> Statement:
    """Return a BM25 ranking over the term table; as in Qdrant, the IDF counts all chunks of the field, filtered or not.

    MATERIALIZED computes the IDF once; otherwise Postgres may compute it for every chunk.
    """
    levels = layer_of(query.level).levels
    # A field of a single level needs no filter by level.
    others = to_conditions(query.level if len(levels) > 1 else None, query.where)
    chosen = to_where(others, made.partition_by)
    text = sql.SQL(
        "(WITH asked AS (SELECT * FROM unnest(%s::bigint[], %s::float8[]) AS a(term, asked)),"
        " size AS MATERIALIZED (SELECT count(*)::float8 AS n FROM {chunks}"
        "  WHERE level BETWEEN {first} AND {last} AND has_terms),"
        " rare AS MATERIALIZED (SELECT term, asked * ln((n - df + 0.5) / (df + 0.5) + 1) AS idf FROM asked, size,"
        "  LATERAL (SELECT count(*)::float8 AS df FROM {terms} AS t WHERE field = {field} AND t.term = asked.term)),"
        " best AS MATERIALIZED (SELECT chunk AS key, sum(weight * idf) AS score FROM rare JOIN {terms} USING (term)"
        "  WHERE field = {field}{among} GROUP BY chunk ORDER BY score DESC, chunk LIMIT %s)"
        " SELECT {number} AS number, id, {payload}, -score AS distance FROM best JOIN {chunks} USING (key))"
    ).format(
        number=sql.Literal(number),
        payload=payload,
        chunks=tables.chunks,
        terms=tables.terms,
        field=sql.Literal(field_of(query.level)),
        first=sql.Literal(levels[0]),
        last=sql.Literal(levels[-1]),
        among=sql.SQL(" AND chunk IN (SELECT key FROM {} WHERE {})").format(tables.chunks, chosen.text)
        if others
        else sql.SQL(""),
    )
    return Statement(text, (list(vector.indices), list(vector.values), *chosen.values, query.limit))


def type_of(made: PostgresOptions) -> str:
    """Return pgvector's type of the dense vectors."""
    return "halfvec" if made.halfvec else "vector"


def to_where(conditions: Sequence[Condition], partition_by: str | None = None) -> Statement:
    """Return an SQL expression that is true if all conditions are met.

    Args:
        conditions: The conditions.
        partition_by: Key by which the table is partitioned, if it is; a filter by it names the partitions to read.
    """
    parts = [_condition(condition, partition_by) for condition in conditions]
    text = sql.SQL(" AND ").join([sql.SQL("true"), *(part.text for part in parts)])
    return Statement(text, tuple(value for part in parts for value in part.values))


def _condition(condition: Condition, partition_by: str | None) -> Statement:
    if isinstance(condition, Not):
        # An unknown result, as for a null column, counts as not met.
        text, values = to_where(condition.conditions, partition_by)
        return Statement(sql.SQL("({}) IS NOT TRUE").format(text), values)
    if isinstance(condition, Either):
        groups = [to_where(group, partition_by) for group in condition.groups]
        text = sql.SQL("(({}))").format(sql.SQL(") OR (").join(group.text for group in groups))
        return Statement(text, tuple(value for group in groups for value in group.values))
    if isinstance(condition, Range):
        within = " && ".join(['@.type() == "number"', *(f"@ {_COMPARE[name]} ${name}" for name in condition.bounds)])
        return _any_member(condition.key, f"({within}){_beyond(condition)}", Jsonb(dict(condition.bounds)))
    if isinstance(condition, TimeRange):
        within = " && ".join(f"@.datetime() {_COMPARE[name]} ${name}.datetime()" for name in condition.bounds)
        bounds = {name: time.isoformat() for name, time in condition.bounds.items()}
        return _any_member(condition.key, f'@.type() == "string" && {within}', Jsonb(bounds))
    if isinstance(condition, HasId):
        return Statement(sql.SQL("id = ANY(%s::uuid[])"), (list(condition.ids),))
    found = _one_of(condition)
    if condition.key != partition_by or condition != OneOf(condition.key, strings=condition.strings):
        return found
    # Every value of the key is a string, so these partitions hold all that match.
    text = sql.SQL("(part = ANY(%s::text[]) AND {})").format(found.text)
    return Statement(text, ([encode_text(value) for value in condition.strings], *found.values))


def _beyond(condition: Range) -> str:
    """Return the test for large numbers, which `dump` stores as text."""
    if condition.bounds.keys() <= {"gt", "gte"}:
        return r' || (@ starts with "\u001af" && !(@ starts with "\u001af-"))'
    return r' || @ starts with "\u001af-"' if condition.bounds.keys() <= {"lt", "lte"} else ""


def _any_member(key: str, test: str, values: Jsonb) -> Statement:
    """Return an SQL expression that is true if a value of a key, or a member of its list, passes a test."""
    # Members of nested lists don't count; a lax asterisk would unwrap those lists too.
    return _exists(key, f"({test}) || exists(@[*] ? ({test}))", values)


def _exists(key: str, test: str, values: Jsonb) -> Statement:
    """Return an SQL expression that is true if a value of a key passes a test."""
    exists = sql.SQL("jsonb_path_exists_tz(payload, %s::jsonpath, %s, true)")
    paths = [_jsonpath(path, test) for path in paths_of(key)]
    text = sql.SQL("({})").format(sql.SQL(" OR ").join([exists] * len(paths)))
    return Statement(text, tuple(value for path in paths for value in (path, values)))


def _jsonpath(path: Path, test: str) -> str:
    """Return the jsonpath of the values that pass a test; its steps are nested, so that a missing key is no error."""
    for step in reversed(path):
        accessor = "[*]" if step is None else f".{json.dumps(encode_text(step))}"
        test = f"exists(@{accessor} ? ({test}))"
    # Strict, since in lax mode every step unwraps lists.
    return f"strict $ ? ({test})"


def _one_of(condition: OneOf) -> Statement:
    """Return a condition on a column or on the indexed payload."""
    parts = [_equal(condition)]
    if condition.empty:
        something = '@.type() != "null" && (@.type() != "array" || @.size() > 0)'
        text, values = _exists(condition.key, something, Jsonb({}))
        parts.append(Statement(sql.SQL("NOT {}").format(text), values))
    text = sql.SQL("({})").format(sql.SQL(" OR ").join(part.text for part in parts))
    return Statement(text, tuple(value for part in parts for value in part.values))


def _equal(condition: OneOf) -> Statement:
    strings = [encode_text(value) for value in condition.strings]
    if condition.key in ("source_id", "content_hash"):
        return Statement(sql.SQL("{} = ANY(%s::text[])").format(sql.Identifier(condition.key)), (strings,))
    if condition.key in ("chunk_index", "level"):
        column = sql.Identifier(condition.key)
        return Statement(sql.SQL("{} = ANY(%s::bigint[])").format(column), (list(condition.integers),))
    if condition.key == "parent_id":
        return Statement(sql.SQL("parent_id = ANY(%s::uuid[])"), ([id_ for id_ in strings if UUID.fullmatch(id_)],))
    shapes = [
        Jsonb(_nested(path, shape), dumps=dump)
        for path in paths_of(condition.key)
        for value in (*condition.strings, *condition.integers, *condition.floats, *condition.booleans)
        for shape in (value, [value])
    ]
    if not shapes:
        return Statement(sql.SQL("false"))
    return Statement(sql.SQL("({})").format(sql.SQL(" OR ").join([sql.SQL("payload @> %s")] * len(shapes))), (*shapes,))


def _nested(path: Path, value: Any) -> Any:
    """Wrap a value in the mappings and lists of a path."""
    for step in reversed(path):
        value = [value] if step is None else {step: value}
    return value
