"""Keys for LangChain's `index()`, which stores documents under their keys and writes only those with a new key."""

from __future__ import annotations

import json

from langchain_core.documents import Document
from langchain_core.indexing import DocumentIndex, RecordManager
from langchain_core.vectorstores import VectorStore

from kinsplit.embedding.protocol import replace_surrogates
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.shared.metadata import HIDDEN
from kinsplit.integrations.shared.origins import CONTEXT, is_chunk
from kinsplit.stores.json_values import to_json

# If only the number of siblings has changed, nothing has to be embedded again.
_COUNTS = frozenset({"total_chunks", "is_chunked"})


class ChunkKeys:
    """The key encoder for `index()`: chunks are stored under their own ids, and edited chunks are written again.

    The ids under `prev_id`, `next_id` and `parent_id` therefore identify chunks in any vector store. An edited chunk
    keeps its id, and `index()` only checks whether a key is known; so a chunk that the store holds with another text,
    position, link or metadata is first removed from the records. `index()` then counts it as added and embeds no other.
    A change of `total_chunks` and `is_chunked` alone doesn't count: a skipped chunk keeps the old values, and also any
    key that was removed from the document's metadata.

    Use `cleanup="scoped_full"`: after every batch, "incremental" deletes the chunks that a later batch of the same
    document would have refreshed, whatever the keys, and so writes most chunks of a long document again.

    Give whole documents a stable id, such as their path: without one, every chunk of an edited document gets another
    id. A run over unchanged chunks reads each of them from the store. An interrupted run is repaired by the next one
    over the same documents.

    Args:
        records: The record manager that is passed to `index()`.
        store: The vector store or document index that is passed to `index()`; it must return documents by id.

    Example:
        >>> keys = ChunkKeys(records, store)
        >>> index(chunks, records, store, cleanup="scoped_full", source_id_key="source_id", key_encoder=keys)
    """

    def __init__(self, records: RecordManager, store: VectorStore | DocumentIndex) -> None:
        self._records = records
        self._read = store.get if isinstance(store, DocumentIndex) else store.get_by_ids

    def __call__(self, document: Document) -> str:
        """Return the chunk's own id, after removing the record of an older version.

        Raises:
            InvalidParameterError: The document is not a chunk of a kinsplit text splitter.
        """
        if document.id is None or not is_chunk(document.metadata, document.page_content):
            raise InvalidParameterError(
                "document", "must be a chunk from a kinsplit text splitter", document.id, "Split the documents first."
            )
        if self._records.exists([document.id])[0]:
            kept = self._read([document.id])
            if not kept or not _same(kept[0], document):
                self._records.delete_keys([document.id])
        return document.id


def _same(kept: Document, document: Document) -> bool:
    old, new = kept.metadata, document.metadata
    keys = (new.keys() | old.keys() & {*HIDDEN, CONTEXT}) - _COUNTS
    texts = {replace_surrogates(each.page_content) for each in (kept, document)}
    return len(texts) == 1 and all(_plain(old.get(key)) == _plain(new.get(key)) for key in keys)


def _plain(value: object) -> object:
    """Return a metadata value as stores return it; some of them round the last digits of a float."""
    return json.loads(json.dumps(value, default=_encode), parse_float=lambda digits: round(float(digits), 12))


def _encode(value: object) -> object:
    try:
        return to_json(value, "metadata")
    except InvalidParameterError:  # Another store may accept it nevertheless.
        return str(value)
