"""Filters as people write them, in a shell or in an address: `course=cs`, `year>=2020`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.json_values import parse_time

# A number as JSON has it, with no more digits than 64 bits have, as Python refuses to read very long ones.
_NUMBER = re.compile(r"-?\d{1,19}(\.\d{1,30})?([eE][+-]?\d{1,3})?", re.ASCII)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_CONDITION = re.compile(r"(?=\s*[^=!<>\s])(?P<key>[^=!<>]+)(?P<sign>=|!=|<=|>=|<|>)(?P<value>.*)", re.DOTALL)
_LISTS = {"=": "$in", "!=": "$nin"}
_BOUNDS = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


def parse_where(field: str, conditions: Iterable[str]) -> dict[str, Any]:
    """Read metadata filters, as `kinsplit.stores.protocol.Where`.

    Args:
        field: Name of what they were given as, for errors.
        conditions: Each `key=value`, `key!=value`, or a number or a date after `<`, `<=`, `>` or `>=`. A key given
            several times with `=` may have any of its values, and with `!=` none. A value that is a number, `true`,
            `false` or `null` matches as such and as text.

    Raises:
        InvalidParameterError: None of these signs, a bound that is neither a number nor a date, or one that is given
            twice.
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


def _values(text: str) -> list[str | float | bool | None]:
    if text in _WORDS:
        return [text, _WORDS[text]]
    return [text] if (number := _number(text)) is None else [text, number]


def _number(text: str) -> float | None:
    """Return the number that a text is, if a stored one can be equal to it."""
    if not _NUMBER.fullmatch(text):
        return None
    number: float = int(text) if text.lstrip("-").isdigit() else float(text)
    return number if isinstance(number, float) or -(2**63) <= number < 2**63 else None


def _bound(field: str, key: str, sign: str, text: str) -> float | str:
    with suppress(ValueError):
        return float(text)
    if parse_time(text.strip()) is None:
        remedy = "Give a number, or a date such as 2024-05-31."
        raise InvalidParameterError(field, f"needs a number or a date after {key}{sign}", text, remedy)
    return text.strip()
