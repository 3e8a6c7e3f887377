"""Parsing and validation of filters and queries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np

from kinsplit.embedding.protocol import SparseVector
from kinsplit.errors import InvalidParameterError, require
from kinsplit.stores.json_values import EXACT, parse_time, to_json, to_stored
from kinsplit.stores.values import Query, Where, check_ids

#: Largest number of conditions in a filter of a request. Without an index, an engine reads every payload once for each.
MOST_CONDITIONS = 32
#: Largest number of values and filters in one filter of a request, before alternatives are joined.
MOST_VALUES = 10_000
#: Largest depth of nested lists and mappings in any filter, since engines evaluate them by recursion.
MOST_DEPTH = 16

_BOUNDS = ("$gt", "$gte", "$lt", "$lte")
#: Types of the values that `OneOf` has, by its attributes.
_KINDS = {"strings": str, "integers": int, "floats": float, "booleans": bool}
_OPERATORS = ("$eq", "$ne", "$in", "$nin", *_BOUNDS, "$between", "$contains", "$exists", "$not")
# Operators without their sign, which are more likely forgotten signs than keys of a mapping.
_BARE = {operator[1:] for operator in _OPERATORS}
_JOINTS = ("$and", "$or", "$not")
_ID = "$id"
_BOUND = 'Give a finite number, or a date such as "2024-05-31".'

#: Path of a value in a payload: a top-level key, then keys of nested mappings; None for all members of a list.
Path: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Condition that a key has one of some values, or a list with one of them; without values, nothing matches.

    If `empty`, a missing key, None and an empty list match too.
    """

    key: str
    strings: tuple[str, ...] = ()
    integers: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    booleans: tuple[bool, ...] = ()
    empty: bool = False

    @property
    def values(self) -> list[str | int | float | bool]:
        """All values."""
        return [*self.strings, *self.integers, *self.floats, *self.booleans]


@dataclass(frozen=True, slots=True)
class Range:
    """Condition that a key has a number within bounds by operator, without the "$", or a list with such a number."""

    key: str
    bounds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Condition that a key has a time within bounds, which have a zone, or a list with one; see `parse_time`."""

    key: str
    bounds: Mapping[str, datetime]


@dataclass(frozen=True, slots=True)
class HasId:
    """Condition that a chunk has one of some ids, which are not empty."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Condition that one of some conditions, which are not empty, is not met, even if only for a missing key."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Condition that all conditions of one group are met. There is at least one group, and none is empty."""

    groups: tuple[tuple[Condition, ...], ...]


SingleCondition: TypeAlias = OneOf | Range | TimeRange | HasId
Condition: TypeAlias = SingleCondition | Not | Either


def single_conditions(conditions: Iterable[Condition], *, negated: bool = True) -> Iterator[SingleCondition]:
    """Yield the conditions on one key or on ids, also those of alternatives, and of negations unless left out."""
    for condition in conditions:
        if isinstance(condition, Either):
            for group in condition.groups:
                yield from single_conditions(group, negated=negated)
        elif not isinstance(condition, Not):
            yield condition
        elif negated:
            yield from single_conditions(condition.conditions)


# A condition that nothing meets.
_NONE = OneOf("level")


def paths_of(key: str) -> list[Path]:
    """Return the possible paths of a filter's key: at top level and, if it contains dots, in nested mappings.

    Args:
        key: Payload key, or keys of nested mappings joined by dots; "[]" after a key steps into a list.
    """
    steps: list[str | None] = []
    for step in key.split("."):
        name = step.removesuffix("[]")
        if not name:
            return [(key,)]
        steps += [name] if name == step else [name, None]
    return [(key,)] if len(steps) == 1 else [(key,), tuple(steps)]


def values_under(payload: Mapping[str, Any], paths: Sequence[Path]) -> list[object]:
    """Return the values under all paths."""
    return [value for path in paths for value in _under(payload, path)]


def _under(value: object, path: Path) -> Iterator[object]:
    if not path:
        yield value
    elif path[0] is None:
        for member in value if isinstance(value, list) else ():
            yield from _under(member, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _under(value[path[0]], path[1:])


def to_conditions(level: int | None, where: Where | tuple[Condition, ...] | None) -> list[Condition]:
    """Return the conditions of a filter, followed by that of the level unless all levels are wanted.

    Alternatives on one key are merged into one condition, and so are exceptions. Conditions are taken as they are, so
    that a search, which asks for some twenty rankings, parses its filter once.

    Raises:
        InvalidParameterError: The filter is not valid (see `Where`), or too deep.
    """
    conditions: list[Condition] = []
    if isinstance(where, tuple):
        conditions += where
    elif where is not None:
        _check_depth(where)
        conditions += _joined_exceptions(_parsed(where))
    if level is not None:
        conditions.append(OneOf("level", integers=(level,)))
    return conditions


def check_where(where: Where | None) -> None:
    """Check that a filter is valid, with the errors of `to_conditions`."""
    to_conditions(None, where)


def check_request(where: Where) -> None:
    """Check that a filter of somebody else's request is valid, and not too expensive for an engine.

    Filters of this program, such as those that look up the documents to index, have no such limits.

    Raises:
        InvalidParameterError: See `to_conditions`; or the filter is too large.
    """
    size = sum(_layers(where))
    remedy = "Filter by fewer values, or store one key that says it."
    require(size <= MOST_VALUES, "where", f"must hold at most {MOST_VALUES} values and filters", size, remedy)
    number = _count(to_conditions(None, where))
    if number > MOST_CONDITIONS:
        rule = (
            f"must have at most {MOST_CONDITIONS} conditions, where the strings that a key may have count as one, its "
            "integers as one, any other value by itself, and a key with a dot twice"
        )
        raise InvalidParameterError("where", rule, number, "Filter by fewer keys, or store one key that says it.")


def check_query(query: Query, dimension: int) -> None:
    """Check that a dense query's vector fits the collection, or raise InvalidParameterError."""
    if not isinstance(query.vector, SparseVector):
        rule = f"must be of shape ({dimension},), as the collection's schema says"
        require(query.vector.shape == (dimension,), "vector", rule, query.vector.shape, "Embed with its model.")
        rule = "must be finite numbers"
        require(np.isfinite(query.vector).all(), "vector", rule, query.vector, "Embed the question again.")


