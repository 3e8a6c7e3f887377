"""The search of an index as a tool for agents, the same for both frameworks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from kinsplit.index import Index
from kinsplit.retrieval import Passage, SearchKeywords, SearchOptions

NAME = "search_documents"
DESCRIPTION = (
    "Find the passages of the indexed documents that answer a question, by meaning and by words. Each passage is an "
    "exact slice of its document, under a citation with document, pages and range."
)


class SearchArguments(BaseModel):
    """Arguments of the tool."""

    question: str = Field(description="The question, in a whole sentence with the words that matter.")
    where: dict[str, Any] | None = Field(
        default=None, description='Filter on metadata, such as {"subject": "cs", "year": {"$gte": 2020}}.'
    )


class ToolSearch:
    """Search with fixed options, to which a call adds its question and its filter.

    Args:
        index: The index.
        options: See `kinsplit.retrieval.SearchOptions`. Their filter holds besides that of a call.

    Raises:
        InvalidParameterError: An option is unknown, or its value is invalid.
    """

    def __init__(self, index: Index, options: SearchKeywords) -> None:
        SearchOptions(**options)
        self._index, self._options = index, options

    def search(self, question: str, where: dict[str, Any] | None) -> list[Passage]:
        """Find passages."""
        return self._index.search(question, **self._with(where))

    async def asearch(self, question: str, where: dict[str, Any] | None) -> list[Passage]:
        """Find passages without blocking the event loop."""
        return await self._index.asearch(question, **self._with(where))

    def _with(self, where: dict[str, Any] | None) -> SearchKeywords:
        filters = [each for each in (self._options.get("where"), where) if each]
        return {**self._options, "where": {"$and": filters} if len(filters) > 1 else filters[0] if filters else None}


def to_prompt(passages: Sequence[Passage]) -> str:
    """Return passages as a language model reads them: numbered, each under its citation and headings."""
    parts = [
        f"[{number}] {' | '.join(filter(None, (passage.citation, passage.context)))}\n{passage.text}"
        for number, passage in enumerate(passages, 1)
    ]
    return "\n\n".join(parts) or "Nothing was found."
