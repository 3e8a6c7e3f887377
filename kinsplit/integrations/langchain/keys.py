"""Keys for LangChain's `index()` and its record manager."""

from __future__ import annotations

from langchain_core.documents import Document

from kinsplit.chunk import chunk_id
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.origins import is_chunk


def chunk_key(document: Document) -> str:
    """Return the key of a chunk for `index(..., key_encoder=chunk_key)`.

    `index()` writes only documents whose key is new, and stores them under that key. A chunk's own id stays the same
    when its text changes, so it can't be the key. This key is a UUID made of the id, the content hash and the offsets:
    an unchanged chunk at an unchanged place is skipped, any other is written and the old one cleaned up. The ids under
    `prev_id`, `next_id` and `parent_id` are chunk ids, not keys: find a neighbour by `source_id`, `level` and
    `chunk_index`. What the key doesn't see, such as `total_chunks` or the document's own metadata, is not updated in a
    chunk that is skipped.

    Args:
        document: A chunk from a kinsplit text splitter. Give whole documents an id that lasts, such as their path;
            without one, every chunk of an edited document gets a new id and a new key.

    Raises:
        InvalidParameterError: The document is no such chunk.
    """
    metadata = document.metadata
    if document.id is None or not is_chunk(metadata):
        raise InvalidParameterError(
            "document", "must be a chunk from a kinsplit text splitter", document.id, "Split the documents first."
        )
    return chunk_id(document.id, metadata["content_hash"], metadata["char_start"] or 0, metadata["char_end"] or 0)
