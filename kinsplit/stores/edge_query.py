"""kinsplit's queries and filters as Qdrant Edge's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.conditions import Condition
from kinsplit.stores.layout import DENSE, sparse_name
from kinsplit.stores.protocol import Query

if TYPE_CHECKING:
    from qdrant_edge import Filter, QueryRequest


def to_request(query: Query, level: int | None, conditions: Sequence[Condition]) -> QueryRequest:
    """Return the request for one query; a sparse one has a level."""
    import qdrant_edge as qe

    if isinstance(query.vector, SparseVector):
        sparse = qe.SparseVector(list(query.vector.indices), list(query.vector.values))
        nearest = qe.Query.Nearest(sparse, using=sparse_name(level or 0))
    else:
        nearest = qe.Query.Nearest(query.vector.tolist(), using=DENSE)
    return qe.QueryRequest(limit=query.limit, query=nearest, filter=to_filter(conditions), with_payload=True)


def to_filter(conditions: Sequence[Condition]) -> Filter | None:
    """Return the filter for conditions, or None where everything matches."""
    import qdrant_edge as qe

    return qe.Filter(must=[_filter(condition) for condition in conditions]) if conditions else None


def _filter(condition: Condition) -> Filter:
    import qdrant_edge as qe

    path = f'"{condition.key}"'  # Quoted, a dot in the key is no step into a nested value.
    matches = [qe.MatchAny(list(condition.strings)), qe.MatchAny(list(condition.integers))]
    return qe.Filter(should=[qe.FieldCondition(path, match=match) for match in matches])
