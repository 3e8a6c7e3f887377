"""Conversion of filters to SQL, with every value as a bound parameter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from psycopg import sql
from psycopg.types.json import Jsonb
from pydantic_core import from_json

from kinsplit.chunk import RECORD
from kinsplit.spans import replace_surrogates
from kinsplit.stores.filters import Condition, Either, HasId, Not, OneOf, Path, Range, TimeRange, paths_of
from kinsplit.stores.values import UUID

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
    value = from_json(data)
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


#: Keys that the column `facts` leaves out, since they are long and filters seldom name them.
APART = ("full_content", "content_preview", "context", "beside", RECORD)


class Tables(NamedTuple):
    """Tables of a collection: its chunks, their terms, and the numbers of chunks by level and by term.

    A filter by the key by which the chunks are partitioned, if they are, names the partitions to read.
    """

    chunks: sql.Identifier
    terms: sql.Identifier
    sizes: sql.Identifier
    counts: sql.Identifier
    partition_by: str | None = None

    @property
    def names(self) -> dict[str, sql.Identifier]:
        """The names by kind, as `{chunks}` in statements."""
        return {"chunks": self.chunks, "terms": self.terms, "sizes": self.sizes, "counts": self.counts}


def column_of(keys: Iterable[str | None]) -> sql.Identifier:
    """Return the column to read top-level keys of payloads from: one that needs not be decompressed, if it can."""
    return sql.Identifier("payload" if set(keys) & set(APART) else "facts")


class Statement(NamedTuple):
    """An SQL statement and the values of its placeholders, in order."""

    text: sql.SQL | sql.Composed
    values: tuple[Any, ...] = ()


def joined(glue: str, parts: Sequence[Statement]) -> Statement:
    """Join statements, with the values of all."""
    text = sql.SQL(glue).join(part.text for part in parts)
    return Statement(text, tuple(value for part in parts for value in part.values))


def to_where(tables: Tables, conditions: Sequence[Condition]) -> Statement:
    """Return an SQL expression that is true if all conditions are met."""
    parts = [_condition(tables, condition) for condition in conditions]
    return joined(" AND ", [Statement(sql.SQL("true")), *parts])


def _condition(tables: Tables, condition: Condition) -> Statement:
    if isinstance(condition, Not):
        # An unknown result, as for a null column, counts as not met.
        text, values = to_where(tables, condition.conditions)
        return Statement(sql.SQL("({}) IS NOT TRUE").format(text), values)
    if isinstance(condition, Either):
        text, values = joined(") OR (", [to_where(tables, group) for group in condition.groups])
        return Statement(sql.SQL("(({}))").format(text), values)
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
    if condition.key != tables.partition_by or condition != OneOf(condition.key, strings=condition.strings):
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
    column = column_of(path[0] for path in paths_of(key))
    exists = sql.SQL("jsonb_path_exists_tz({}, %s::jsonpath, %s, true)").format(column)
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
    text, values = joined(" OR ", parts)
    return Statement(sql.SQL("({})").format(text), values)


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
    # One parameter, since a statement has at most 65,535.
    column = column_of(path[0] for path in paths_of(condition.key))
    return Statement(sql.SQL("{} @> ANY(%s::jsonb[])").format(column), (shapes,))


def _nested(path: Path, value: Any) -> Any:
    """Wrap a value in the mappings and lists of a path."""
    for step in reversed(path):
        value = [value] if step is None else {step: value}
    return value
