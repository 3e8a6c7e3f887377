"""Sibling expansion as a LangChain runnable and document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Unpack

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from pydantic import PrivateAttr

from kinsplit.integrations.langchain.documents import to_document, to_found
from kinsplit.integrations.shared.siblings import Expander
from kinsplit.keywords import ExpansionKeywords
from kinsplit.options import ExpansionOptions
from kinsplit.parsers import Strategy
from kinsplit.support.threads import in_thread


class SiblingExpansion(
    BaseDocumentCompressor, RunnableSerializable[Sequence[Document], list[Document]], AbstractContextManager[Any]
):
    """Adds its siblings to each document, or replaces it by its whole parent, and merges adjacent ones into passages.

    It takes the documents of a retriever, `retriever | SiblingExpansion(store)`, or is the compressor of a
    `ContextualCompressionRetriever`.

    Kin are fetched from the store that holds kinsplit's chunks: by id, in one read if the strategy is known, or else by
    a filter on their metadata. A store that can do neither needs a `KinStore` beside it. A passage replaces its best
    document; the metadata key "kinsplit" lists all its documents, with their scores if an earlier stage recorded them.
    No overlap is repeated, and no text is in two passages. Documents that kinsplit didn't split stay as they are; one
    that was embedded whole is followed by the files in its `sibling_files`.

    Args:
        store: The store of the documents: any vector store of LangChain that reads by id (`get_by_ids`), such as
            `InMemoryVectorStore`, FAISS, Chroma, Qdrant or Postgres; a docstore, or a byte store of documents; a
            `KinStore`; a `KinsplitVectorStore`, a `kinsplit.Index`, an open store, or a `QdrantClient`; or the address
            of a store, which is opened and closed with this object.
        collection: Name of the collection, for an address or a `QdrantClient`.
        parent_store: Store of the parents, if it is another one, such as the docstore of a `ParentDocumentRetriever`.
            Its documents may be parents or whole documents.
        parent_key: Metadata key of the parent's id in `parent_store`; "doc_id" for a `ParentDocumentRetriever`.
        strategy: The strategy that split the documents, such as `splitter.strategy`. If it is known, or `Index` created
            the collection, kin are fetched by their ids in one read.
        slim: Whether passages keep only the metadata for a prompt: their position and score (see
            `kinsplit.integrations.shared.metadata.slimmed`).
        name: Name of the runnable.
        **options: See `kinsplit.options.ExpansionOptions`. A budget is that of all texts together, counted by the
            tokenizer of the strategy, or the bundled one if the strategy is not known. It is spent on the documents
            best first, then on their siblings, also on a given window.

    Raises:
        InvalidParameterError: An option is out of range, or `store` is none of these and needs a `KinStore`.
        StoreError: The collection doesn't exist or can't be opened.

    Example:
        >>> chain = vector_store.as_retriever() | SiblingExpansion(vector_store, window=2)
    """

    options: ExpansionOptions = ExpansionOptions()
    parent_key: str = "parent_id"
    slim: bool = False

    _expander: Expander = PrivateAttr()

    def __init__(
        self,
        store: object,
        collection: str = "default",
        *,
        parent_store: object = None,
        parent_key: str = "parent_id",
        strategy: Strategy | None = None,
        slim: bool = False,
        name: str | None = None,
        **options: Unpack[ExpansionKeywords],
    ) -> None:
        own = ExpansionOptions(**options)
        super().__init__(options=own, parent_key=parent_key, slim=slim, name=name)
        self._expander = Expander(store, collection, strategy, parent_store, own)

    def close(self) -> None:
        """Close the collection, if the store was given by its address. A second call does nothing."""
        self._expander.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def invoke(self, input: Sequence[Document], config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return passages at the ranks of their best documents."""
        return self._call_with_config(self._passages, input, config, **kwargs)

    async def ainvoke(
        self, input: Sequence[Document], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return passages; see `invoke`."""
        return await self._acall_with_config(self._apassages, input, config, **kwargs)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return passages; see `invoke`."""
        del query, callbacks
        return self._passages(documents)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return passages; see `invoke`."""
        del query, callbacks
        return await self._apassages(documents)

    def _passages(self, documents: Sequence[Document]) -> list[Document]:
        found = [to_found(document) for document in documents]
        expanded = self._expander.expand(found, self.options, self.parent_key, slim=self.slim)
        return [documents[hit] if result is None else to_document(result) for hit, result, _ in expanded]

    async def _apassages(self, documents: Sequence[Document]) -> list[Document]:
        return await in_thread(self._passages, documents)
