"""Names that all Qdrant engines share: vectors and payload indexes of a collection."""

from __future__ import annotations

from typing import Literal

DENSE = "dense"

#: Sparse vectors of leaves, of their parents, and of everything above: each level has its own IDF.
SPARSE = ("bm25", "bm25_parent", "bm25_document")

#: Payload keys that filters use, with the kind of their values.
INDEXED: dict[str, Literal["keyword", "integer", "uuid"]] = {
    "source_id": "keyword",
    "chunk_index": "integer",
    "level": "integer",
    "parent_id": "uuid",
    "subject": "keyword",
    "group_id": "keyword",
}


def sparse_name(level: int) -> str:
    """Return the name of the sparse vector that chunks of a level carry."""
    return SPARSE[min(max(level, 0), len(SPARSE) - 1)]