def _check_depth(where: object) -> None:
    layers = sum(1 for _ in _layers(where))
    remedy = "Take fewer filters inside each other."
    require(layers <= MOST_DEPTH, "where", f"must be at most {MOST_DEPTH} deep", where, remedy)


def _layers(where: object) -> Iterator[int]:
    """Yield the number of values and filters at each depth, without recursion, down to one that is too deep."""
    layer = [where]
    for _ in range(MOST_DEPTH + 1):
        if not layer:
            return
        yield len(layer)
        # Strings, of which there may be thousands, first.
        nested = (
            e for e in layer if not isinstance(e, str) and isinstance(e, Mapping | list | tuple | set | frozenset)
        )
        layer = [inner for each in nested for inner in (each.values() if isinstance(each, Mapping) else each)]


def _count(conditions: Iterable[Condition]) -> int:
    return sum(map(_size, conditions))


def _size(condition: Condition) -> int:
    """Return the number of times that an engine without an index reads a payload for a condition."""
    if isinstance(condition, Not):
        return _count(condition.conditions)
    if isinstance(condition, Either):
        return sum(map(_count, condition.groups))
    if isinstance(condition, HasId):
        return 1
    kinds = 1
    if isinstance(condition, OneOf):
        # Engines test all strings together, all integers together, and each other value and a missing one separately.
        lists, single = (condition.strings, condition.integers), (condition.floats, condition.booleans)
        kinds = max(1, sum(map(bool, lists)) + sum(map(len, single)) + condition.empty)
    return kinds * len(paths_of(condition.key))


def _parsed(where: object) -> Iterator[Condition]:
    if not isinstance(where, Mapping):
        raise InvalidParameterError("where", "must map keys to values", where, 'Write for example {"subject": "cs"}.')
    for key, wanted in where.items():
        if key in _JOINTS:
            yield from _joined(key, wanted)
            continue
        if key == _ID:
            yield _has_id(wanted)
            continue
        require(isinstance(key, str), "where", "must have strings as keys", key, "Write the key as a string.")
        rule = "can't filter by a key with a quotation mark or a backslash"
        require('"' not in key and "\\" not in key, "where", rule, key, "Rename the key.")
        remedy = f"Take one of {', '.join((*_JOINTS, _ID))}, or the name of a key."
        require(not key.startswith("$"), "where", "has an operator that is unknown here", key, remedy)
        if isinstance(wanted, Mapping):
            yield from _operators(key, wanted)
        else:
            yield _one_of(key, wanted)


def _has_id(wanted: Any) -> Condition:
    if not isinstance(wanted, list | tuple | set | frozenset) or not all(isinstance(id_, str) for id_ in wanted):
        raise InvalidParameterError('where["$id"]', "must be a list of ids", wanted, "Give the chunks' ids.")
    check_ids(wanted)
    return HasId(tuple(dict.fromkeys(wanted))) if wanted else _NONE


