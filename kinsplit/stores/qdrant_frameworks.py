"""What the Qdrant stores of LlamaIndex and LangChain look for in a payload, beside what kinsplit reads itself."""

from __future__ import annotations

import json
from typing import Any

from kinsplit.stores.payload import PLACED, RECORD, RESERVED, UNSEEN, Payload, to_metadata

#: LlamaIndex reads a node from the first, text included, and its class from the second. LangChain reads metadata from
#: the third, and the text from `full_content`.
FRAMEWORK_KEYS = ("_node_content", "_node_type", "metadata")

# LlamaIndex's relationships, by the numbers under which it writes them.
_KIN = {"2": "prev_id", "3": "next_id", "4": "parent_id"}


def with_framework_keys(id_: str, payload: Payload) -> Payload:
    """Return a leaf's payload with `FRAMEWORK_KEYS`, and any other's as it is, since the frameworks find leaves alone.

    Args:
        id_: The chunk's id.
        payload: Its payload.
    """
    if payload["level"]:
        return payload
    record = json.loads(payload.get(RECORD) or "{}")
    metadata = record.get("metadata", to_metadata(payload))
    own = record.get("own") or _node_fields(payload)
    node = {"id_": record.get("id", id_), "text": payload["full_content"], "metadata": metadata, **own}
    values = (json.dumps(node, ensure_ascii=False), node.get("class_name", "TextNode"), metadata)
    return {**payload, **dict(zip(FRAMEWORK_KEYS, values, strict=True))}


# What tells a language model where a text is from.
_SHOWN = {"context", "page_start", "page_end", "time_start", "time_end"}


def _node_fields(payload: Payload) -> dict[str, Any]:
    hidden = sorted({*RESERVED, *PLACED, *UNSEEN} & payload.keys() - _SHOWN)
    links = {"1": {"node_id": payload["source_id"], "node_type": "4"}}
    links |= {number: {"node_id": payload[key], "node_type": "1"} for number, key in _KIN.items() if payload[key]}
    return {
        "start_char_idx": payload["char_start"],
        "end_char_idx": payload["char_end"],
        "excluded_embed_metadata_keys": hidden,
        "excluded_llm_metadata_keys": hidden,
        "relationships": links,
    }
