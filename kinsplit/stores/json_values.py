"""Conversion of metadata to JSON, and dates and numbers as filters compare them."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np
from pydantic_core import to_jsonable_python

from kinsplit.errors import InvalidParameterError
from kinsplit.spans import replace_surrogates

#: Limit up to which floats represent all integers exactly.
EXACT = 2**53

# The form of ISO 8601 that every engine reads.
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)


def to_json(value: object, where: str) -> Any:
    """Convert a value to JSON, so that stored values and filter values compare equal.

    Dates and times become ISO 8601, paths and UUIDs strings, enumerations their values, sets lists in a fixed order,
    NumPy values and arrays Python's, and tuples lists. A lone surrogate becomes U+FFFD.

    Raises:
        InvalidParameterError: The value is of any other type, NaN or infinite.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return to_json(value.value, where)
    if isinstance(value, str):
        return replace_surrogates(str.__str__(value))
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, np.generic | np.ndarray) and not isinstance(value, float):
        return to_json(_to_python(value, where), where)
    if isinstance(value, list | tuple):
        return [to_json(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, set | frozenset):
        return sorted((to_json(item, where) for item in value), key=json.dumps)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {replace_surrogates(key): to_json(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, date | time | PurePath | UUID) and value == value:  # Pandas' NaT is a date.
        return to_jsonable_python(value)
    raise _refused(value, where)


def _to_python(value: np.generic | np.ndarray[Any, Any], where: str) -> object:
    kind = value.dtype.kind
    if kind not in "biufMUO" or (kind == "M" and np.isnat(value).any()):
        raise _refused(value, where)
    if kind == "f":
        return value.astype(float).tolist()
    # Times finer than microseconds would come back as integers.
    return (value.astype("M8[us]") if value.dtype.str.endswith(("[ns]", "[ps]", "[fs]", "[as]")) else value).tolist()


def _refused(value: object, where: str) -> InvalidParameterError:
    if isinstance(value, float):
        return InvalidParameterError(where, "must be a finite number", value, "Leave the key out, or store None.")
    rule = (
        "must be JSON: a string, 64-bit integer, finite float, bool, None, list, or mapping with strings as keys; "
        "or a date, path, UUID, set or NumPy value that JSON can represent"
    )
    return InvalidParameterError(where, rule, value, "Convert it, for example with str().")


def to_stored(value: Any) -> Any:
    """Return the stored form of a JSON value: whole numbers as integers, so that 2020 finds 2020.0 in every engine."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        return int(value)
    if isinstance(value, list):
        return [to_stored(item) for item in value]
    if isinstance(value, dict):
        return {key: to_stored(item) for key, item in value.items()}
    return value


def around(value: float) -> tuple[float, float]:
    """Return the floats next to a float, since Qdrant may change its last digit."""
    most = sys.float_info.max
    return max(-most, math.nextafter(value, -math.inf)), min(most, math.nextafter(value, math.inf))


def parse_time(text: str) -> datetime | None:
    """Parse an ISO 8601 date or time, such as "2024-05-31" or "2024-05-31T12:00:00Z"; return None for other texts.

    A date means its midnight, and a time without a zone is in UTC.
    """
    if not _TIME.fullmatch(text):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
