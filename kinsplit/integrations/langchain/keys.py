"""Keys for LangChain's `index()`, which stores documents under their keys and writes only those with a new key."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
from langchain_core.documents import Document
from langchain_core.indexing import DocumentIndex, RecordManager
from langchain_core.vectorstores import VectorStore
from numpy.typing import NDArray

from kinsplit.chunk import RECORD
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.langchain.vector_store import KinsplitVectorStore
from kinsplit.integrations.shared.metadata import HIDDEN
from kinsplit.integrations.shared.origins import CONTEXT, is_chunk
from kinsplit.integrations.shared.records import from_chunk
from kinsplit.spans import replace_surrogates
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

    In a `KinsplitVectorStore` a chunk whose text the document already had, at this place or at another, is written with
    its vector before `index()` skips it, so that only new texts are embedded. Any other store embeds whatever is
    written; give it `CachedEmbeddings`, which embed no text twice.

    Use `cleanup="scoped_full"`: after every batch, "incremental" deletes the chunks that a later batch of the same
    document would have refreshed, whatever the keys, and so writes most chunks of a long document again.

    Give whole documents a stable id, such as their path: without one, every chunk of an edited document gets another
    id. A run over unchanged chunks reads each of them from the store. An interrupted run is repaired by the next one
    over the same documents.

    Args:
        records: The record manager that is passed to `index()`.
        store: The vector store or document index that is passed to `index()`; it must return documents by id.
        delete_first: Whether to delete the older version of an edited chunk before `index()` adds the new one. Needed
            by stores that refuse to add a known id, such as FAISS; in others the older version stays until then.

    Example:
        >>> keys = ChunkKeys(records, store)
        >>> index(chunks, records, store, cleanup="scoped_full", source_id_key="source_id", key_encoder=keys)
    """

    def __init__(
        self, records: RecordManager, store: VectorStore | DocumentIndex, *, delete_first: bool = False
    ) -> None:
        self._records, self._store, self._delete_first = records, store, delete_first
        self._read = store.get if isinstance(store, DocumentIndex) else store.get_by_ids
        self._run = _Run("")

    def __call__(self, document: Document) -> str:
        """Return the chunk's own id, after removing the record of an older version, or replacing that version.

        Raises:
            InvalidParameterError: The document is not a chunk of a kinsplit text splitter.
        """
        if document.id is None or not is_chunk(document.metadata, document.page_content):
            rule = "must be a chunk from a kinsplit text splitter"
            raise InvalidParameterError("document", rule, document.id, "Split the documents first.")
        is_known = self._records.exists([document.id])[0]
        if document.metadata["source_id"] != self._run.source_id or document.id in self._run.ids:
            self._run = _Run(document.metadata["source_id"])
        self._run.ids.add(document.id)
        self._run.is_known |= is_known
        kept = self._read([document.id]) if is_known else []
        if kept and _same(kept[0], document):
            return document.id
        if self._replace(document):
            self._records.update([document.id])
        elif is_known:
            self._records.delete_keys([document.id])
            if kept and self._delete_first:
                self._store.delete([document.id])
        return document.id

    def _replace(self, document: Document) -> bool:
        """Write a chunk with a vector that the store holds for its text, and return whether it holds one."""
        if not isinstance(self._store, KinsplitVectorStore) or not self._run.is_known:
            return False
        if self._run.vectors is None:
            self._run.vectors = _vectors(self._store, self._run.source_id)
        vector = self._run.vectors.get(replace_surrogates(document.page_content))
        if vector is None:
            return False
        self._store.add_embeddings([document], [vector.tolist()])
        return True


@dataclass
class _Run:
    """A run over the chunks of a document."""

    source_id: str
    ids: set[str] = field(default_factory=set)  # Chunks so far; one of them begins another run.
    is_known: bool = False  # Whether the records have one of them.
    vectors: dict[str, NDArray[np.float32]] | None = None  # Those before the run, by text, once they are needed.


def _vectors(store: KinsplitVectorStore, source_id: str) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of the chunks of a document that LangChain has written, by text."""
    chunks = [] if store.client is None else store.client.find({"source_id": source_id}, None)
    # LlamaIndex and `Index.add` embed other text with a chunk.
    ids = {each.id: each.text for each in chunks if RECORD in each.metadata and from_chunk(each).own is None}
    found = {} if store.client is None else store.client.vectors(list(ids))
    return {ids[id_]: vectors.dense for id_, vectors in found.items() if vectors.dense is not None}


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
