"""Metadata that a file states about its documents, in the form that every store takes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kinsplit.chunk import ABSOLUTE_PATH, PLACED, RESERVED
from kinsplit.loaders.decoding import clean

# JSON characters of a value, which is stored with every chunk. Longer ones are vectors or texts.
_LONGEST = 10_000
_OWN = RESERVED | PLACED | {ABSOLUTE_PATH}


class LeftOut:
    """Counts the metadata that were left out."""

    def __init__(self) -> None:
        self._names: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, reason: str) -> None:
        """Count a value that was left out."""
        self._names[name, reason] += 1

    def warnings(self) -> Iterator[str]:
        """Yield a warning for each name."""
        for (name, reason), count in self._names.items():
            where = "" if count == 1 else f" of {count:,} documents"
            yield f"the metadata {name!r}{where} was left out, since {reason}"


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
            left_out.add(name, "kinsplit has its own of this name")
        elif len(json.dumps(storable) if isinstance(storable, list | dict) else str(storable)) > _LONGEST:
            left_out.add(name, f"it has more than {_LONGEST:,} characters")
        else:
            kept[name] = storable
    return kept


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
