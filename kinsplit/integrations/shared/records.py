"""Conversion of a framework's nodes and documents to chunks that any store takes, and back without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import PLACED, RECORD, RESERVED, Beside, Chunk
from kinsplit.details import DETAILS, whole
from kinsplit.identity import chunk_id, content_hash
from kinsplit.integrations.shared.origins import is_chunk, spans_of
from kinsplit.spans import Span, stretches
from kinsplit.stores.json_values import to_json
from kinsplit.stores.payload import to_metadata, to_payload
from kinsplit.stores.values import UUID


class Item(NamedTuple):
    """A node or a document, without its vector."""

    id: str
    text: str
    metadata: Mapping[str, Any]  # Values that `kinsplit.stores.json_values.to_json` accepts.
    source_id: str  # Id of the document that it is, or is a part of.
    span: Span | None = None  # Position in that document, if that is known.
    own: Mapping[str, Any] | None = None  # The framework's own fields, as JSON.


def stored_id(id_: str) -> str:
    """Return the id under which a store keeps an item: the id itself if it is a UUID, or one derived from it."""
    return id_ if UUID.fullmatch(id_) else chunk_id(id_, "", 0, 0)


def to_chunk(item: Item, vector: NDArray[np.float32] | None = None) -> Chunk:
    """Return the chunk of an item, to be stored with a vector, or to stay in memory without one.

    A chunk of kinsplit keeps its position and its kin. Anything else becomes a document of a single chunk, even a text
    that was cut out of a chunk and has its metadata; it can't be filtered by metadata under kinsplit's own keys. The
    vector is part of the content hash, since equal texts may have been embedded with different metadata.

    Raises:
        InvalidParameterError: Metadata that can't be written as JSON.
    """
    metadata = to_json(item.metadata, "metadata")
    record = {"id": item.id, "metadata": metadata}
    if item.own is not None:
        record["own"] = to_json(item.own, "node")
    fields = whole(metadata) if is_chunk(metadata, item.text) else {}
    hidden = RESERVED | ({DETAILS} if fields else PLACED)
    spans = (spans_of(fields) if fields else item.span and [item.span]) or []
    if not spans or stretches(spans, item.text) is None:
        spans = [Span(0, len(item.text))]
    beside = Beside.of(fields)
    hashed = beside.context if vector is None else f"{beside.context}\n{vector.tobytes().hex()}"
    return Chunk(
        id=stored_id(item.id),
        source_id=item.source_id,
        index=fields.get("chunk_index", 0),
        total=fields.get("total_chunks", 1),
        level=fields.get("level", 0),
        spans=tuple(spans),
        text=item.text,
        overlap=fields.get("overlap", 0),
        parent_id=_kin(fields, "parent_id"),
        prev_id=_kin(fields, "prev_id"),
        next_id=_kin(fields, "next_id"),
        beside=beside,
        token_count=None,
        content_hash=content_hash(item.text, hashed),
        metadata={
            **{key: value for key, value in (fields or metadata).items() if key not in hidden},
            RECORD: record if vector is None else json.dumps(record, ensure_ascii=False, allow_nan=False),
        },
    )


def from_chunk(chunk: Chunk) -> Item:
    """Return the item that a chunk was made from, or an equivalent one for a chunk that no framework has written."""
    span, record = Span(chunk.start, chunk.end), chunk.metadata.get(RECORD)
    if record is None:
        return Item(chunk.id, chunk.text, to_metadata(chunk.id, to_payload(chunk)), chunk.source_id, span)
    if isinstance(record, str):  # As a store keeps it.
        record = json.loads(record)
    return Item(record["id"], chunk.text, record["metadata"], chunk.source_id, span, record.get("own"))


def _kin(fields: Mapping[str, Any], key: str) -> str | None:
    id_ = fields.get(key)
    return None if id_ is None else stored_id(id_)
