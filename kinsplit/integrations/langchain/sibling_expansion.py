"""Sibling expansion as a LangChain runnable and document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from pydantic import PrivateAttr

from kinsplit.integrations.langchain.documents import to_document, to_found
from kinsplit.integrations.shared.kin.readers import OpenedReader, open_reader
from kinsplit.integrations.shared.siblings import Expanded, budget_of, expand_found
from kinsplit.parsers import Strategy
from kinsplit.retrieval import Budget, Expansion
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
        window: Number of siblings to add on each side.
        parents: Whether to take the whole parent instead; a document without one gets siblings.
        parent_store: Store of the parents, if it is another one, such as the docstore of a `ParentDocumentRetriever`.
            Its documents may be parents or whole documents.
        parent_key: Metadata key of the parent's id in `parent_store`; "doc_id" for a `ParentDocumentRetriever`.
        within_sections: Whether siblings stop where the heading path changes.
        strategy: The strategy that split the documents, such as `splitter.strategy`. If it is known, or `Index` created
            the collection, kin are fetched by their ids in one read.
        slim: Whether passages keep only the metadata for a prompt: their position and score (see
            `kinsplit.integrations.shared.metadata.slimmed`).
        budget: Maximum number of tokens of all texts together, by the tokenizer of the strategy, or the bundled one if
            the strategy is not known. It is spent as in a search: on the documents best first, the last ones cut at
            ends of sentences, then on their siblings. None for any number.
        context_share: Share of the budget for siblings or parents, from 0 to below 1. None for what the documents
            leave; parents then come first.
        name: Name of the runnable.

    Raises:
        InvalidParameterError: An option is out of range, or `store` is none of these and needs a `KinStore`.
        StoreError: The collection doesn't exist or can't be opened.

    Example:
        >>> chain = vector_store.as_retriever() | SiblingExpansion(vector_store, window=2)
    """

    window: int = 1
    parents: bool = False
    parent_key: str = "parent_id"
    within_sections: bool = False
    slim: bool = False
    budget: int | None = None
    context_share: float | None = None

    _opened: OpenedReader = PrivateAttr()
    _expansion: Expansion = PrivateAttr()
    _budget: Budget | None = PrivateAttr()

    def __init__(
        self,
        store: object,
        collection: str = "default",
        *,
        window: int = 1,
        parents: bool = False,
        parent_store: object = None,
        parent_key: str = "parent_id",
        within_sections: bool = False,
        strategy: Strategy | None = None,
        slim: bool = False,
        budget: int | None = None,
        context_share: float | None = None,
        name: str | None = None,
    ) -> None:
        expansion = Expansion(window=window, parents=parents, within_sections=within_sections)
        spending = budget_of(store, strategy, budget, context_share, parents=parents)
        super().__init__(
            window=window,
            parents=parents,
            parent_key=parent_key,
            within_sections=within_sections,
            slim=slim,
            budget=budget,
            context_share=context_share,
            name=name,
        )
        self._expansion = expansion
        self._budget = spending
        self._opened = open_reader(store, collection, strategy, parent_store)

    def close(self) -> None:
        """Close the collection, if the store was given by its address. A second call does nothing."""
        if self._opened.store is not None:
            self._opened.store.close()

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
        return _replaced(documents, self._expand(documents))

    async def _apassages(self, documents: Sequence[Document]) -> list[Document]:
        return await in_thread(self._passages, documents)

    def _expand(self, documents: Sequence[Document]) -> list[Expanded]:
        return expand_found(
            [to_found(document) for document in documents],
            self._expansion,
            self._opened.reader,
            self._opened.parents,
            parent_key=self.parent_key,
            slim=self.slim,
            budget=self._budget,
        )


def _replaced(documents: Sequence[Document], expanded: Sequence[Expanded]) -> list[Document]:
    return [documents[hit] if result is None else to_document(result) for hit, result, _ in expanded]
