"""Metadata that a file states about its documents, in the form that every store takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from kinsplit.chunk import ABSOLUTE_PATH, PLACED, RESERVED
from kinsplit.loaders.content import LeftOut
from kinsplit.loaders.decoding import clean

# JSON characters of a value, which is stored with every chunk. Longer ones are vectors or texts.
_LONGEST = 10_000
_OWN = RESERVED | PLACED | {ABSOLUTE_PATH}


def stated(metadata: Mapping[str, Any], left_out: LeftOut, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata that a file states, with values that every store takes.

    Args:
        metadata: The metadata as they are in the file.
        left_out: What counts those that are left out.
        facts: Metadata of the file that are known otherwise, and take precedence.
    """
    kept: dict[str, Any] = {}
    for stated_name, value in metadata.items():
        name, storable = clean(stated_name).text, _storable(value)
        if name in _OWN or (name in facts and facts[name] != storable):
            _count(left_out, f"of the metadata {name!r}, which kinsplit sets itself,")
        elif len(json.dumps(storable) if isinstance(storable, list | dict) else str(storable)) > _LONGEST:
            _count(left_out, f"of more than {_LONGEST:,} characters of the metadata {name!r}")
        else:
            kept[name] = storable
    return kept


def _count(left_out: LeftOut, what: str) -> None:
    left_out.add(f"value {what}", f"values {what}")


def _storable(value: Any) -> Any:
    """Return a value of JSON without what stores refuse: NUL, infinite numbers, and integers of more than 64 bits."""
    if isinstance(value, str):
        return clean(value).text
    if isinstance(value, list):
        return list(map(_storable, value))
    if isinstance(value, dict):
        return {clean(key).text: _storable(child) for key, child in value.items()}
    is_number = isinstance(value, int) and -(2**63) <= value < 2**63
    return value if value is None or is_number or (isinstance(value, float) and math.isfinite(value)) else str(value)
