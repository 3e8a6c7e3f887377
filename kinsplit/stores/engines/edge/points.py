"""Conversion of chunks, queries and filters to Qdrant Edge's types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import qdrant_edge as qe

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.engines.qdrant.payload import FilterForms, filter_of, level_of, roots_of, wrapped
from kinsplit.stores.filters import Condition, to_conditions
from kinsplit.stores.payload import Payload
from kinsplit.stores.values import Query, Vectors, layer_of

# How many times as many vectors as wanted, and how many at least, are compared exactly in each segment, after a
# comparison of all by their copies of four bits per dimension. Of 229,000 vectors in two segments, the nearest ten are
# found with three times as many and 87 % of them without any more; twice as many find the nearest hundred. Each is read
# from another page.
_OVERSAMPLING, _LEAST = 2.0, 40


def to_request(query: Query) -> qe.QueryRequest:
    """Return the request of a query, without payloads."""
    layer = layer_of(query.level)
    if isinstance(query.vector, SparseVector):
        sparse = qe.SparseVector(list(query.vector.indices), list(query.vector.values))
        nearest = qe.Query.Nearest(sparse, using=layer.sparse)
    else:
        nearest = qe.Query.Nearest(query.vector.tolist(), using=layer.dense)
    # A vector name that only one level uses needs no filter by level, which would take half as long again.
    conditions = to_conditions(query.level if len(layer.levels) > 1 else None, query.where)
    wanted = filter_of(_FORMS, conditions, roots_of(query.level))
    oversampling = max(_OVERSAMPLING, _LEAST / query.limit)
    params = qe.SearchParams(quantization=qe.QuantizationSearchParams(rescore=True, oversampling=oversampling))
    return qe.QueryRequest(query.limit, query=nearest, filter=wanted, params=params)


def to_filter(conditions: Sequence[Condition]) -> qe.Filter | None:
    """Return the filter of conditions, or None if everything matches."""
    found: qe.Filter | None = filter_of(_FORMS, conditions, roots_of(level_of(conditions)))
    return found


_FORMS = FilterForms(
    group=qe.Filter,
    has_id=lambda ids: qe.HasIdCondition(set(ids)),
    field=qe.FieldCondition,
    numbers=qe.RangeFloat,
    times=lambda bounds: qe.RangeDateTime(**{name: time.isoformat() for name, time in bounds.items()}),
    any_of=qe.MatchAny,
    boolean=lambda value: qe.MatchValue(cast(Any, _boolean(value))),
    empty=qe.IsEmptyCondition,
)


def _boolean(value: bool) -> object:
    """Return a boolean that isn't an integer too.

    The engine takes whatever can be an integer for one, as Python's booleans can, and NumPy's before version 2.3; other
    booleans it knows by the name of NumPy's type.
    """
    return type("bool", (), {"__module__": "numpy", "__bool__": lambda _: value})()


def to_point(id_: str, payload: Payload, vectors: Vectors) -> qe.Point:
    """Return the point of a chunk, whose level determines the names of its vectors."""
    layer = layer_of(payload["level"])
    named: dict[str, Any] = {}
    if vectors.dense is not None and layer.dense is not None:
        # A memory view, since a list would hold an object per number.
        named[layer.dense] = np.asarray(vectors.dense, dtype=np.float32).data
    if vectors.sparse is not None:
        sparse = qe.SparseVector(list(vectors.sparse.indices), list(vectors.sparse.values))
        named[layer.sparse] = sparse
    return qe.Point(id_, named, wrapped(payload))
