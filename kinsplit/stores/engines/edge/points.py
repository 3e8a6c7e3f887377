"""Conversion of chunks, queries and filters to Qdrant Edge's types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.engines.qdrant.payload import level_of, roots_of, wrapped, written_paths
from kinsplit.stores.filters import Condition, Either, HasId, Not, OneOf, Path, Range, TimeRange, to_conditions
from kinsplit.stores.json_values import around
from kinsplit.stores.payload import Payload
from kinsplit.stores.schema import DENSE, SPARSE, layer_of
from kinsplit.stores.values import Query, Vectors

if TYPE_CHECKING:
    from qdrant_edge import FieldCondition, Filter, Point, QueryRequest, Record

# How many times as many vectors as wanted, and how many at least, are compared exactly in each segment, after a
# comparison of all by their copies of four bits per dimension. Of 229,000 vectors in two segments, the nearest ten are
# found with three times as many and 87 % of them without any more; twice as many find the nearest hundred. Each is read
# from another page.
_OVERSAMPLING, _LEAST = 2.0, 40


def to_request(query: Query, *, whole: bool) -> QueryRequest:
    """Return the request of a query, with whole payloads or none."""
    import qdrant_edge as qe

    layer = layer_of(query.level)
    if isinstance(query.vector, SparseVector):
        sparse = qe.SparseVector(list(query.vector.indices), list(query.vector.values))
        nearest = qe.Query.Nearest(sparse, using=layer.sparse)
    else:
        nearest = qe.Query.Nearest(query.vector.tolist(), using=layer.dense)
    # A vector name that only one level uses needs no filter by level, which would take half as long again.
    conditions = to_conditions(query.level if len(layer.levels) > 1 else None, query.where)
    wanted = _all(conditions, roots_of(query.level)) if conditions else None
    oversampling = max(_OVERSAMPLING, _LEAST / query.limit)
    params = qe.SearchParams(quantization=qe.QuantizationSearchParams(rescore=True, oversampling=oversampling))
    return qe.QueryRequest(query.limit, query=nearest, filter=wanted, with_payload=whole, params=params)


def to_filter(conditions: Sequence[Condition]) -> Filter | None:
    """Return the filter of conditions, or None if everything matches."""
    return _all(conditions, roots_of(level_of(conditions))) if conditions else None


def _all(conditions: Sequence[Condition], roots: Sequence[Path]) -> Filter:
    import qdrant_edge as qe

    return qe.Filter(must=[_filter(condition, roots) for condition in conditions])


def _filter(condition: Condition, roots: Sequence[Path]) -> Filter | FieldCondition:
    import qdrant_edge as qe

    if isinstance(condition, Not):
        return qe.Filter(must_not=[_all(condition.conditions, roots)])
    if isinstance(condition, Either):
        return qe.Filter(should=[_all(group, roots) for group in condition.groups])
    if isinstance(condition, HasId):
        return qe.Filter(must=[qe.HasIdCondition(set(condition.ids))])
    paths = written_paths(roots, condition.key)
    if isinstance(condition, Range):
        bounds = qe.RangeFloat(**condition.bounds)
        return _any([qe.FieldCondition(path, range=bounds) for path in paths])
    if isinstance(condition, TimeRange):
        times = qe.RangeDateTime(**{name: time.isoformat() for name, time in condition.bounds.items()})
        return _any([qe.FieldCondition(path, range=times) for path in paths])
    return _any([match for path in paths for match in _matches(path, condition)] + _empty(paths, condition))


def _matches(path: str, condition: OneOf) -> list[Any]:
    import qdrant_edge as qe

    # An empty match costs as much as any other, so it is used only if nothing can match.
    wanted: list[Any] = [qe.MatchAny(list(condition.strings))] if condition.strings else []
    wanted += [qe.MatchAny(list(condition.integers))] if condition.integers else []
    wanted += [qe.MatchValue(cast(Any, _boolean(value))) for value in condition.booleans]
    if not (wanted or condition.floats or condition.empty):
        wanted.append(qe.MatchAny([]))
    found = [qe.FieldCondition(path, match=match) for match in wanted]
    for value in condition.floats:
        lowest, highest = around(value)
        found.append(qe.FieldCondition(path, range=qe.RangeFloat(gte=lowest, lte=highest)))
    return found


def _boolean(value: bool) -> object:
    """Return a boolean that isn't an integer too.

    The engine takes whatever can be an integer for one, as Python's booleans can, and NumPy's before version 2.3; other
    booleans it knows by the name of NumPy's type.
    """
    return type("bool", (), {"__module__": "numpy", "__bool__": lambda _: value})()


def _empty(paths: Sequence[str], condition: OneOf) -> list[Any]:
    import qdrant_edge as qe

    return [qe.Filter(must=[qe.IsEmptyCondition(path) for path in paths])] if condition.empty else []


def _any(conditions: list[Any]) -> Filter | FieldCondition:
    import qdrant_edge as qe

    found: Filter | FieldCondition = conditions[0] if len(conditions) == 1 else qe.Filter(should=conditions)
    return found


def to_point(id_: str, payload: Payload, vectors: Vectors) -> Point:
    """Return the point of a chunk, whose level determines the names of its vectors."""
    import qdrant_edge as qe

    layer = layer_of(payload["level"])
    named: dict[str, Any] = {}
    if vectors.dense is not None and layer.dense is not None:
        # A memory view, since a list would hold an object per number.
        named[layer.dense] = np.asarray(vectors.dense, dtype=np.float32).data
    if vectors.sparse is not None:
        sparse = qe.SparseVector(list(vectors.sparse.indices), list(vectors.sparse.values))
        named[layer.sparse] = sparse
    return qe.Point(id_, named, wrapped(payload))


def to_vectors(record: Record) -> Vectors:
    """Return the vectors of a record."""
    named = cast("dict[str, Any]", record.vector)
    dense = next((named[name] for name in DENSE if name in named), None)
    sparse = next((named[name] for name in SPARSE if name in named), None)
    return Vectors(
        None if dense is None else np.asarray(dense, dtype=np.float32),
        None if sparse is None else SparseVector(tuple(sparse.indices), tuple(sparse.values)),
    )
