"""Layout of payloads in Qdrant and Qdrant Edge: leaves at top level, parents and documents under one key.

Filters of other programs on a leaf's keys, such as those of the frameworks' own stores, therefore match leaves only. A
separate collection for parents and documents would cost every search a second request and every sync a second write,
with a risk of being interrupted in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kinsplit.chunk import ABOVE
from kinsplit.stores.filters import Condition, OneOf, Path, paths_of
from kinsplit.stores.payload import Payload
from kinsplit.stores.schema import INDEXED, Kind


def wrapped(payload: Payload) -> Payload:
    """Return a payload in its stored form."""
    return {ABOVE: payload} if payload["level"] else payload


def unwrapped(kept: Payload | None) -> Payload:
    """Return the payload of a stored form, or those of its keys that were read."""
    found: Payload = kept or {}
    inner: Payload = found.get(ABOVE, found)
    return inner


def places_of(keys: Iterable[str]) -> list[str]:
    """Return the stored paths of payload keys, for all levels."""
    return [place for key in keys for place in (key, f"{ABOVE}.{key}")]


#: Kinds of the payload indexes by path. Parents are few, and are read by id if their position is known.
INDEXES: Mapping[str, Kind] = {
    **INDEXED,
    **{f"{ABOVE}.{key}": INDEXED[key] for key in ("source_id", "level", "subject", "group_id")},
}


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
