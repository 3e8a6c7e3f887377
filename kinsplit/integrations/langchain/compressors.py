"""LangChain's document compressors: sibling expansion, which is a runnable too, and reranking."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Unpack

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from pydantic import ConfigDict

from kinsplit import retrieval
from kinsplit.errors import require
from kinsplit.integrations.langchain.documents import to_document, to_found
from kinsplit.integrations.shared.pages import checked_documents
from kinsplit.integrations.shared.results import RerankStage, text_to_rerank, with_rerank_score
from kinsplit.integrations.shared.siblings import ExpansionStage
from kinsplit.keywords import ExpansionKeywords
from kinsplit.parsers import Strategy
from kinsplit.support.threads import in_thread


class SiblingExpansion(
    ExpansionStage,
    BaseDocumentCompressor,
    RunnableSerializable[Sequence[Document], list[Document]],
    AbstractContextManager[Any],
):
    """Adds its siblings to each document, or replaces it by its whole parent, and merges adjacent ones into passages.

    It takes the documents of a retriever, `retriever | SiblingExpansion(store)`, makes a retriever of another one, for
    chains, tools and agents (`as_retriever`), or is the compressor of a `ContextualCompressionRetriever`. Every option
    can be set later, also by `configurable_fields`.

    Kin are fetched from the store that holds kinsplit's chunks: by id, in one read if the strategy is known, or else by
    a filter on their metadata. A store that can do neither needs a `KinStore` beside it. A passage replaces its best
    document and has its id; the function `details` lists all its documents, with their scores if an earlier stage
    recorded them, and the ids of all its chunks. No overlap is repeated, and no text is in two passages. Documents that
    kinsplit didn't split stay as they are; one that was embedded whole is followed by the files in its `sibling_files`.

    Args:
        store: The store of the documents: any vector store of LangChain that reads by id (`get_by_ids`), such as
            `InMemoryVectorStore`, FAISS, Chroma, Qdrant or Postgres; a docstore, or a byte store of documents; a
            `KinStore`; a `KinsplitVectorStore`, a `kinsplit.Index`, an open store, or a `QdrantClient`; or the address
            of a store, which is opened and closed with this object, and whose open store is this field from then on.
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

    model_config = ConfigDict(extra="forbid")

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
        own = {"store": store, "collection": collection, "parent_store": parent_store, "parent_key": parent_key}
        super().__init__(**own, strategy=strategy, slim=slim, name=name, **options)

    def as_retriever(self, base: Runnable[str, list[Document]]) -> BaseRetriever:
        """Return a retriever that expands what another one finds, for chains, tools and agents.

        Documents that are added to it are added to the other one.

        Args:
            base: The other retriever, which also gets the keyword arguments of a call.

        Raises:
            InvalidParameterError: `base` is no retriever.

        Example:
            >>> retriever = SiblingExpansion(vector_store).as_retriever(vector_store.as_retriever())
        """
        remedy = "Pass vector_store.as_retriever()."
        require(isinstance(base, Runnable), "base", "must be a retriever of LangChain", base, remedy)
        return _ExpandedRetriever(base=base, expansion=self, name=self.get_name())

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
        documents = checked_documents(documents, Document, otherwise="call as_retriever with a retriever")
        expanded = self.expand([to_found(document) for document in documents])
        return [documents[hit] if result is None else to_document(result) for hit, result, _ in expanded]

    async def _apassages(self, documents: Sequence[Document]) -> list[Document]:
        return await in_thread(self._passages, documents)


class _ExpandedRetriever(BaseRetriever):
    base: Any  # A runnable, and what else a retriever of a vector store can do.
    expansion: SiblingExpansion

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        ids: list[str] = self.base.add_documents(documents, **kwargs)
        return ids

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        ids: list[str] = await self.base.aadd_documents(documents, **kwargs)
        return ids

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        config: RunnableConfig = {"callbacks": run_manager.get_child()}
        return self.expansion.invoke(self.base.invoke(query, config, **options), config)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        config: RunnableConfig = {"callbacks": run_manager.get_child()}
        return await self.expansion.ainvoke(await self.base.ainvoke(query, config, **options), config)


class Rerank(RerankStage, BaseDocumentCompressor):
    """Any kinsplit reranker as a LangChain document compressor.

    The reranker reads each document's text with its heading path. The scores of all stages are kept for the function
    `details`. If the reranker fails, the order stays unchanged, with one warning.

    Args:
        reranker: A `kinsplit.retrieval.Reranker`, or its name: "late", "cross-encoder:NAME" or "none".
        top_n: Maximum number of documents to return; None for all.
        embedder: An embedder or its name, for "late".

    Raises:
        InvalidParameterError: The name is unknown, the object is no reranker, or `top_n` is below 1.

    Example:
        >>> ContextualCompressionRetriever(base_compressor=Rerank("late", top_n=5), base_retriever=base)
    """

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return documents in the order of the reranker's scores."""
        del callbacks
        if self._reranker is None:
            return documents[: self.top_n]
        return retrieval.rerank(self._reranker, query, documents, _READING)[: self.top_n]


def _text(document: Document) -> str:
    return text_to_rerank(document.page_content, document.metadata)


def _with_score(document: Document, score: float) -> Document:
    metadata = with_rerank_score(document.metadata, score, to_found(document).score)
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


_READING = retrieval.ItemReader[Document](_text, lambda document: to_found(document).score, _with_score)