def _joined(joint: str, wanted: Any) -> Iterator[Condition]:
    if joint == "$not":
        # Everything meets an empty filter, so nothing meets its negation.
        inner = tuple(_joined_exceptions(_parsed(wanted)))
        yield Not(inner) if inner else _NONE
        return
    if not isinstance(wanted, list | tuple) or not wanted:
        remedy = f'Write for example {{"{joint}": [{{"subject": "cs"}}, {{"year": 2020}}]}}.'
        raise InvalidParameterError(f"where[{joint!r}]", "must be a list of filters", wanted, remedy)
    groups = [tuple(_joined_exceptions(_parsed(one))) for one in wanted]
    if joint == "$and":
        yield from (condition for group in groups for condition in group)
    elif all(groups):
        yield from _joined_alternatives(groups)


def _joined_alternatives(groups: Iterable[tuple[Condition, ...]]) -> Iterator[Condition]:
    """Yield conditions that are met if one of some groups is, with the alternatives on each key merged."""
    values: dict[str, list[OneOf]] = {}
    others: list[tuple[Condition, ...]] = []
    for group in groups:
        first = group[0] if len(group) == 1 else None
        for inner in first.groups if isinstance(first, Either) else (group,):
            if len(inner) == 1 and isinstance(inner[0], OneOf):
                values.setdefault(inner[0].key, []).append(inner[0])
            else:
                others.append(inner)
    joined = [*((_union(key, found),) for key, found in values.items()), *others]
    yield from joined[0] if len(joined) == 1 else [Either(tuple(joined))]


def _joined_exceptions(conditions: Iterable[Condition]) -> list[Condition]:
    """Merge the exceptions on each key into one condition."""
    values: dict[str, list[OneOf]] = {}
    others: list[Condition] = []
    for each in conditions:
        inner = each.conditions[0] if isinstance(each, Not) and len(each.conditions) == 1 else None
        if isinstance(inner, OneOf):
            values.setdefault(inner.key, []).append(inner)
        else:
            others.append(each)
    return [*others, *(Not((_union(key, found),)) for key, found in values.items())]


def _union(key: str, found: Sequence[OneOf]) -> OneOf:
    values: dict[str, Any]
    values = {name: tuple(dict.fromkeys(v for each in found for v in getattr(each, name))) for name in _KINDS}
    return OneOf(key, **values, empty=any(each.empty for each in found))


def _operators(key: str, wanted: Mapping[Any, Any]) -> Iterator[Condition]:
    if (
        wanted
        and all(isinstance(inner, str) and not inner.startswith("$") for inner in wanted)
        and not _BARE & {*wanted}
    ):
        yield from _parsed({f"{key}.{inner}": value for inner, value in wanted.items()})
        return
    unknown = [operator for operator in wanted if operator not in _OPERATORS]
    rule = f"must be a value, a list of values, or a mapping of keys or of {', '.join(_OPERATORS)}"
    require(not unknown and wanted, f"where[{key!r}]", rule, wanted, 'Write for example {"year": {"$gte": 2020}}.')
    bounds = {operator[1:]: value for operator, value in wanted.items() if operator in _BOUNDS}
    if bounds:
        yield _range(key, bounds)
    for operator, value in wanted.items():
        if operator not in _BOUNDS:
            yield _operated(key, operator, value)


def _operated(key: str, operator: str, value: Any) -> Condition:
    """Return the condition of an operator other than a bound."""
    field, is_list = f"where[{key!r}]", isinstance(value, list | tuple | set | frozenset)
    if operator == "$not":
        inner = tuple(_joined_exceptions(_parsed({key: value})))
        return Not(inner)
    if operator == "$exists":
        require(isinstance(value, bool), field, "needs True or False for $exists", value, "Give one of them.")
        empty = OneOf(key, empty=True)
        return Not((empty,)) if value else empty
    if operator == "$between":
        is_pair = isinstance(value, list | tuple) and len(value) == 2
        require(is_pair, field, "needs two bounds for $between", value, "Give a list of two, the lower one first.")
        return _range(key, dict(zip(("gte", "lte"), value, strict=True)))
    if operator in ("$in", "$nin"):
        require(is_list, field, f"needs a list for {operator}", value, "Give a list.")
    else:
        require(not is_list, field, f"needs one value for {operator}", value, "Use $in or $nin.")
    found = _one_of(key, value)
    return Not((found,)) if operator in ("$ne", "$nin") else found


