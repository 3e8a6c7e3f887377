"""Sibling expansion as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import PrivateAttr

from kinsplit.integrations.langchain.documents import to_document, to_found
from kinsplit.integrations.shared.kin_readers import Opened, open_reader
from kinsplit.integrations.shared.siblings import expand_found
from kinsplit.parsers import Strategy
from kinsplit.retrieval import Expansion


class SiblingExpansion(BaseDocumentCompressor, AbstractContextManager[Any]):
    """Adds its siblings to each document, or replaces it by its whole parent, and merges adjacent ones into passages.

    All kin are fetched in one read, from a kinsplit store or from any Qdrant collection that holds kinsplit's chunks,
    including those that LangChain's or LlamaIndex's own Qdrant store has written. A passage replaces its best document;
    the metadata key "kinsplit" lists all its documents, with their scores if an earlier stage recorded them. No overlap
    is repeated, and no text is in two passages. Documents that kinsplit didn't split stay as they are; one that was
    embedded whole is followed by the files in its `sibling_files`.

    Args:
        store: The store of the documents: a `KinsplitVectorStore`, LangChain's own `QdrantVectorStore`, a
            `kinsplit.Index`, an open store, or a `QdrantClient`; or the address of a store, which is opened and closed
            with this object.
        collection: Name of the collection, for an address or a `QdrantClient`.
        window: Number of siblings to add on each side.
        parents: Whether to take the whole parent instead; a document without one gets siblings.
        within_sections: Whether siblings stop where the heading path changes.
        strategy: The strategy that split the documents, such as `splitter.strategy`. If it is known, or `Index` created
            the collection, kin are fetched by their ids, otherwise by a filter.
        slim: Whether passages keep only the metadata for a prompt: their position and score (see
            `kinsplit.integrations.shared.metadata.slimmed`).

    Raises:
        InvalidParameterError: The window is negative, or `store` is none of these.
        StoreError: The collection doesn't exist or can't be opened.

    Example:
        >>> ContextualCompressionRetriever(base_compressor=SiblingExpansion(client, "lectures"), base_retriever=base)
    """

    window: int = 1
    parents: bool = False
    within_sections: bool = False
    slim: bool = False

    _opened: Opened = PrivateAttr()
    _expansion: Expansion = PrivateAttr()

    def __init__(
        self,
        store: object,
        collection: str = "default",
        *,
        window: int = 1,
        parents: bool = False,
        within_sections: bool = False,
        strategy: Strategy | None = None,
        slim: bool = False,
    ) -> None:
        expansion = Expansion(window=window, parents=parents, within_sections=within_sections)
        super().__init__(window=window, parents=parents, within_sections=within_sections, slim=slim)
        self._expansion = expansion
        self._opened = open_reader(store, collection, strategy)

    def close(self) -> None:
        """Close the collection, if the store was given by its address. A second call does nothing."""
        if self._opened.store is not None:
            self._opened.store.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return passages at the ranks of their best documents."""
        del query, callbacks
        hits = [to_found(document) for document in documents]
        expanded = expand_found(hits, self._expansion, self._opened.reader, slim=self.slim)
        return [documents[hit] if result is None else to_document(result) for hit, result, _ in expanded]
