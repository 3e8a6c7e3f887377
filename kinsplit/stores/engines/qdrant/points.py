"""Conversion of payloads, vectors and writes to qdrant-client's models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from kinsplit.chunk import PLACED, RECORD, RESERVED, UNSEEN
from kinsplit.details import DETAILS
from kinsplit.errors import StoreError
from kinsplit.stores.engines.qdrant.payload import wrapped
from kinsplit.stores.payload import Payload, to_metadata
from kinsplit.stores.plan import Plan, content_of
from kinsplit.stores.store import batches
from kinsplit.stores.values import Embedded, Vectors, layer_of

#: Points that one operation deletes.
_DELETES = 10_000
#: LlamaIndex reads a node with its text from the first key and the node's class from the second. LangChain reads
#: metadata from the third, and the text from `full_content`.
FRAMEWORK_KEYS = ("_node_content", "_node_type", "metadata")

# LlamaIndex's relationships by their numbers in its JSON.
_KIN = {"2": "prev_id", "3": "next_id", "4": "parent_id"}


def with_framework_keys(id_: str, payload: Payload) -> Payload:
    """Add `FRAMEWORK_KEYS` to a leaf's payload; others stay as they are, since the frameworks find leaves only."""
    if payload["level"]:
        return payload
    record = from_json(payload.get(RECORD) or "{}")
    metadata = record.get("metadata", to_metadata(id_, payload))
    own = record.get("own") or _node_fields(payload)
    node = {"id_": record.get("id", id_), "text": payload["full_content"], "metadata": metadata, **own}
    values = (to_json(node).decode(), node.get("class_name", "TextNode"), metadata)
    return {**payload, **dict(zip(FRAMEWORK_KEYS, values, strict=True))}


# Keys that show a language model the source of a text.
_SHOWN = {"context", "page_start", "page_end", "time_start", "time_end"}


def _node_fields(payload: Payload) -> dict[str, Any]:
    hidden = sorted({*RESERVED, *PLACED, *UNSEEN} & payload.keys() - _SHOWN | {"chunk_id", DETAILS})
    links = {"1": {"node_id": payload["source_id"], "node_type": "4"}}
    links |= {number: {"node_id": payload[key], "node_type": "1"} for number, key in _KIN.items() if payload[key]}
    return {
        "start_char_idx": payload["char_start"],
        "end_char_idx": payload["char_end"],
        "excluded_embed_metadata_keys": hidden,
        "excluded_llm_metadata_keys": hidden,
        "relationships": links,
    }


def to_point(id_: str, payload: Payload, vectors: Vectors) -> dict[str, Any]:
    """Return the point of a chunk as JSON, whose level determines the names of its vectors."""
    layer = layer_of(payload["level"])
    named: dict[str, Any] = {}
    if vectors.dense is not None and layer.dense is not None:
        named[layer.dense] = vectors.dense.tolist()
    # In the client's local mode, unlike elsewhere, an empty vector would count in the IDF.
    if vectors.sparse is not None and vectors.sparse.indices:
        named[layer.sparse] = {"indices": vectors.sparse.indices, "values": vectors.sparse.values}
    return {"id": id_, "vector": named, "payload": wrapped(with_framework_keys(id_, payload))}


class EncodedWrite(NamedTuple):
    """A point, or another operation, as the JSON that is sent."""

    is_point: bool
    body: bytes


def to_requests(plan: Plan, vectors: Embedded, operations: int, megabytes: int) -> Iterator[list[EncodedWrite]]:
    """Yield the writes of a plan in their required order, in batches of so many points and megabytes.

    Raises:
        StoreError: One chunk alone is larger.
    """
    batch: list[EncodedWrite] = []
    most, size = megabytes * 1_000_000, 0
    for payload, write in _writes(plan, vectors):
        more = len(write.body)
        if more > most:
            raise StoreError(_too_large(payload, more, megabytes))
        if batch and (len(batch) == operations or size + more > most):
            yield batch
            batch, size = [], 0
        batch.append(write)
        size += more
    if batch:
        yield batch


def _writes(plan: Plan, vectors: Embedded) -> Iterator[tuple[Payload, EncodedWrite]]:
    """Yield one write per point, with its payload, and one per 10,000 deletions."""
    for id_, payload in plan.upserts:
        yield payload, EncodedWrite(True, to_json(to_point(id_, payload, vectors[content_of(payload)])))
    for id_, payload in plan.payloads:
        whole = {"payload": wrapped(with_framework_keys(id_, payload)), "points": [id_]}
        yield payload, EncodedWrite(False, to_json({"overwrite_payload": whole}))
    for ids in batches(plan.deletes, _DELETES):
        yield {}, EncodedWrite(False, to_json({"delete": {"points": ids}}))


def _too_large(payload: Payload, size: int, megabytes: int) -> str:
    chunk = f"{payload['source_id']}: chunk {payload['chunk_index']} of level {payload['level']}"
    rule = f"takes {size / 1e6:.1f} MB with its vectors, and a request holds at most {megabytes}"
    remedy = "Split the document into smaller chunks, or give the address a higher request_mb, if the server accepts it"
    return f"{chunk} {rule}. {remedy}."


def to_body(writes: Sequence[EncodedWrite]) -> bytes:
    """Return the body of a request that writes, in which neighbouring points are one operation."""
    operations = []
    for is_point, run in groupby(writes, key=attrgetter("is_point")):
        bodies = b",".join(write.body for write in run)
        operations.append(b'{"upsert":{"points":[%b]}}' % bodies if is_point else bodies)
    return b'{"operations":[%b]}' % b",".join(operations)
