"""A kinsplit index as a LangChain retriever."""

from __future__ import annotations

from typing import Any, Unpack

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool, ToolException
from pydantic import Field, create_model

from kinsplit.doors import DOORS, LANGCHAIN
from kinsplit.errors import InvalidParameterError, require
from kinsplit.index import Index
from kinsplit.integrations.langchain.documents import to_document
from kinsplit.integrations.shared.collection import check_number
from kinsplit.integrations.shared.results import DESCRIPTION, NAME, SearchArguments, to_prompt, to_results, tool_search
from kinsplit.keywords import SearchKeywords
from kinsplit.options import SearchOptions
from kinsplit.support.settings import FieldModel
from kinsplit.support.threads import in_thread

_FIELDS: Any = {name: (info.annotation, info) for name, info in DOORS["search"][LANGCHAIN].fields().items()}
_SearchFields: Any = create_model("_SearchFields", __base__=FieldModel, **_FIELDS)


class KinsplitRetriever(_SearchFields, BaseRetriever):
    """A kinsplit index as a LangChain retriever: kin scoring, reranking, siblings or parents, and a token budget.

    Documents contain passages, with their position in the source as metadata. The hits of each passage and the scores
    of all stages are what the function `details` reads. An unchunked document is followed by the other files of its
    group, which don't count. Every option can be set later, also by `configurable_fields`, and given per call:
    `invoke(question, k=5, where={"subject": "cs"})`.

    Args:
        index: The index.
        k: Maximum number of passages, called `top_k` elsewhere; None for 3, or with a budget for as many as fit.
        name: Name of the runnable.
        tags: Tags of the retriever's runs.
        metadata: Metadata of the retriever's runs.
        slim: Whether passages keep only the metadata for a prompt: their position and score (see
            `kinsplit.integrations.shared.metadata.slimmed`).
        **options: See `kinsplit.SearchOptions`.

    Raises:
        InvalidParameterError: An option is unknown, or its value is invalid.

    Example:
        >>> retriever = KinsplitRetriever(index, budget=1000)
        >>> chain = {"context": retriever | show, "question": RunnablePassthrough()} | prompt | llm
    """

    index: Index = Field(repr=False, exclude=True)
    k: int | None = Field(default=None, description="Maximum number of passages.")
    slim: bool = False

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
        given: Any = {name: value for name, value in options.items() if value is not None}
        count = _count(k, given)
        SearchOptions(**given, top_k=count)
        super().__init__(index=index, k=count, slim=slim, name=name, tags=tags, metadata=metadata, **given)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        return self._search(query, **options)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        return await in_thread(self._search, query, **options)

    def _search(self, query: str, k: int | None = None, **options: Unpack[SearchKeywords]) -> list[Document]:
        own: Any = {name: getattr(self, name) for name in _FIELDS if name in self.model_fields_set}
        count = _count(k, options)
        merged: SearchKeywords = {**own, "top_k": self.k if count is None else count, **options}
        return [to_document(result) for result in to_results(self.index.search(query, **merged), slim=self.slim)]


def _count(k: int | None, options: SearchKeywords) -> int | None:
    """Return the maximum number of passages, and remove it from the options: LangChain calls it k."""
    top_k = options.pop("top_k", None)
    if k is None:
        return top_k
    require(top_k is None, "top_k", "is the same as k and can't be given with it", top_k, "Leave one of them out.")
    check_number("k", k)
    return k


_Result = tuple[str, list[Document]]


def search_tool(
    index: Index, *, name: str = NAME, description: str = DESCRIPTION, **options: Unpack[SearchKeywords]
) -> StructuredTool:
    """Return the search of an index as a tool for agents.

    The model gives a question, and a filter if it wants one. It gets the passages as text, each under its citation; the
    message's artifact holds them as documents, as `KinsplitRetriever` returns them. A mistake is answered with its
    remedy.

    Args:
        index: The index.
        name: Name of the tool.
        description: What the model reads about it. Say what the documents are about.
        **options: See `kinsplit.SearchOptions`; a `where` restricts every call.

    Raises:
        InvalidParameterError: An option is unknown, or its value is invalid.

    Example:
        >>> tool = search_tool(index, description="Search the course's lectures.", top_k=5, budget=2000)
        >>> agent = create_agent(model, tools=[tool])
    """
    find = tool_search(index, options)

    def search(question: str, where: dict[str, Any] | None = None) -> _Result:
        try:
            passages = find(question, where)
        except InvalidParameterError as error:
            raise ToolException(str(error)) from error
        return to_prompt(passages), [to_document(result) for result in to_results(passages)]

    async def asearch(question: str, where: dict[str, Any] | None = None) -> _Result:
        return await in_thread(search, question, where)

    return StructuredTool.from_function(
        func=search,
        coroutine=asearch,
        name=name,
        description=description,
        args_schema=SearchArguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
