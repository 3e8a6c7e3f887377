"""kinsplit's payloads, vectors, queries and filters as qdrant-client's models, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.conditions import Condition
from kinsplit.stores.layout import DENSE, SPARSE, sparse_name
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan
from kinsplit.stores.protocol import Query, Vectors

if TYPE_CHECKING:
    from qdrant_client import models


def to_point(id_: str, payload: Payload, vectors: Vectors) -> models.PointStruct:
    """Return the point of a chunk; its level decides under which name the sparse vector is kept."""
    from qdrant_client import models

    named: dict[str, Any] = {DENSE: vectors.dense.tolist()}
    # An empty one would count in the IDF of the client's local mode, as it does nowhere else.
    if vectors.sparse is not None and vectors.sparse.indices:
        sparse = models.SparseVector(indices=list(vectors.sparse.indices), values=list(vectors.sparse.values))
        named[sparse_name(payload["level"])] = sparse
    return models.PointStruct(id=id_, vector=named, payload=payload)


def to_vectors(record: models.Record) -> Vectors:
    """Return the vectors of a point that was read with them."""
    named = cast("dict[str, Any]", record.vector)
    sparse = next((named[name] for name in SPARSE if name in named), None)
    return Vectors(
        np.asarray(named[DENSE], dtype=np.float32),
        None if sparse is None else SparseVector(tuple(sparse.indices), tuple(sparse.values)),
    )


def to_operations(plan: Plan, vectors: Mapping[str, Vectors]) -> Iterator[models.UpdateOperation]:
    """Yield the writes of a plan, one per point and one for all deletions, in the order in which they must happen."""
    from qdrant_client import models

    for id_, payload in plan.upserts:
        points = models.PointsList(points=[to_point(id_, payload, vectors[payload["content_hash"]])])
        yield models.UpsertOperation(upsert=points)
    for id_, payload in plan.payloads:
        yield models.OverwritePayloadOperation(overwrite_payload=models.SetPayload(payload=payload, points=[id_]))
    if plan.deletes:
        yield models.DeleteOperation(delete=models.PointIdsList(points=list(plan.deletes)))


def to_request(query: Query, level: int | None, conditions: Sequence[Condition]) -> models.QueryRequest:
    """Return the request for one query; a sparse one has a level."""
    from qdrant_client import models

    vector: Any
    if isinstance(query.vector, SparseVector):
        vector = models.SparseVector(indices=list(query.vector.indices), values=list(query.vector.values))
        using = sparse_name(level or 0)
    else:
        vector, using = query.vector.tolist(), DENSE
    return models.QueryRequest(
        query=models.NearestQuery(nearest=vector),
        using=using,
        limit=query.limit,
        filter=to_filter(conditions),
        with_payload=True,
    )


def to_filter(conditions: Sequence[Condition]) -> models.Filter | None:
    """Return the filter for conditions, or None where everything matches."""
    from qdrant_client import models

    return models.Filter(must=[_filter(condition) for condition in conditions]) if conditions else None


def _filter(condition: Condition) -> models.Filter:
    from qdrant_client import models

    path = f'"{condition.key}"'  # Quoted, a dot in the key is no step into a nested value.
    matches = [models.MatchAny(any=list(condition.strings)), models.MatchAny(any=list(condition.integers))]
    return models.Filter(should=[models.FieldCondition(key=path, match=match) for match in matches])
