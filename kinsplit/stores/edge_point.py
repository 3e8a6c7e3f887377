"""kinsplit's payloads and vectors as Qdrant Edge's points, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.layout import DENSE, SPARSE, layer_of
from kinsplit.stores.payload import Payload
from kinsplit.stores.protocol import Vectors
from kinsplit.stores.qdrant_payload import wrapped

if TYPE_CHECKING:
    from qdrant_edge import Point, Record


def to_point(id_: str, payload: Payload, vectors: Vectors) -> Point:
    """Return the point of a chunk; its level decides under which names the vectors are kept."""
    import qdrant_edge as qe

    layer = layer_of(payload["level"])
    named: dict[str, Any] = {}
    if vectors.dense is not None and layer.dense is not None:
        # A memory view, which the engine takes too: a list would hold an object for each number.
        named[layer.dense] = np.asarray(vectors.dense, dtype=np.float32).data
    if vectors.sparse is not None:
        sparse = qe.SparseVector(list(vectors.sparse.indices), list(vectors.sparse.values))
        named[layer.sparse] = sparse
    return qe.Point(id_, named, wrapped(payload))


def to_vectors(record: Record) -> Vectors:
    """Return the vectors of a point that was read with them."""
    named = cast("dict[str, Any]", record.vector)
    dense = next((named[name] for name in DENSE if name in named), None)
    sparse = next((named[name] for name in SPARSE if name in named), None)
    return Vectors(
        None if dense is None else np.asarray(dense, dtype=np.float32),
        None if sparse is None else SparseVector(tuple(sparse.indices), tuple(sparse.values)),
    )
