"""Flat metadata, which every vector store takes: what is no string, number or truth value is in one JSON string."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

#: Metadata key of the JSON string, excluded from the text that embedding and language models read.
DETAILS = "kinsplit"

# Metadata keys whose values are lists or mappings.
_RICH = ("beside", "spans", "page_breaks", "sibling_files")
# Metadata keys of links, which are always there, since some stores take their columns from the first chunk.
_LINKS = ("parent_id", "prev_id", "next_id")
# Metadata keys of whole numbers, which some stores return as floats.
_INTEGERS = (
    *("chunk_index", "total_chunks", "level", "overlap", "char_start", "char_end"),
    *("page_start", "page_end", "page_char_start", "page_char_end"),
)


def details(found: Any) -> dict[str, Any]:
    """Return what kinsplit's chunks and passages hold as JSON under the metadata key "kinsplit".

    Of a chunk and a passage, as far as there are any: `spans`, its parts in the document, if it has several; `beside`,
    what stands beside its text; `sibling_files`, the other files of its group; and of a chunk `page_breaks`, the number
    and the offset of each further page. Of a search result: `score`, that of the last stage; `scores`, that of every
    stage; `hits`, the id and score of each chunk that was found; `chunks`, the ids of all chunks that the passage is
    made of, in document order; and of a related file `related_to`, the id of its passage.

    Args:
        found: A document of LangChain, a node of LlamaIndex, with a score or without, or the metadata of one.
    """
    written = (found if isinstance(found, Mapping) else found.metadata).get(DETAILS)
    with suppress(ValueError):
        own = json.loads(written) if isinstance(written, str) else {}
        return own if isinstance(own, dict) else {}
    return {}


def flat(metadata: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return metadata with whatever is not flat, and more of such values, in the JSON string, and "" for no link."""
    kept = dict(metadata)
    own = details(kept) if DETAILS in kept else {}
    for key in _RICH:
        if key in kept:
            own[key] = kept.pop(key)
    for key in _LINKS:
        if key in kept and kept[key] is None:
            kept[key] = ""
    if own := own | more:
        # Scores may be NumPy's.
        kept[DETAILS] = json.dumps(own, ensure_ascii=False, default=float)
    return kept


def whole(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with the values of the JSON string under their own keys, without missing ones."""
    both = {**metadata, **details(metadata)}
    found = {key: value for key, value in both.items() if value is not None and (value or key not in _LINKS)}
    found.pop(DETAILS, None)
    return found | {key: int(found[key]) for key in _INTEGERS if isinstance(found.get(key), float)}
