"""Filters and queries, checked before any engine sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from kinsplit.embedding.protocol import SparseVector
from kinsplit.errors import InvalidParameterError
from kinsplit.stores.json_values import EXACT, parse_time, to_json, to_stored
from kinsplit.stores.protocol import Query, Where

_BOUNDS = ("$gt", "$gte", "$lt", "$lte")
_OPERATORS = ("$eq", "$ne", "$in", "$nin", *_BOUNDS)
_JOINTS = ("$and", "$or", "$not")
_BOUND = 'Give a finite number, or a date such as "2024-05-31".'


#: Where a payload keeps a value: a key at top level, keys of the mappings inside it, None for all members of a list.
Path: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """A payload key has one of the values, or is a list that holds one; without any value nothing matches.

    Attributes:
        key: See `paths_of`.
        strings: The values that are strings.
        integers: The values that are integers.
        floats: The values that are other numbers.
        booleans: The values that are True or False.
        empty: Whether no value at all matches too: a missing key, None, or a list without members.
    """

    key: str
    strings: tuple[str, ...] = ()
    integers: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    booleans: tuple[bool, ...] = ()
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """A payload key is a number within bounds, or is a list that holds one.

    Attributes:
        key: See `paths_of`.
        bounds: By their operators without the "$".
    """

    key: str
    bounds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A payload key is a date or a time within bounds, or is a list that holds one; see `parse_time`.

    Attributes:
        key: See `paths_of`.
        bounds: By their operators without the "$", with a time zone.
    """

    key: str
    bounds: Mapping[str, datetime]


@dataclass(frozen=True, slots=True)
class Not:
    """Not all of some conditions, of which there is at least one, are met; also where a key is missing."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Of some groups, of which there is at least one, all conditions of one are met; no group is empty."""

    groups: tuple[tuple[Condition, ...], ...]


Condition: TypeAlias = OneOf | Range | TimeRange | Not | Either


def paths_of(key: str) -> list[Path]:
    """Return where a key of a filter may be: at top level, and where it has dots, inside of what is there.

    Args:
        key: A payload key, or keys of nested mappings with dots between them; "[]" after one steps into a list.
    """
    steps: list[str | None] = []
    for step in key.split("."):
        name = step.removesuffix("[]")
        if not name:
            return [(key,)]
        steps += [name] if name == step else [name, None]
    return [(key,)] if len(steps) == 1 else [(key,), tuple(steps)]


def to_conditions(level: int | None, where: Where | None) -> list[Condition]:
    """Return what a chunk must fulfil: the level's condition last, none for all levels.

    Raises:
        InvalidParameterError: A filter that is none; see `Where`.
    """
    conditions = [] if where is None else list(_parsed(where))
    if level is not None:
        conditions.append(OneOf("level", integers=(level,)))
    return conditions


def check_query(query: Query, dimension: int) -> None:
    """Make sure that a dense query's vector is one of the collection's.

    Raises:
        InvalidParameterError: See `ChunkStore.search`.
    """
    if not isinstance(query.vector, SparseVector) and query.vector.shape != (dimension,):
        rule = f"must be of shape ({dimension},), as the collection's schema says"
        raise InvalidParameterError("vector", rule, query.vector.shape, "Embed with the collection's model.")


def _parsed(where: object) -> Iterator[Condition]:
    if not isinstance(where, Mapping):
        raise InvalidParameterError("where", "must map keys to values", where, 'Write for example {"subject": "cs"}.')
    for key, wanted in where.items():
        if key in _JOINTS:
            yield from _joined(key, wanted)
            continue
        if not isinstance(key, str):
            raise InvalidParameterError("where", "must have strings as keys", key, "Write the key as a string.")
        if '"' in key or "\\" in key:
            rule = "can't filter by a key with a quotation mark or a backslash"
            raise InvalidParameterError("where", rule, key, "Rename the key.")
        if key.startswith("$"):
            remedy = f"Take one of {', '.join(_JOINTS)}, or the name of a key."
            raise InvalidParameterError("where", "has an operator that is unknown here", key, remedy)
        if isinstance(wanted, Mapping):
            yield from _operators(key, wanted)
        else:
            yield _one_of(key, wanted)


def _joined(joint: str, wanted: Any) -> Iterator[Condition]:
    if joint == "$not":
        # Nothing is met by what must not meet an empty filter, which all meet.
        inner = tuple(_parsed(wanted))
        yield Not(inner) if inner else OneOf("level")
        return
    if not isinstance(wanted, list | tuple) or not wanted:
        remedy = f'Write for example {{"{joint}": [{{"subject": "cs"}}, {{"year": 2020}}]}}.'
        raise InvalidParameterError(f"where[{joint!r}]", "must be a list of filters", wanted, remedy)
    groups = tuple(tuple(_parsed(one)) for one in wanted)
    if joint == "$and":
        yield from (condition for group in groups for condition in group)
    elif all(groups):
        yield Either(groups)


def _operators(key: str, wanted: Mapping[Any, Any]) -> Iterator[Condition]:
    unknown = [operator for operator in wanted if operator not in _OPERATORS]
    if unknown or not wanted:
        rule = f"must be a value, a list of values, or a mapping of {', '.join(_OPERATORS)}"
        raise InvalidParameterError(f"where[{key!r}]", rule, wanted, 'Write for example {"year": {"$gte": 2020}}.')
    for operator, value in wanted.items():
        if operator in ("$in", "$nin") and not isinstance(value, list | tuple | set | frozenset):
            raise InvalidParameterError(f"where[{key!r}]", f"needs a list for {operator}", value, "Give a list.")
        if operator in ("$eq", "$ne") and isinstance(value, list | tuple):
            raise InvalidParameterError(
                f"where[{key!r}]", f"needs one value for {operator}", value, "Take $in or $nin."
            )
        if operator in ("$eq", "$in"):
            yield _one_of(key, value)
        elif operator in ("$ne", "$nin"):
            yield Not((_one_of(key, value),))
    bounds = {operator[1:]: value for operator, value in wanted.items() if operator in _BOUNDS}
    if bounds:
        yield _range(key, bounds)


def _range(key: str, bounds: Mapping[str, object]) -> Range | TimeRange:
    plain = {name: to_json(value, f"where[{key!r}]") for name, value in bounds.items()}
    if all(isinstance(value, int | float) for value in plain.values()):
        return Range(key, {name: _number(key, value) for name, value in plain.items()})
    return TimeRange(key, {name: _time(key, value) for name, value in plain.items()})


def _number(key: str, value: float) -> float:
    if isinstance(value, bool):
        raise InvalidParameterError(f"where[{key!r}]", "needs a number or a date as a bound", value, _BOUND)
    if abs(value) > EXACT:
        raise InvalidParameterError(f"where[{key!r}]", "needs a bound up to 2**53", value, "Leave the bound out.")
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
    numbers = [value for value in plain if isinstance(value, int | float) and not isinstance(value, bool)]
    return OneOf(
        key,
        tuple(value for value in plain if isinstance(value, str)),
        tuple(value for value in numbers if isinstance(value, int)),
        tuple(value for value in numbers if isinstance(value, float)),
        tuple(value for value in plain if isinstance(value, bool)),
        None in plain,
    )


def values_of(conditions: Sequence[Condition], key: str) -> tuple[str, ...] | None:
    """Return the strings one of which a key must have, as some conditions say; None where they don't."""
    return next((each.strings for each in conditions if isinstance(each, OneOf) and each.key == key), None)
