"""Conversion of queries to one SQL statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from psycopg import sql

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.engines.postgres.options import MOST_CANDIDATES, PostgresOptions
from kinsplit.stores.engines.postgres.where import Statement, Tables, column_of, joined, to_where
from kinsplit.stores.filters import Condition, HasId, OneOf, to_conditions
from kinsplit.stores.values import LAYERS, Layer, Query, layer_of

_WEIGHTS = """
asked AS MATERIALIZED (SELECT * FROM unnest(%s::int[], %s::int[], %s::smallint[], %s::bigint[], %s::float8[])
    AS a(number, best, field, term, asked)),
size AS MATERIALIZED ({sizes}),
counted AS MATERIALIZED (SELECT field, term, coalesce(chunks, 0)::float8 AS df
    FROM (SELECT DISTINCT field, term FROM asked) AS a LEFT JOIN {counts} USING (field, term)),
rare AS MATERIALIZED (SELECT number, term, df, asked * ln((n - df + 0.5) / (df + 0.5) + 1) AS idf,
        CASE count(*) OVER (PARTITION BY number) WHEN 1 THEN best
            ELSE greatest({least}, {read} - sum(df) OVER (PARTITION BY number ORDER BY df, term) + df)
        END::bigint AS most
    FROM asked JOIN counted USING (field, term) JOIN size USING (field))
"""
# The number of chunks with terms of a field.
_SIZE = """
SELECT {field}::smallint AS field, coalesce(sum(chunks), 0)::float8 AS n FROM {sizes}
    WHERE level BETWEEN {first} AND {last}
"""
#: Largest number of matching chunks whose vectors are all compared for a ranking by meaning alone.
_MOST = 20_000
#: Chunks that a ranking of all reads: so many by its terms together, the rarest first, and at least so many by each. A
#: ranking by a single term reads only the best.
_READ, _LEAST = 50_000, 5_000
#: How many times as many as wanted are scored in full where a term has more chunks.
_RESCORED = 10
_ALL = " UNION ALL "
_CHOSEN = "{name} AS MATERIALIZED (SELECT key, level{distances} FROM {chunks} WHERE {where}{limit})"
_NEAREST = """
(SELECT {number} AS number, id, {payload}, distance
    FROM (SELECT key, {distance} AS distance FROM {chosen} WHERE {distance} IS NOT NULL{level}{few}
        ORDER BY {distance} LIMIT %s) AS best JOIN {chunks} USING (key))
"""
# An index scan for more rows than pgvector takes candidates continues with further ones. The sum makes Postgres read
# them all, whose order it would take for the right one.
_BY_INDEX = """
(SELECT * FROM (SELECT {number} AS number, id, {payload}, {dense} <=> {vector} AS distance FROM {chunks}
    WHERE {where}{many} ORDER BY distance LIMIT %s) AS near ORDER BY distance + 0 LIMIT %s)
"""
_TERMS = """
(WITH best AS MATERIALIZED (SELECT chunk AS key, sum(weight * idf) AS score
    FROM rare JOIN {terms} AS t USING (term) WHERE number = {number} AND field = {field}{among}
    GROUP BY chunk ORDER BY score DESC, chunk LIMIT %s)
SELECT {number} AS number, id, {payload}, -score AS distance FROM best JOIN {chunks} USING (key))
"""
# Without a filter, a term may have any number of chunks, so that only those are read in which it weighs most. The best
# of them are then scored by all of their terms. On a million chunks of the scale benchmark this takes a quarter of the
# time of reading all, and finds 89 % of the ten best chunks, 83 % of their parents, and all documents; the sum of the
# ten scores is 99 % of the best one.
_TOP = """
(WITH top AS MATERIALIZED (SELECT chunk AS key, sum(weight * idf) AS score
    FROM rare CROSS JOIN LATERAL (SELECT chunk, weight FROM {terms} AS t
        WHERE field = {field} AND t.term = rare.term{among} ORDER BY weight DESC LIMIT most) AS t
    WHERE number = {number} GROUP BY chunk ORDER BY score DESC, chunk LIMIT %s),
cut AS MATERIALIZED (SELECT EXISTS (SELECT FROM rare WHERE number = {number} AND df > most) AS is_cut),
best AS MATERIALIZED (SELECT key, score FROM top WHERE NOT (SELECT is_cut FROM cut)
    UNION ALL SELECT chunk, sum(weight * idf) FROM rare JOIN {terms} AS t USING (term)
        WHERE (SELECT is_cut FROM cut) AND number = {number} AND field = {field}
            AND chunk = ANY(ARRAY(SELECT key FROM top))
        GROUP BY chunk ORDER BY score DESC, key LIMIT %s)
SELECT {number} AS number, id, {payload}, -score AS distance FROM best JOIN {chunks} USING (key))
"""
# Usually there is one level of parents, and no chunk needs to be looked up.
_OF_LEVEL = """
 AND (NOT EXISTS (SELECT FROM {sizes} WHERE level BETWEEN {first} AND {last} AND level <> {level} AND chunks > 0)
    OR EXISTS (SELECT FROM {chunks} AS c WHERE c.key = t.chunk AND c.level = {level}))