def _range(key: str, bounds: Mapping[str, object]) -> Range | TimeRange:
    plain = {name: to_json(value, f"where[{key!r}]") for name, value in bounds.items()}
    if all(isinstance(value, int | float) for value in plain.values()):
        return Range(key, {name: _number(key, value) for name, value in plain.items()})
    return TimeRange(key, {name: _time(key, value) for name, value in plain.items()})


def _number(key: str, value: float) -> float:
    require(not isinstance(value, bool), f"where[{key!r}]", "needs a number or a date as a bound", value, _BOUND)
    require(abs(value) <= EXACT, f"where[{key!r}]", "needs a bound up to 2**53", value, "Leave the bound out.")
    return value


def _time(key: str, value: object) -> datetime:
    time = parse_time(value) if isinstance(value, str) else None
    if time is None:
        raise InvalidParameterError(f"where[{key!r}]", "needs numbers or dates as bounds", value, _BOUND)
    return time


def _one_of(key: str, wanted: object) -> OneOf:
    values: Iterable[object] = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    plain = [to_stored(to_json(value, f"where[{key!r}]")) for value in values]
    for value in plain:
        if isinstance(value, list | dict):
            remedy = "Filter by what is inside it, such as 'author.name'."
            raise InvalidParameterError(f"where[{key!r}]", "must be single values, or one list of them", value, remedy)
    # By exact types, since True is an integer too.
    of_kind: dict[str, Any] = {name: tuple(v for v in plain if type(v) is kind) for name, kind in _KINDS.items()}
    return OneOf(key, **of_kind, empty=None in plain)


def values_of(conditions: Sequence[Condition], key: str) -> tuple[str, ...] | None:
    """Return the strings to which conditions limit a key, or None if they don't."""
    return next((each.strings for each in conditions if isinstance(each, OneOf) and each.key == key), None)


# A JSON number of at most 64 bits, since Python refuses to parse very long ones.
_NUMBER = re.compile(r"-?\d{1,19}(\.\d{1,30})?([eE][+-]?\d{1,3})?", re.ASCII)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_CONDITION = re.compile(r"(?=\s*[^=!<>\s])(?P<key>[^=!<>]+)(?P<sign>=|!=|<=|>=|<|>)(?P<value>.*)", re.DOTALL)
_LISTS = {"=": "$in", "!=": "$nin"}
_SIGNS = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


def parse_where(field: str, conditions: Iterable[str]) -> dict[str, Any]:
    """Parse metadata filters into a `kinsplit.stores.values.Where`.

    Args:
        field: Name of the option or field, for errors.
        conditions: Conditions: `key=value`, `key!=value`, or a key, `<`, `<=`, `>` or `>=`, and a number or date. A key
            with several `=` may have any of their values, one with several `!=` none of them. A number, `true`,
            `false` or `null` matches both as such and as text.

    Raises:
        InvalidParameterError: A condition has no operator, a bound is not a number or date, or a bound comes twice.
    """
    where: dict[str, dict[str, Any]] = {}
    for text in conditions:
        found = _CONDITION.fullmatch(text)
        if found is None:
            rule = "must be key=value, or have !=, <, <=, > or >="
            raise InvalidParameterError(field, rule, text, f"Write for example {_example(field)}.")
        key, sign, value = found["key"].strip(), found["sign"], found["value"]
        wanted = where.setdefault(key, {})
        if sign in _LISTS:
            wanted.setdefault(_LISTS[sign], []).extend(_values(value))
        elif _SIGNS[sign] in wanted:
            raise InvalidParameterError(field, f"can't give {key}{sign} twice", value, "Give it once.")
        else:
            wanted[_SIGNS[sign]] = _bound(field, key, sign, value)
    return where


def _example(field: str) -> str:
    return f"{field} course=6_0001" if field.startswith("-") else f"{field}=course=6_0001"


def _values(text: str) -> list[str | float | bool | None]:
    if text in _WORDS:
        return [text, _WORDS[text]]
    return [text] if (number := _parse_number(text)) is None else [text, number]


def _parse_number(text: str) -> float | None:
    """Parse a number, or return None if no stored number can equal it."""
    if not _NUMBER.fullmatch(text):
        return None
    number: float = int(text) if text.lstrip("-").isdigit() else float(text)
    return number if isinstance(number, float) or -(2**63) <= number < 2**63 else None


def _bound(field: str, key: str, sign: str, text: str) -> float | str:
    with suppress(ValueError):
        return float(text)
    remedy = "Give a number, or a date such as 2024-05-31."
    require(parse_time(text.strip()) is not None, field, f"needs a number or a date after {key}{sign}", text, remedy)
    return text.strip()
