"""A kinsplit index as a LangChain retriever."""

from __future__ import annotations

from typing import Any, Unpack

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from kinsplit.index import Index
from kinsplit.integrations.langchain.documents import to_document
from kinsplit.integrations.shared.results import to_results
from kinsplit.retrieval import SearchKeywords, SearchOptions


class KinsplitRetriever(BaseRetriever):
    """A kinsplit index as a LangChain retriever: kin scoring, reranking, siblings or parents, and a token budget.

    Documents contain passages, with their position in the source as metadata. The hits of each passage and the scores
    of all stages are under the metadata key "kinsplit". An unchunked document is followed by the other files of its
    group, which don't count. Every option can also be given per call: `invoke(question, k=5, where={"subject": "cs"})`.

    Args:
        index: The index.
        k: Maximum number of passages, called `top_k` elsewhere; None for 3, or with a budget for as many as fit.
        name: Name of the runnable.
        tags: Tags of the retriever's runs.
        metadata: Metadata of the retriever's runs.
        slim: Whether passages keep only the metadata for a prompt: their position and score (see
            `kinsplit.integrations.shared.metadata.slimmed`).
        **options: See `kinsplit.retrieval.SearchOptions`.

    Raises:
        InvalidParameterError: An option is unknown, or its value is invalid.

    Example:
        >>> retriever = KinsplitRetriever(index, budget=1000)
        >>> chain = {"context": retriever | show, "question": RunnablePassthrough()} | prompt | llm
    """

    k: int | None = Field(default=None, description="Maximum number of passages.")

    _index: Index = PrivateAttr()
    _options: SearchKeywords = PrivateAttr()
    _slim: bool = PrivateAttr()

    def __init__(
        self,
        index: Index,
        *,
        k: int | None = None,
        name: str | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        slim: bool = False,
        **options: Unpack[SearchKeywords],
    ) -> None:
        given: SearchKeywords = {"top_k": k, **options}
        SearchOptions(**given)
        super().__init__(k=options.pop("top_k", k), name=name, tags=tags, metadata=metadata)
        self._index = index
        self._options = options
        self._slim = slim

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        passages = self._index.search(query, **self._merged(**options))
        return [to_document(result) for result in to_results(passages, slim=self._slim)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        passages = await self._index.asearch(query, **self._merged(**options))
        return [to_document(result) for result in to_results(passages, slim=self._slim)]

    def _merged(self, k: int | None = None, **options: Unpack[SearchKeywords]) -> SearchKeywords:
        return {**self._options, "top_k": self.k if k is None else k, **options}
