"""Filters and queries, checked before any engine sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kinsplit.embedding.protocol import SparseVector
from kinsplit.embedding.texts import replace_surrogates
from kinsplit.errors import InvalidParameterError
from kinsplit.stores.protocol import Query, Where


@dataclass(frozen=True, slots=True)
class Condition:
    """A payload key has one of the values, or is a list that holds one; without any value nothing matches.

    Attributes:
        key: At top level; a dot in it is no step into a nested value.
        strings: The values that are strings.
        integers: The values that are integers.
    """

    key: str
    strings: tuple[str, ...]
    integers: tuple[int, ...]


def to_conditions(level: int | None, where: Where | None) -> list[Condition]:
    """Return what a chunk must fulfil: the level's condition last, none for all levels.

    Raises:
        InvalidParameterError: No mapping, a key that is no string or that no engine can quote, or a value that is
            neither a string nor an integer.
    """
    if where is not None and not isinstance(where, Mapping):
        raise InvalidParameterError("where", "must map keys to values", where, 'Write for example {"subject": "cs"}.')
    conditions = [_condition(key, values) for key, values in (where or {}).items()]
    if level is not None:
        conditions.append(_condition("level", level))
    return conditions


def check_query(query: Query, dimension: int) -> None:
    """Make sure that a dense query's vector is one of the collection's.

    Raises:
        InvalidParameterError: See `ChunkStore.search`.
    """
    if not isinstance(query.vector, SparseVector) and query.vector.shape != (dimension,):
        rule = f"must be of shape ({dimension},), as the collection's schema says"
        raise InvalidParameterError("vector", rule, query.vector.shape, "Embed with the collection's model.")


def _condition(key: str, wanted: str | int | Sequence[str | int]) -> Condition:
    values = wanted if isinstance(wanted, list | tuple) else [wanted]
    if not isinstance(key, str):
        raise InvalidParameterError("where", "must have strings as keys", key, "Write the key as a string.")
    if '"' in key:
        raise InvalidParameterError("where", "can't filter by a key with a quotation mark", key, "Rename the key.")
    for value in values:
        if not isinstance(value, str | int) or isinstance(value, bool):
            remedy = "Filter by another key, or store the value as a string."
            raise InvalidParameterError(f"where[{key!r}]", "must be strings or integers", value, remedy)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            remedy = "No stored value is that large."
            raise InvalidParameterError(f"where[{key!r}]", "must fit into 64 bits", value, remedy)
    return Condition(
        key,
        tuple(replace_surrogates(value) for value in values if isinstance(value, str)),
        tuple(value for value in values if isinstance(value, int)),
    )
