"""A kinsplit index as a LlamaIndex retriever."""

from __future__ import annotations

from typing import Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from kinsplit.index import Index
from kinsplit.integrations.llama_index.records import node_with_score
from kinsplit.integrations.shared.results import to_results
from kinsplit.retrieval import SearchKeywords, SearchOptions


class KinsplitRetriever(BaseRetriever):
    """A kinsplit index as a LlamaIndex retriever: kin scoring, reranking, siblings or parents, and a token budget.

    Nodes contain passages, with their position in the document as offsets and as metadata. The hits of each passage and
    the scores of all stages are under the metadata key "kinsplit", which is excluded from the embedded and the LLM
    text. An unchunked document is followed by the other files of its group, which don't count.

    Args:
        index: The index.
        callback_manager: Receives the events of queries.
        slim: Whether passages keep only the metadata for a prompt: their position and score (see
            `kinsplit.integrations.shared.metadata.slimmed`).
        **options: See `kinsplit.retrieval.SearchOptions`.

    Raises:
        InvalidParameterError: An option is unknown, or its value is invalid.

    Example:
        >>> retriever = KinsplitRetriever(index, top_k=5, parents=True, where={"subject": "cs"})
        >>> engine = RetrieverQueryEngine.from_args(retriever, llm=llm)
    """

    def __init__(
        self,
        index: Index,
        *,
        callback_manager: CallbackManager | None = None,
        slim: bool = False,
        **options: Unpack[SearchKeywords],
    ) -> None:
        SearchOptions(**options)
        self._index = index
        self._options = options
        self._slim = slim
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = self._index.search(query_bundle.query_str, **self._options)
        return [node_with_score(result) for result in to_results(passages, slim=self._slim)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = await self._index.asearch(query_bundle.query_str, **self._options)
        return [node_with_score(result) for result in to_results(passages, slim=self._slim)]
