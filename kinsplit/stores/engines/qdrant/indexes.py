"""Payload indexes of a collection on a Qdrant server: kinsplit's own, and those of filtered keys, made on first use.

Without an index, the server reads the payload of every point, or refuses the filter where strict mode says so. A key
has one index, whose type is that of its stored values. Where indexes are required, only conditions that its type can
answer are sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from qdrant_client import QdrantClient, models

from kinsplit.errors import StoreError, require
from kinsplit.stores.engines.qdrant.errors import is_forbidden
from kinsplit.stores.engines.qdrant.limits import CollectionLimits, once
from kinsplit.stores.engines.qdrant.payload import INDEXES, places_of, roots_of, schema_path, unwrapped, written
from kinsplit.stores.filters import (
    Condition,
    Either,
    HasId,
    Not,
    OneOf,
    Path,
    Range,
    TimeRange,
    paths_of,
    single_conditions,
    values_under,
)
from kinsplit.stores.payload import Payload
from kinsplit.stores.values import INDEXED

#: Smallest number of points for which an index is worthwhile where none is required.
_FEWEST_POINTS = 1000
#: Largest number of indexes besides kinsplit's own, so that queries can't fill the memory of the server.
_MOST_INDEXES = 32
#: Points that show what is stored under a key.
_SAMPLE = 100
#: A range index on integers makes writes slower, but a key has one index for equality and for bounds.
_INTEGER = models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=True)
_TYPES = {bool: "bool", int: "integer", float: "float", str: "keyword"}


def index_of(kind: str) -> Any:
    """Return the parameters of an index of a kind."""
    return _INTEGER if kind == "integer" else models.PayloadSchemaType(kind)


class ServerIndexes:
    """The payload indexes of a collection on a server. Thread-safe.

    Args:
        place: URL of the server, for the command of an administrator.
        name: Name of the collection, for errors.
        collection: Its own name.
        info: What the server tells of it.
    """

    def __init__(self, place: str, name: str, collection: str, info: models.CollectionInfo) -> None:
        self._place, self._name, self._collection = place, name, collection
        self._limits = CollectionLimits.of(info)
        self._kinds = {path: index.data_type.value for path, index in info.payload_schema.items()}
        # Keys that need no more attention until the next write, and those that no point has, each with its roots.
        self._settled: set[tuple[str, tuple[Path, ...]]] = set()
        self._absent: set[tuple[str, tuple[Path, ...]]] = set()
        self._lock = threading.RLock()

    def ready(self, client: QdrantClient, conditions: Sequence[Condition], level: int | None) -> Sequence[Condition]:
        """Make the indexes that conditions on a level need, and return the conditions that the server can answer.

        Raises:
            InvalidParameterError: A key needs an index, and can't have one.
            StoreError: A key needs an index, and the API key may not make it.
        """
        roots = tuple(roots_of(level))
        with self._lock:
            for condition in single_conditions(conditions):
                if not isinstance(condition, HasId):
                    self._prepare(client, condition, roots)
            return self._fitted(conditions, roots) if self._limits.indexed else conditions

    def written(self, client: QdrantClient, payloads: Iterable[Payload]) -> None:
        """Record payloads that are about to be written: an index of integers gives way to fractions."""
        with self._lock:
            self._settled.clear()
            self._absent.clear()
            integers = {path for path, kind in self._kinds.items() if kind == "integer" and path not in INDEXES}
            for payload in payloads if integers else ():
                for path in {path for path in integers if isinstance(payload.get(path.rpartition(".")[2]), float)}:
                    self._make(client, path, path, "float")
                    integers.discard(path)

    def _prepare(self, client: QdrantClient, condition: OneOf | Range | TimeRange, roots: tuple[Path, ...]) -> None:
        key = condition.key
        if (key, roots) in self._absent or (
            not self._limits.indexed and (key in INDEXED or (key, roots) in self._settled)
        ):
            return
        paths = {schema_path((*root, *path)): written((*root, *path)) for root in roots for path in paths_of(key)}
        lacking = [path for path in paths if not self._serves(path, condition)]
        if lacking and (self._limits.indexed or self._is_large(client)):
            kinds = [INDEXED[key]] if key in INDEXED else self._stored_kinds(client, key)
            for path in lacking:
                self._make(client, path, paths[path], self._kind(condition, kinds))
            if not kinds and self._limits.indexed:
                self._drop_unused(client, key, roots, {path: paths[path] for path in lacking})
        self._settled.add((key, roots))

    def _drop_unused(self, client: QdrantClient, key: str, roots: tuple[Path, ...], made: Mapping[str, str]) -> None:
        """Delete the new indexes of a key that no point has, such as a misspelt one."""
        empty = [models.IsEmptyCondition(is_empty=models.PayloadField(key=quoted)) for quoted in made.values()]
        wanted = models.Filter(must_not=[models.Filter(must=[*empty])])
        found, _ = once(self._name, lambda: client.scroll(self._collection, wanted, limit=1, with_payload=False))
        if not found:
            for path, quoted in made.items():
                once(self._name, partial(client.delete_payload_index, self._collection, quoted, wait=True))
                del self._kinds[path]
            self._absent.add((key, roots))

    def _serves(self, path: str, condition: OneOf | Range | TimeRange) -> bool:
        """Return whether a path has an index; where one is required, strings also need that of the right type."""
        kind = self._kinds.get(path)
        if not self._limits.indexed or kind not in ("keyword", "datetime"):
            return kind is not None
        if isinstance(condition, OneOf):
            return kind == "keyword" or not condition.strings
        return kind == "datetime" or isinstance(condition, Range)

    def _is_large(self, client: QdrantClient) -> bool:
        return (client.get_collection(self._collection).points_count or 0) >= _FEWEST_POINTS

    def _stored_kinds(self, client: QdrantClient, key: str) -> list[str]:
        """Return the kinds of index for what some points have under a key."""
        limit, shown = min(_SAMPLE, self._limits.page), places_of({str(path[0]) for path in paths_of(key)})
        records, _ = once(self._name, lambda: client.scroll(self._collection, limit=limit, with_payload=shown))
        stored = [value for record in records for value in values_under(unwrapped(record.payload), paths_of(key))]
        values = [one for value in stored for one in (value if isinstance(value, list) else [value])]
        found = {_TYPES[type(value)] for value in values if type(value) in _TYPES}
        return ["float"] if found == {"integer", "float"} else sorted(found)

    def _kind(self, condition: OneOf | Range | TimeRange, stored: Sequence[str]) -> str:
        """Return the kind of index for a key: that of its stored values, or else of those that are looked for."""
        if not stored:
            asked = condition.values if isinstance(condition, OneOf) else [0.0 if isinstance(condition, Range) else ""]
            stored = [_TYPES[type(value)] for value in asked[:1] or [""]]
        rule = "needs values of one type, since this collection answers filters of indexed keys only"
        remedy = "Store values of one type, or switch off unindexed_filtering_retrieve in the collection's strict mode."
        is_one = len(stored) == 1 or not self._limits.indexed
        require(is_one, f"where[{condition.key!r}]", rule, ", ".join(stored), remedy)
        return "datetime" if stored[0] == "keyword" and isinstance(condition, TimeRange) else stored[0]

    def _make(self, client: QdrantClient, path: str, quoted: str, kind: str) -> None:
        """Make an index, in the place of the one that there is; where none is required, only if that is allowed."""
        own, most = len([each for each in self._kinds if each in INDEXES]), self._limits.indexes
        has_room = len(self._kinds) - own < _MOST_INDEXES and (most is None or len(self._kinds) < most)
        if path not in self._kinds and not has_room:
            rule = f"needs a payload index, and the collection has {len(self._kinds)} already"
            remedy = "Delete one that no filter needs, or store several facts under one key."
            require(not self._limits.indexed, f"where[{path!r}]", rule, path, remedy)
            return

        def send() -> None:
            if path in self._kinds:
                client.delete_payload_index(self._collection, quoted, wait=True)
            client.create_payload_index(self._collection, quoted, index_of(kind), wait=True)

        try:
            once(self._name, send, is_write=True)
        except Exception as error:
            if not is_forbidden(error):
                raise
            if self._limits.indexed:
                raise self._refused(quoted, kind) from error
        else:
            self._kinds[path] = kind

    def _refused(self, quoted: str, kind: str) -> StoreError:
        parameters = index_of(kind).model_dump(mode="json", exclude_none=True) if kind == "integer" else kind
        body = json.dumps({"field_name": quoted, "field_schema": parameters})
        url = f"{self._place}/collections/{self._collection}/index?wait=true"
        command = f"curl -X PUT '{url}' -H 'api-key: ...' -H 'content-type: application/json' -d '{body}'"
        return StoreError(
            f"{self._name}: filters by {quoted} need a payload index, which this API key may not make. Filter by it "
            f"once with a key that may manage the collection, or let an administrator run: {command}"
        )

    def _fitted(self, conditions: Iterable[Condition], roots: tuple[Path, ...]) -> tuple[Condition, ...]:
        return tuple(self._fit(each, roots) for each in conditions)

    def _fit(self, condition: Condition, roots: tuple[Path, ...]) -> Condition:
        """Return a condition without the values that are of another type than what is stored, and match nothing."""
        if isinstance(condition, HasId):
            return condition
        if isinstance(condition, Not):
            return Not(self._fitted(condition.conditions, roots))
        if isinstance(condition, Either):
            return Either(tuple(self._fitted(group, roots) for group in condition.groups))
        nothing = OneOf(condition.key)
        if (condition.key, roots) in self._absent:
            return Not((nothing,)) if isinstance(condition, OneOf) and condition.empty else nothing
        kind = self._kinds.get(schema_path((*roots[0], *paths_of(condition.key)[0])))
        if not isinstance(condition, OneOf):
            fits = kind in ("integer", "float") if isinstance(condition, Range) else kind == "datetime"
            return condition if fits else nothing
        return replace(
            condition,
            strings=condition.strings if kind in ("keyword", "uuid") else (),
            integers=condition.integers if kind == "integer" else (),
            floats=condition.floats + tuple(map(float, condition.integers)) if kind == "float" else (),
            booleans=condition.booleans if kind == "bool" else (),
        )