"""


class _Chosen(NamedTuple):
    """Chunks that match the filter of the first query of a number: all of them, or only the first ones of too many."""

    first: int
    is_whole: bool

    @property
    def name(self) -> sql.Identifier:
        """Name of their table."""
        return sql.Identifier(f"chosen_{self.first}")

    def within_limit(self, *, wanted: bool) -> sql.Composed:
        """Return the condition that their number is, or is not, within the limit."""
        text = "" if self.is_whole else " AND ((SELECT count(*) FROM {}) <= {}) = {}"
        return sql.SQL(text).format(self.name, _MOST, wanted)


def field_of(level: int) -> int:
    """Return the number of a level's terms in the term table: each layer has a separate IDF."""
    return LAYERS.index(layer_of(level))


def type_of(made: PostgresOptions) -> str:
    """Return pgvector's type of the dense vectors."""
    return "halfvec" if made.halfvec else "vector"


def picked(keys: Sequence[str]) -> sql.Composed:
    """Return an expression for some keys of a payload, which reads the payload once."""
    names = [sql.Identifier("read", key) for key in keys]
    pairs = [sql.SQL("{}, {}").format(key, name) for key, name in zip(keys, names, strict=True)]
    return sql.SQL("(SELECT jsonb_build_object({}) FROM jsonb_to_record({}) AS read({}))").format(
        sql.SQL(", ").join(pairs),
        column_of(keys),
        sql.SQL(", ").join(sql.SQL("{} jsonb").format(sql.Identifier(key)) for key in keys),
    )


def to_statement(
    tables: Tables, made: PostgresOptions, queries: Sequence[Query], keys: Sequence[str] | None, candidates: int
) -> Statement:
    """Return a statement for all queries, whose rows are query number, id, payload and distance."""
    payload = sql.Identifier("payload") if keys is None else column_of(keys)
    given, vectors = _vectors(made, queries)
    chosen = _shared(queries)
    parts = []
    for number, query in enumerate(queries):
        names = {**tables.names, "number": number, "payload": payload}
        if number in vectors:
            parts.append(_cosines(tables, query, chosen.get(number), candidates, {**names, "vector": vectors[number]}))
        else:
            parts.append(_terms(tables, query, chosen.get(number), names))
    filtered = [_chosen(tables, one, queries, vectors, chosen) for one in dict.fromkeys(chosen.values())]
    before = [*given, *_weights(tables, queries), *filtered]
    first, rankings = joined(", ", before), joined(_ALL, parts)
    text = sql.SQL("{} SELECT number, id::text, {}, distance FROM ({}) AS found ORDER BY number, distance").format(
        sql.SQL("WITH {}" if before else "").format(first.text),
        payload if keys is None else picked(keys),
        rankings.text,
    )
    return Statement(text, first.values + rankings.values)


def _vectors(made: PostgresOptions, queries: Sequence[Query]) -> tuple[list[Statement], dict[int, sql.Composed]]:
    """Return the table of the dense vectors asked for, and an expression for that of each query, by its number.

    The queries of a search have the same vector, which is sent and parsed once.
    """
    dense = {number: query.vector for number, query in enumerate(queries) if query.using == "dense"}
    unique = {id(vector): vector for vector in dense.values()}
    names = {key: sql.Identifier(f"vector_{place}") for place, key in enumerate(unique)}
    columns = [sql.SQL("%s::{} AS {}").format(sql.Identifier(type_of(made)), name) for name in names.values()]
    table = sql.SQL("given AS MATERIALIZED (SELECT {})").format(sql.SQL(", ").join(columns))
    asked = sql.SQL("(SELECT {} FROM given)")
    expressions = {number: asked.format(names[id(vector)]) for number, vector in dense.items()}
    return [Statement(table, tuple(unique.values()))] if dense else [], expressions


def _shared(queries: Sequence[Query]) -> dict[int, _Chosen]:
    """Return the queries whose filter is evaluated once for all that have it.

    Otherwise it would be evaluated for every chunk with one of the terms. Dense queries alone need no more than the
    chunks that are soon compared, since the HNSW index finds enough if many match.
    """
    filters = [to_conditions(None, query.where) for query in queries]
    by_terms = [conditions for query, conditions in zip(queries, filters, strict=True) if query.using == "bm25"]
    return {
        number: _Chosen(filters.index(conditions), conditions in by_terms)
        for number, conditions in enumerate(filters)
        if conditions and not _is_narrow(conditions)
    }


def _is_narrow(conditions: Sequence[Condition]) -> bool:
    """Return whether a filter names the chunks or the documents to search."""
    return any(isinstance(one, HasId) or (isinstance(one, OneOf) and one.key == "source_id") for one in conditions)


