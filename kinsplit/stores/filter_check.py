"""Fields and values of filters that no chunk has, with the nearest ones that chunks have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kinsplit.chunk import PLACED, RESERVED, UNSEEN
from kinsplit.errors import InvalidParameterError, KinsplitWarning, inline
from kinsplit.hints import question
from kinsplit.stores.filters import Condition, HasId, OneOf, Path, paths_of, single_conditions

# Those that kinsplit writes, so that a chunk may lack them without a mistake in the filter.
_OWN = RESERVED | PLACED | {"subject", "group_id"}
# Most values that are named, of those that are near, and of those that are there.
_NEAR, _FEW = 3, 8


class FilterWarning(KinsplitWarning):
    """A filter found nothing, since no chunk has a value that it asks for."""


def named_fields(conditions: Iterable[Condition]) -> Iterator[str]:
    """Yield the fields that must have a value by some conditions, or must not, without kinsplit's own."""
    for condition in single_conditions(conditions):
        if isinstance(condition, HasId) or (isinstance(condition, OneOf) and condition.empty):
            continue
        if condition.key.partition(".")[0] not in _OWN:
            yield condition.key


def unknown_field(name: str, payloads: Iterable[Mapping[str, object]]) -> InvalidParameterError | None:
    """Return the error about a field that no chunk has, if its name resembles one that some of these payloads have."""
    known = _OWN.union(*map(_fields, payloads)).difference(UNSEEN)
    near = question("field", name, sorted(field for field in known if not field.startswith("_")))
    return InvalidParameterError("where", "must name fields that chunks have", name, near.strip()) if near else None


def wanted_values(conditions: Iterable[Condition]) -> Iterator[OneOf]:
    """Yield the conditions that a key has one of some values, without those on kinsplit's own keys."""
    for condition in single_conditions(conditions, negated=False):
        if isinstance(condition, OneOf) and condition.values and condition.key not in RESERVED | PLACED:
            yield condition


def unknown_value(condition: OneOf, payloads: Iterable[Mapping[str, object]]) -> str:
    """Return a sentence about values that no chunk has, with the nearest ones in these payloads, or all of a few."""
    from difflib import get_close_matches

    paths = paths_of(condition.key)
    there = {_quoted(value): value for payload in payloads for path in paths for value in _values_at(payload, path)}
    folded: dict[str, list[str]] = {}
    for shown, value in sorted(there.items()):
        folded.setdefault(str(value).casefold(), []).append(shown)
    # What the shell gives as a text and as a number is named once.
    wanted = {str(value): _quoted(value) for value in condition.values}
    near: dict[str, None] = {}
    for value in map(str.casefold, wanted):
        close = [*get_close_matches(value, folded, _NEAR), *(other for other in folded if value and value in other)]
        near |= dict.fromkeys(shown for other in close for shown in folded[other])
    rule = f"where: no chunk has {condition.key} = {' or '.join([*wanted.values()][:_NEAR])}."
    if near:
        return inline(f"{rule} Did you mean {' or '.join([*near][:_NEAR])}?")
    few = f" The values there: {', '.join(sorted(there))}." if 0 < len(there) <= _FEW else ""
    return inline(f"{rule}{few}")


def _quoted(value: object) -> str:
    return repr(f"{value[:80]}…" if isinstance(value, str) and len(value) > 80 else value)


def _values_at(value: object, path: Path) -> Iterator[object]:
    """Yield the single values at a path of a payload; a list has its members."""
    if isinstance(value, list):
        for member in value:
            yield from _values_at(member, path[1:] if path[:1] == (None,) else path)
    elif path and isinstance(value, Mapping):
        yield from _values_at(value.get(path[0] or ""), path[1:])
    elif not path and value is not None and not isinstance(value, Mapping):
        yield value


def _fields(payload: Mapping[str, object], before: str = "") -> Iterator[str]:
    for key, value in payload.items():
        yield f"{before}{key}"
        if isinstance(value, dict):
            yield from _fields(value, f"{before}{key}.")
        elif isinstance(value, list):
            for member in value:
                if isinstance(member, dict):
                    yield from _fields(member, f"{before}{key}[].")
