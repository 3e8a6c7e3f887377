"""kinsplit's queries and filters as Qdrant Edge's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kinsplit.embedding.protocol import SparseVector
from kinsplit.embedding.texts import replace_surrogates
from kinsplit.errors import InvalidParameterError
from kinsplit.stores.layout import DENSE, sparse_name
from kinsplit.stores.protocol import Query, Scalar, Where

if TYPE_CHECKING:
    from qdrant_edge import Filter, QueryRequest


def to_request(query: Query, dimension: int, level: int | None, where: Where | None) -> QueryRequest:
    """Return the request for one query.

    Raises:
        InvalidParameterError: See `ChunkStore.search`.
    """
    import qdrant_edge as qe

    if isinstance(query.vector, SparseVector):
        if level is None:
            remedy = "Ask each level on its own, or leave the bm25 query out."
            raise InvalidParameterError("level", "must be given for 'bm25', whose IDF is per level", level, remedy)
        sparse = qe.SparseVector(list(query.vector.indices), list(query.vector.values))
        nearest = qe.Query.Nearest(sparse, using=sparse_name(level))
    else:
        if query.vector.shape != (dimension,):
            rule = f"must be of shape ({dimension},), as the collection's schema says"
            remedy = "Embed with the collection's model."
            raise InvalidParameterError("vector", rule, query.vector.shape, remedy)
        nearest = qe.Query.Nearest(query.vector.tolist(), using=DENSE)
    return qe.QueryRequest(limit=query.limit, query=nearest, filter=to_filter(level, where), with_payload=True)


def to_filter(level: int | None, where: Where | None) -> Filter | None:
    """Return the filter for a level and payload values, or None where everything matches."""
    import qdrant_edge as qe

    conditions = [_condition(key, values) for key, values in (where or {}).items()]
    if level is not None:
        conditions.append(_condition("level", level))
    return qe.Filter(must=[*conditions]) if conditions else None


def _condition(key: str, wanted: Scalar | Sequence[Scalar]) -> Filter:
    """Return the condition that a payload key has the value, or one of the values."""
    import qdrant_edge as qe

    values = wanted if isinstance(wanted, list | tuple) else [wanted]
    if '"' in key:
        raise InvalidParameterError("where", "can't filter by a key with a quotation mark", key, "Rename the key.")
    for value in values:
        if not isinstance(value, str | int) or isinstance(value, bool):
            remedy = "Filter by another key, or store the value as a string."
            raise InvalidParameterError(f"where[{key!r}]", "must be strings or integers", value, remedy)
    path = f'"{key}"'  # Quoted, a dot in the key is no step into a nested value.
    strings = [replace_surrogates(value) for value in values if isinstance(value, str)]
    integers = [value for value in values if isinstance(value, int)]
    matches = [qe.MatchAny(strings), qe.MatchAny(integers)]
    return qe.Filter(should=[qe.FieldCondition(path, match=match) for match in matches])
