"""Keys for LangChain's `index()`, which stores every document under its key and writes only those whose key is new."""

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

# How many siblings a chunk has, which is not worth embedding all of them again.
_COUNTS = frozenset({"total_chunks", "is_chunked"})


class ChunkKeys:
    """The key encoder for `index()`: chunks are stored under their own ids, and an edited chunk is written again.

    The ids under `prev_id`, `next_id` and `parent_id` thus lead to their chunks in any vector store. As a chunk keeps
    its id when it is edited and `index()` only asks whether a key is known, a chunk that the store holds with another
    text, place, link or metadata is first taken out of the records. `index()` then counts it as added and embeds no
    other. `total_chunks` and `is_chunked` alone make no edit: in a chunk that is skipped they stay what they were, and
    so does a key that is gone from the document's metadata.

    Clean up by "scoped_full": after every batch, "incremental" deletes what a later batch of the same document would
    have refreshed, whatever the keys, and so writes most chunks of a long document again.

    Give whole documents an id that lasts, such as their path: without one, every chunk of an edited document gets
    another id. A run over unchanged chunks reads each of them from the store, and one that was interrupted is mended by
    the next one over the same documents.

    Args:
        records: The record manager that `index()` is given.
        store: The vector store, or document index, that `index()` is given; it must be able to return documents by id.

    Example:
        >>> keys = ChunkKeys(records, store)
        >>> index(chunks, records, store, cleanup="scoped_full", source_id_key="source_id", key_encoder=keys)
    """

    def __init__(self, records: RecordManager, store: VectorStore | DocumentIndex) -> None:
        self._records = records
        self._read = store.get if isinstance(store, DocumentIndex) else store.get_by_ids

    def __call__(self, document: Document) -> str:
        """Return the chunk's own id, having forgotten the record of an older version.

        Raises:
            InvalidParameterError: The document is no chunk of a kinsplit text splitter.
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
    """Return a metadata value as stores give it back; some of them round the last digits of a float."""
    return json.loads(json.dumps(value, default=_written), parse_float=lambda digits: round(float(digits), 12))


def _written(value: object) -> object:
    try:
        return to_json(value, "metadata")
    except InvalidParameterError:  # Another vendor's store may keep it all the same.
        return str(value)
