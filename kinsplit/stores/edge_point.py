"""kinsplit's payloads and vectors as Qdrant Edge's points, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.layout import DENSE, SPARSE, sparse_name
from kinsplit.stores.payload import Payload
from kinsplit.stores.protocol import Vectors

if TYPE_CHECKING:
    from qdrant_edge import Point, Record


def to_point(id_: str, payload: Payload, vectors: Vectors) -> Point:
    """Return the point of a chunk; its level decides under which name the sparse vector is kept."""
    import qdrant_edge as qe

    named: dict[str, Any] = {DENSE: vectors.dense.tolist()}
    if vectors.sparse is not None:
        sparse = qe.SparseVector(list(vectors.sparse.indices), list(vectors.sparse.values))
        named[sparse_name(payload["level"])] = sparse
    return qe.Point(id_, named, payload)


def to_vectors(record: Record) -> Vectors:
    """Return the vectors of a point that was read with them."""
    named = cast("dict[str, Any]", record.vector)
    sparse = next((named[name] for name in SPARSE if name in named), None)
    return Vectors(
        np.asarray(named[DENSE], dtype=np.float32),
        None if sparse is None else SparseVector(tuple(sparse.indices), tuple(sparse.values)),
    )