def _chosen(
    tables: Tables,
    one: _Chosen,
    queries: Sequence[Query],
    vectors: Mapping[int, sql.Composed],
    chosen: Mapping[int, _Chosen],
) -> Statement:
    """Return the table of the chunks that match a filter, with their distances from the vectors asked for."""
    where = to_where(tables, to_conditions(None, queries[one.first].where))
    distances = [
        sql.SQL(", {} <=> {} AS {}").format(_dense_of(queries[number]), vectors[number], _distance(number))
        for number, its in chosen.items()
        if its == one and number in vectors
    ]
    limit = sql.SQL("" if one.is_whole else " LIMIT {}").format(_MOST + 1)
    parts = {"name": one.name, "distances": sql.SQL("").join(distances), "where": where.text, "limit": limit}
    return Statement(sql.SQL(_CHOSEN).format(chunks=tables.chunks, **parts), where.values)


def _distance(number: int) -> sql.Identifier:
    return sql.Identifier(f"distance_{number}")


def _dense_of(query: Query) -> sql.Identifier:
    return sql.Identifier(layer_of(query.level).dense or "")


def _level_of(query: Query) -> int | None:
    """Return the level to filter by; None if the layer of the query has a single one."""
    return query.level if len(layer_of(query.level).levels) > 1 else None


def _range(layer: Layer) -> dict[str, int]:
    """Return the first and the last level of a layer."""
    return {"first": layer.levels[0], "last": layer.levels[-1]}


def _weights(tables: Tables, queries: Sequence[Query]) -> list[Statement]:
    """Return the tables up to `rare`: the terms of each query, by its number, with their IDF as weights.

    As in Qdrant, the IDF counts all chunks of the field, filtered or not. The queries of a search have most of their
    terms in common, so each is looked up once.
    """
    asked = [
        (number, query.limit * _RESCORED, field_of(query.level), *pair)
        for number, query in enumerate(queries)
        if isinstance(query.vector, SparseVector)
        for pair in zip(query.vector.indices, query.vector.values, strict=True)
    ]
    fields = sorted({field_of(query.level) for query in queries if query.using == "bm25"})
    if not fields:
        return []
    columns = [list(column) for column in zip(*asked, strict=True)] or [[], [], [], [], []]
    sizes = [sql.SQL(_SIZE).format(field=field, sizes=tables.sizes, **_range(LAYERS[field])) for field in fields]
    least = max(_LEAST, *(query.limit for query in queries))
    text = sql.SQL(_WEIGHTS).format(sizes=sql.SQL(_ALL).join(sizes), counts=tables.counts, read=_READ, least=least)
    return [Statement(text, tuple(columns))]


def _cosines(tables: Tables, query: Query, chosen: _Chosen | None, most: int, names: Mapping[str, Any]) -> Statement:
    read = max(query.limit, most) if most > MOST_CANDIDATES else query.limit
    where = to_where(tables, to_conditions(query.level, query.where))
    many = sql.SQL("") if chosen is None else chosen.within_limit(wanted=False)
    text = sql.SQL(_BY_INDEX).format(dense=_dense_of(query), where=where.text, many=many, **names)
    by_index = Statement(text, (*where.values, read, query.limit))
    if chosen is None:
        return by_index
    level = _level_of(query)
    text = sql.SQL(_NEAREST).format(
        distance=_distance(names["number"]),
        chosen=chosen.name,
        level=sql.SQL("" if level is None else " AND level = {}").format(level),
        few=chosen.within_limit(wanted=True),
        **names,
    )
    nearest = Statement(text, (query.limit,))
    return nearest if chosen.is_whole else joined(_ALL, [nearest, by_index])


def _terms(tables: Tables, query: Query, chosen: _Chosen | None, names: Mapping[str, Any]) -> Statement:
    """Return a BM25 ranking over the term table, with the weights of `_weights`."""
    among = _among(tables, query, chosen)
    is_whole = not to_conditions(None, query.where)
    statement = sql.SQL(_TOP if is_whole else _TERMS)
    text = statement.format(field=field_of(query.level), among=among.text, **names)
    limits = (query.limit * _RESCORED, query.limit) if is_whole else (query.limit,)
    return Statement(text, (*among.values, *limits))


def _among(tables: Tables, query: Query, chosen: _Chosen | None) -> Statement:
    """Return the condition that the chunk of a term, `t.chunk`, is one to rank."""
    level = _level_of(query)
    if chosen is not None:
        of_level = sql.SQL("" if level is None else " WHERE level = {}").format(level)
        return Statement(sql.SQL(" AND chunk IN (SELECT key FROM {}{})").format(chosen.name, of_level))
    others = to_conditions(level, query.where)
    if not others:
        return Statement(sql.SQL(""))
    where = to_where(tables, others)
    is_narrow = query.where is not None and _is_narrow(others)
    if level is None or is_narrow:
        # An array makes Postgres look up the terms of a few chunks, although it expects few chunks with those terms.
        text = "= ANY(ARRAY(SELECT key FROM {} WHERE {}))" if is_narrow else "IN (SELECT key FROM {} WHERE {})"
        return Statement(sql.SQL(" AND chunk " + text).format(tables.chunks, where.text), where.values)
    bounds = _range(layer_of(level))
    return Statement(sql.SQL(_OF_LEVEL).format(sizes=tables.sizes, level=level, chunks=tables.chunks, **bounds))
