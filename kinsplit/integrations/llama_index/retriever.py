"""A kinsplit index as a LlamaIndex retriever."""

from __future__ import annotations

from typing import Any, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.tools import FunctionTool

from kinsplit.index import Index
from kinsplit.integrations.llama_index.records import node_with_score
from kinsplit.integrations.shared.results import DESCRIPTION, NAME, SearchArguments, to_prompt, to_results, tool_search
from kinsplit.keywords import SearchKeywords
from kinsplit.retrieval import Passages
from kinsplit.support.threads import in_thread


class KinsplitRetriever(BaseRetriever):
    """A kinsplit index as a LlamaIndex retriever: kin scoring, reranking, siblings or parents, and a token budget.

    Nodes contain passages, with their position in the document as offsets and as metadata. The hits of each passage and
    the scores of all stages are what the function `details` reads, from a key that is excluded from the embedded and
    the LLM text. An unchunked document is followed by the other files of its group, which don't count.

    Args:
        index: The index.
        callback_manager: Receives the events of queries.
        slim: Whether passages keep only the metadata for a prompt: their position and score (see
            `kinsplit.integrations.shared.metadata.slimmed`).
        **options: See `kinsplit.SearchOptions`.

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
        self._find = tool_search(index, options)
        self._slim = slim
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = self._find(query_bundle.query_str, None)
        return [node_with_score(result) for result in to_results(passages, slim=self._slim)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await in_thread(self._retrieve, query_bundle)


class _Nodes(list[NodeWithScore]):
    """Passages as nodes, whose text is what the model reads."""

    def __init__(self, passages: Passages) -> None:
        super().__init__(node_with_score(result) for result in to_results(passages))
        self._text = to_prompt(passages)

    def __str__(self) -> str:
        return self._text


def search_tool(
    index: Index, *, name: str = NAME, description: str = DESCRIPTION, **options: Unpack[SearchKeywords]
) -> FunctionTool:
    """Return the search of an index as a tool for agents.

    The model gives a question, and a filter if it wants one. It gets the passages as text, each under its citation; the
    output's `raw_output` holds them as nodes, as `KinsplitRetriever` returns them.

    Args:
        index: The index.
        name: Name of the tool.
        description: What the model reads about it. Say what the documents are about.
        **options: See `kinsplit.SearchOptions`; a `where` restricts every call.

    Raises:
        InvalidParameterError: An option is unknown, or its value is invalid.

    Example:
        >>> tool = search_tool(index, description="Search the course's lectures.", top_k=5, budget=2000)
        >>> agent = FunctionAgent(tools=[tool], llm=llm)
    """
    find = tool_search(index, options)

    def search(question: str, where: dict[str, Any] | None = None) -> _Nodes:
        return _Nodes(find(question, where))

    async def asearch(question: str, where: dict[str, Any] | None = None) -> _Nodes:
        return await in_thread(search, question, where)

    async def show(nodes: _Nodes) -> str:
        return str(nodes)

    return FunctionTool.from_defaults(
        fn=search,
        async_fn=asearch,
        name=name,
        description=description,
        fn_schema=SearchArguments,
        callback=str,
        async_callback=show,
    )
