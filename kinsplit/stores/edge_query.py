"""kinsplit's queries and filters as Qdrant Edge's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.conditions import Condition, Either, Not, Range, to_conditions
from kinsplit.stores.layout import layer_of
from kinsplit.stores.protocol import Query

if TYPE_CHECKING:
    from qdrant_edge import FieldCondition, Filter, QueryRequest


def to_request(query: Query, *, whole: bool) -> QueryRequest:
    """Return the request for one query, for whole payloads or for none."""
    import qdrant_edge as qe

    layer = layer_of(query.level)
    if isinstance(query.vector, SparseVector):
        sparse = qe.SparseVector(list(query.vector.indices), list(query.vector.values))
        nearest = qe.Query.Nearest(sparse, using=layer.sparse)
    else:
        nearest = qe.Query.Nearest(query.vector.tolist(), using=layer.dense)
    # Where a vector's name is that of one level alone it says enough, and a filter would cost half as much again.
    wanted = to_filter(to_conditions(query.level if len(layer.levels) > 1 else None, query.where))
    return qe.QueryRequest(query.limit, query=nearest, filter=wanted, with_payload=whole)


def to_filter(conditions: Sequence[Condition]) -> Filter | None:
    """Return the filter for conditions, or None where everything matches."""
    return _all(conditions) if conditions else None


def _all(conditions: Sequence[Condition]) -> Filter:
    import qdrant_edge as qe

    return qe.Filter(must=[_filter(condition) for condition in conditions])


def _filter(condition: Condition) -> Filter | FieldCondition:
    import qdrant_edge as qe

    if isinstance(condition, Not):
        return qe.Filter(must_not=[_all(condition.conditions)])
    if isinstance(condition, Either):
        return qe.Filter(should=[_all(group) for group in condition.groups])
    path = f'"{condition.key}"'  # Quoted, a dot in the key is no step into a nested value.
    if isinstance(condition, Range):
        return qe.Filter(must=[qe.FieldCondition(path, range=qe.RangeFloat(**condition.bounds))])
    # An empty match costs as much as another, so there is one only where nothing is to be found.
    matches = [qe.MatchAny(list(condition.integers))] if condition.integers else []
    if condition.strings or not condition.integers:
        matches.append(qe.MatchAny(list(condition.strings)))
    either: list[Any] = [qe.FieldCondition(path, match=match) for match in matches]
    return either[0] if len(either) == 1 else qe.Filter(should=either)
