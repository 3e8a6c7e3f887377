"""Payload indexes: kinsplit's own, which a collection gets as it grows, and those of filtered keys, made on first use.

With all of its own, an empty collection would take twice as long to create. Without an index, the engine reads the
payload of every point: 50 ms for 20,000. Only equality with strings, integers
and booleans is indexed, since it gives the same results with and without an index; an ordered index on numbers would
miss dates, and floats among integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import qdrant_edge as qe

from kinsplit.stores.engines.qdrant.payload import INDEXES, roots_of, schema_path, written
from kinsplit.stores.filters import Condition, OneOf, Path, paths_of, single_conditions
from kinsplit.stores.values import INDEXED

Kind = Literal["keyword", "integer", "bool"]

#: kinsplit's own indexes that every collection has, since sources are counted by them.
SOURCES = tuple(path for path in INDEXES if path.endswith("source_id"))
#: Index that orders the points of a read-only segment: first parents and documents, which have no such value, then
#: leaves by document. In the random order of a segment without one, comparing the vectors of a level takes three times
#: as long, since those of other levels lie between them.
_ORDERING = "source_id"
#: Smallest number of points for which an index is worthwhile.
_FEWEST_POINTS = 1000
#: Largest number of indexes besides kinsplit's own, so that queries can't fill the disk.
_MOST_INDEXES = 32
_KINDS: dict[str, Any] = {
    "keyword": qe.PayloadSchemaType.Keyword,
    # A range index would be a second index and make writes an eighth slower.
    "integer": qe.IntegerIndexParams(lookup=True, range=False),
    "uuid": qe.PayloadSchemaType.Uuid,
    "bool": qe.PayloadSchemaType.Bool,
}


class _Key(NamedTuple):
    """A key of a filter, in the payloads of leaves or of parents and documents."""

    root: Path
    key: str

    @property
    def paths(self) -> list[Path]:
        return [(*self.root, *path) for path in paths_of(self.key)]


def add_indexes(shard: qe.EdgeShard, paths: Iterable[str]) -> None:
    """Create some of kinsplit's own indexes."""
    for path in paths:
        kind = qe.KeywordIndexParams(is_tenant=True) if path == _ORDERING else _KINDS[INDEXES[path]]
        shard.update(qe.UpdateOperation.create_field_index(path, kind))


class KeyIndexes:
    """The indexes of one shard. The caller of `make` and `lacking` excludes other writers."""

    def __init__(self) -> None:
        self._has_own = False
        # Paths that have an index or can't have one, and keys that no point had before the next write.
        self._decided: set[Path] = set()
        self._absent: set[_Key] = set()

    def lacking(self, shard: qe.EdgeShard) -> list[str]:
        """Return the paths of kinsplit's own indexes that the shard lacks and has become large enough for."""
        if self._has_own:
            return []
        info = shard.info()
        if info.points_count < _FEWEST_POINTS:
            return []
        found = [path for path in INDEXES if path not in info.payload_schema]
        self._has_own = not found
        return found

    def missing(self, conditions: Sequence[Condition]) -> dict[_Key, Kind]:
        """Return the filtered keys that may profit from a new index, with the kind of index."""
        keys = ((_Key(root, key), kind) for key, kind in _equalities(conditions) for root in roots_of(None))
        return {key: kind for key, kind in keys if key not in self._absent and not self._decided.issuperset(key.paths)}

    def make(self, shard: qe.EdgeShard, wanted: Mapping[_Key, Kind]) -> bool:
        """Create the indexes that are worthwhile and return whether there were any."""
        info = shard.info()
        if info.points_count < _FEWEST_POINTS:
            return False
        found = set(info.payload_schema)
        made = False
        for key, kind in wanted.items():
            new = [path for path in key.paths if schema_path(path) not in found]
            if new and len(found) + len(new) <= len(INDEXES) + _MOST_INDEXES:
                empty = qe.Filter(must=[qe.IsEmptyCondition(written(path)) for path in key.paths])
                if not shard.count(qe.CountRequest(filter=qe.Filter(must_not=[empty]))):
                    self._absent.add(key)
                    continue
                for path in new:
                    shard.update(qe.UpdateOperation.create_field_index(written(path), _KINDS[kind]))
                    found.add(schema_path(path))
                    made = True
            self._decided.update(key.paths)
        return made

    def written(self) -> None:
        """Record a write, which may have added new keys."""
        self._absent.clear()


def _equalities(conditions: Sequence[Condition]) -> Iterator[tuple[str, Kind]]:
    for condition in single_conditions(conditions):
        if isinstance(condition, OneOf) and condition.key not in INDEXED and not condition.floats:
            kinds: dict[Kind, Sequence[object]]
            kinds = {"keyword": condition.strings, "integer": condition.integers, "bool": condition.booleans}
            given = [kind for kind, values in kinds.items() if values]
            # A key has one index, so a filter with values of two kinds reads every payload anyway.
            if len(given) == 1:
                yield condition.key, given[0]
