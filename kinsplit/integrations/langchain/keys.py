"""Keys for LangChain's `index()`, which stores every document under its key and writes only those whose key is new.

| `key_encoder=` | ids in the store | an edited chunk |
|---|---|---|
| `key_by_id` | the chunks' own | is written with `force_update=True`, which embeds all chunks again |
| `key_by_content` | the keys | is written, its old version deleted, and nothing else embedded |

A chunk's own id stays the same when its text changes, and `index()` asks no more than whether a key is new. So no key
does both. Take `key_by_id` where neighbours and parents are fetched by `prev_id`, `next_id` and `parent_id`, and
`key_by_content` where documents change often. With either, give whole documents an id that lasts, such as their path:
without one, every chunk of an edited document gets a new id.
"""

from __future__ import annotations

from langchain_core.documents import Document

from kinsplit.chunk import chunk_id
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.origins import is_chunk


def key_by_id(document: Document) -> str:
    """Return the chunk's own id, for `index(..., key_encoder=key_by_id)`.

    The store then holds the chunks under the ids that `prev_id`, `next_id` and `parent_id` name. A chunk that is there
    already is skipped, even if its text has changed: call `index()` with `force_update=True` after an edit.

    Args:
        document: A chunk from a kinsplit text splitter.

    Raises:
        InvalidParameterError: The document is no such chunk.
    """
    if document.id is None or not is_chunk(document.metadata):
        raise InvalidParameterError(
            "document", "must be a chunk from a kinsplit text splitter", document.id, "Split the documents first."
        )
    return document.id


def key_by_content(document: Document) -> str:
    """Return a key that changes with the chunk's text and place, for `index(..., key_encoder=key_by_content)`.

    The key is a UUID made of the id, the content hash and the offsets: an unchanged chunk at an unchanged place is
    skipped, any other is written and the old one cleaned up. The ids under `prev_id`, `next_id` and `parent_id` are not
    keys: find a neighbour by `source_id`, `level` and `chunk_index`. What the key doesn't see, such as `total_chunks`
    or the document's own metadata, is not updated in a chunk that is skipped.

    Args:
        document: A chunk from a kinsplit text splitter.

    Raises:
        InvalidParameterError: The document is no such chunk.
    """
    own, metadata = key_by_id(document), document.metadata
    return chunk_id(own, metadata["content_hash"], metadata["char_start"] or 0, metadata["char_end"] or 0)
