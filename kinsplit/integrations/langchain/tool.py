"""A kinsplit index as a LangChain tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from langchain_core.documents import Document
from langchain_core.tools import StructuredTool, ToolException

from kinsplit.errors import InvalidParameterError
from kinsplit.index import Index
from kinsplit.integrations.langchain.documents import to_document
from kinsplit.integrations.shared.results import to_results
from kinsplit.integrations.shared.tool import DESCRIPTION, NAME, SearchArguments, ToolSearch, to_prompt
from kinsplit.retrieval import Passage, SearchKeywords

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
        **options: See `kinsplit.retrieval.SearchOptions`; a `where` restricts every call.

    Raises:
        InvalidParameterError: An option is unknown, or its value is invalid.

    Example:
        >>> tool = search_tool(index, description="Search the course's lectures.", top_k=5, budget=2000)
        >>> agent = create_agent(model, tools=[tool])
    """
    found = ToolSearch(index, options)

    def search(question: str, where: dict[str, Any] | None = None) -> _Result:
        try:
            return _to_result(found.search(question, where))
        except InvalidParameterError as error:
            raise ToolException(str(error)) from error

    async def asearch(question: str, where: dict[str, Any] | None = None) -> _Result:
        try:
            return _to_result(await found.asearch(question, where))
        except InvalidParameterError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        func=search,
        coroutine=asearch,
        name=name,
        description=description,
        args_schema=SearchArguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _to_result(passages: Sequence[Passage]) -> _Result:
    return to_prompt(passages), [to_document(result) for result in to_results(passages)]
