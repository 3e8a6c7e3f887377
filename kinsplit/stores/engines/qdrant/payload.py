"""Layout of payloads in Qdrant and Qdrant Edge, and filters: leaves at top level, parents and documents under one key.

Filters of other programs on a leaf's keys, such as those of the frameworks' own stores, therefore match leaves only. A
separate collection for parents and documents would cost every search a second request and every sync a second write,
with a risk of being interrupted in between.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from kinsplit.chunk import ABOVE
from kinsplit.stores.filters import Condition, Either, HasId, Not, OneOf, Path, Range, paths_of, values_of
from kinsplit.stores.json_values import around
from kinsplit.stores.payload import Payload, Payloads
from kinsplit.stores.values import DENSE, INDEXED, SPARSE, Kind, Vectors


def wrapped(payload: Payload) -> Payload:
    """Return a payload in its stored form."""
    return {ABOVE: payload} if payload["level"] else payload


def unwrapped(kept: Payload | None) -> Payload:
    """Return the payload of a stored form, or those of its keys that were read."""
    inner: Payload = kept.get(ABOVE, kept) if kept else {}
    return inner


def places_of(keys: Iterable[str]) -> list[str]:
    """Return the stored paths of payload keys, for all levels."""
    return [place for key in keys for place in (key, f"{ABOVE}.{key}")]


_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
#: Kinds of the payload indexes by path. Parents are few, and are read by id if their position is known.
_INDEXED_ABOVE = ("source_id", "level", "subject", "group_id")
INDEXES: Mapping[str, Kind] = {**INDEXED, **{f"{ABOVE}.{key}": INDEXED[key] for key in _INDEXED_ABOVE}}


def kept_at(place: str, payload: Payload) -> object:
    """Return the value of a stored payload under a path of `INDEXES`, or None."""
    key = place.removeprefix(f"{ABOVE}.")
    return payload.get(key) if (key != place) == bool(payload["level"]) else None


def roots_of(level: int | None) -> list[Path]:
    """Return the paths under which stored points keep the payloads of a level, or of all levels."""
    if level is None:
        return [(), (ABOVE,)]
    return [(ABOVE,)] if level else [()]


def level_of(conditions: Sequence[Condition]) -> int | None:
    """Return the level that the last condition requires, or None if there are several levels or all."""
    last = conditions[-1] if conditions else None
    if isinstance(last, OneOf) and len(last.integers) == 1 and last == OneOf("level", integers=last.integers):
        return last.integers[0]
    return None


def written_paths(roots: Iterable[Path], key: str) -> list[str]:
    """Return the possible paths of a filter's key in Qdrant's notation, quoted, so that a dot in a key is no step."""
    return [written((*root, *path)) for root in roots for path in paths_of(key)]


def written(path: Path) -> str:
    """Return a path in Qdrant's notation."""
    return "".join("[]" if step is None else f'."{step}"' for step in path)[1:]


def schema_path(path: Path) -> str:
    """Return a path in the notation of the engine's schema."""
    parts = ("[]" if step is None else "." + (step if _PLAIN.fullmatch(step) else f'"{step}"') for step in path)
    return "".join(parts)[1:]


def to_vectors(named: Any) -> Vectors:
    """Return the vectors of a record from its vectors by name."""
    dense = next((named[name] for name in DENSE if name in named), None)
    sparse = next((named[name] for name in SPARSE if name in named), None)
    return Vectors.of(dense, sparse and sparse.indices, sparse and sparse.values)


class FilterForms(NamedTuple):
    """Constructors of one client's filters.

    Attributes:
        group: Filter of lists of filters, given as `must`, `must_not` and `should`.
        has_id: Filter by ids.
        field: Filter of the values under a path by a `range` or a `match`.
        numbers: Range of numbers, from bounds by operator.
        times: Range of times.
        any_of: Match of some strings, or some integers.
        boolean: Match of a boolean.
        empty: Filter for a path without a value.
    """

    group: Callable[..., Any]
    has_id: Callable[[Sequence[str]], Any]
    field: Callable[..., Any]
    numbers: Callable[..., Any]
    times: Callable[[Mapping[str, datetime]], Any]
    any_of: Callable[[list[Any]], Any]
    boolean: Callable[[bool], Any]
    empty: Callable[[str], Any]


def filter_of(forms: FilterForms, conditions: Sequence[Condition], roots: Sequence[Path]) -> Any:
    """Return the filter of conditions on the payloads under some paths; None if everything matches."""
    return forms.group(must=[_filter(forms, each, roots) for each in conditions]) if conditions else None


def _filter(forms: FilterForms, condition: Condition, roots: Sequence[Path]) -> Any:
    if isinstance(condition, Not):
        return forms.group(must_not=[filter_of(forms, condition.conditions, roots)])
    if isinstance(condition, Either):
        return forms.group(should=[filter_of(forms, group, roots) for group in condition.groups])
    if isinstance(condition, HasId):
        return forms.group(must=[forms.has_id(condition.ids)])
    paths = written_paths(roots, condition.key)
    if isinstance(condition, OneOf):
        found = [match for path in paths for match in _matches(forms, path, condition)]
        found += [forms.group(must=[forms.empty(path) for path in paths])] if condition.empty else []
    else:
        numbers, times = forms.numbers, forms.times
        bounds = numbers(**condition.bounds) if isinstance(condition, Range) else times(condition.bounds)
        found = [forms.field(path, range=bounds) for path in paths]
    return found[0] if len(found) == 1 else forms.group(should=found)


def _matches(forms: FilterForms, path: str, condition: OneOf) -> list[Any]:
    # An empty match costs as much as any other, so it is used only if nothing can match.
    wanted = [forms.any_of(list(values)) for values in (condition.strings, condition.integers) if values]
    wanted += [forms.boolean(value) for value in condition.booleans]
    if not (wanted or condition.floats or condition.empty):
        wanted.append(forms.any_of([]))
    ranges = (dict(zip(("gte", "lte"), around(value), strict=True)) for value in condition.floats)
    found = [forms.field(path, match=match) for match in wanted]
    return found + [forms.field(path, range=forms.numbers(**bounds)) for bounds in ranges]


def count_sources(
    conditions: Sequence[Condition],
    payloads: Callable[[Sequence[Condition], Sequence[str]], Payloads],
    facet: Callable[[str], Mapping[str, int] | None],
) -> dict[str, int]:
    """Return the number of matching chunks by source, from functions that read and that count payloads by path.

    The second one returns None where it can't count all.
    """
    found = Counter[str]()
    # With names to look for, a facet would compare each of them with every source.
    if values_of(conditions, "source_id") is None:
        for root in roots_of(level_of(conditions)):
            counts = facet(".".join([*map(str, root), "source_id"]))
            if counts is None:
                break
            found.update(counts)
        else:
            return dict(sorted(found.items()))
    found = Counter(payload["source_id"] for payload in payloads(conditions, ("source_id",)).values())
    return dict(sorted(found.items()))
