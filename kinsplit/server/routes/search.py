"""`GET /search`: passages that answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ConfigDict, Field

from kinsplit.answering.run import highlight
from kinsplit.errors import InvalidParameterError
from kinsplit.keywords import SearchKeywords
from kinsplit.retrieval import LanguageModelReranker, Passages
from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import respond
from kinsplit.server.models import Highlight, SearchAnswer, TextView, to_found_passage, to_highlight
from kinsplit.server.processes.viewer import shown_passage
from kinsplit.server.request_options import Conditions, offered, query_of, read_query
from kinsplit.wire import finding_row

router = APIRouter(tags=["search"])


class SearchQuery(offered("search")):  # type: ignore[misc]
    """A question, with the options of its search."""

    # Unknown parameters of an address are ignored.
    model_config = ConfigDict(extra="ignore")

    q: str = Field(min_length=1, max_length=limits.QUERY, description="The question.")
    where: Conditions | None = Field(
        default=None,
        description="Metadata filter: `course=cs`, also with !=, <, <=, > or >=, repeatable; "
        'or one JSON object, such as {"year": {"$gte": 2020}}.',
    )


@router.get(
    "/search",
    response_model=SearchAnswer,
    summary="Find the passages that answer a question",
    openapi_extra=query_of(SearchQuery),
)
async def search(request: Request) -> Response:
    """Search by meaning and by words, scoring each chunk with its kin, and return each hit with its siblings."""
    # Dependencies would take as long as all else here.
    state, asked = request.app.state, read_query(SearchQuery, request.query_params)
    collections, workers, viewer = state.collections, state.workers, state.viewer
    collection, options = collections.pick(asked.strategy), asked.options(collections)
    uses_model = isinstance(options["rerank"], LanguageModelReranker)
    searchers = state.model_workers if uses_model else workers
    if not asked.render:
        return await respond(searchers, collections.call, collection, _answer, asked.q, options)
    name, passages, highlights = await searchers.run(collections.call, collection, _lit, asked.q, options)
    # No thread waits for this.
    views = await viewer.views(list(map(shown_passage, passages, highlights)))
    return await respond(workers, _answered, asked.q, name, passages, highlights, views)


def _answer(collection: OpenCollection, query: str, options: SearchKeywords) -> SearchAnswer:
    return _answered(query, *_search(collection, query, options))


def _answered(
    query: str,
    name: str,
    passages: Passages,
    highlights: Sequence[Highlight] = (),
    views: Sequence[TextView] = (),
) -> SearchAnswer:
    """Return the response to a question, with a highlight and a view of each passage, or without any."""
    rows = enumerate(zip_longest(passages, highlights, views), 1)
    found = [to_found_passage(rank, passage, lit, view) for rank, (passage, lit, view) in rows]
    return SearchAnswer(query=query, strategy=name, passages=found, **finding_row(passages))


def _lit(collection: OpenCollection, query: str, options: SearchKeywords) -> tuple[str, Passages, list[Highlight]]:
    name, passages = _search(collection, query, options)
    spans = [highlight(query, passage, collection.index) for passage in passages]
    return name, passages, [to_highlight(p, *span) for p, span in zip(passages, spans, strict=True)]


def _search(collection: OpenCollection, query: str, options: SearchKeywords) -> tuple[str, Passages]:
    """Return the collection's name and the passages."""
    try:
        return collection.name, collection.index.search(query, **options)
    except InvalidParameterError as error:
        if error.field != "query":
            raise
        raise InvalidParameterError("q", error.rule, error.value, error.remedy) from None
