"""Names that all engines share: vectors and payload indexes of a collection."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from kinsplit.chunk import DOCUMENT

Kind: TypeAlias = Literal["keyword", "integer", "uuid"]


class Layer(NamedTuple):
    """Levels whose vectors have names of their own, and with them an index and an IDF of their own.

    Attributes:
        levels: The levels.
        dense: Name of their dense vector, or None where they have none.
        sparse: Name of their sparse vector.
    """

    levels: range
    dense: str | None
    sparse: str


#: Leaves, parents and whole documents. Whoever asks for the vector "dense", as the frameworks' own Qdrant stores do,
#: finds leaves alone.
LAYERS = (
    Layer(range(1), "dense", "bm25"),
    Layer(range(1, DOCUMENT), "dense_parent", "bm25_parent"),
    Layer(range(DOCUMENT, DOCUMENT + 1), None, "bm25_document"),
)

DENSE = tuple(layer.dense for layer in LAYERS if layer.dense)
SPARSE = tuple(layer.sparse for layer in LAYERS)

#: Payload keys that filters use, with the kind of their values.
INDEXED: dict[str, Kind] = {
    "source_id": "keyword",
    "chunk_index": "integer",
    "level": "integer",
    "parent_id": "uuid",
    "subject": "keyword",
    "group_id": "keyword",
}


def layer_of(level: int) -> Layer:
    """Return the layer of a level from 0 to `DOCUMENT`."""
    return next(layer for layer in LAYERS if level in layer.levels)
