"""Filters as people write them, in a shell or in an address: `course=cs`, `year>=2020`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kinsplit.errors import InvalidParameterError

# No more digits than 64 bits have, as Python refuses to read very long numbers.
_INTEGER = re.compile(r"-?\d{1,19}")
_CONDITION = re.compile(r"(?=\s*[^=!<>\s])(?P<key>[^=!<>]+)(?P<sign>=|!=|<=|>=|<|>)(?P<value>.*)", re.DOTALL)
_LISTS = {"=": "$in", "!=": "$nin"}
_BOUNDS = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


def parse_where(field: str, conditions: Iterable[str]) -> dict[str, Any]:
    """Read metadata filters, as `kinsplit.stores.protocol.Where`.

    Args:
        field: Name of what they were given as, for errors.
        conditions: Each `key=value`, `key!=value`, or a number after `<`, `<=`, `>` or `>=`. A key given several times
            with `=` may have any of its values, and with `!=` none. A value that is an integer of at most 64 bits, as
            stored ones are, also matches as one.

    Raises:
        InvalidParameterError: None of these signs, a bound that is no number, or one that is given twice.
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
        elif _BOUNDS[sign] in wanted:
            raise InvalidParameterError(field, f"can't give {key}{sign} twice", value, "Give it once.")
        else:
            wanted[_BOUNDS[sign]] = _bound(field, key, sign, value)
    return where


def _example(field: str) -> str:
    return f"{field} course=6_0001" if field.startswith("-") else f"{field}=course=6_0001"


def _values(text: str) -> list[str | int]:
    if _INTEGER.fullmatch(text) and -(2**63) <= (number := int(text)) < 2**63:
        return [text, number]
    return [text]


def _bound(field: str, key: str, sign: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidParameterError(field, f"needs a number after {key}{sign}", text, "Give a number.") from None
