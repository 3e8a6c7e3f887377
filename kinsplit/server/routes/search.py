"""`GET /search`: passages that answer a question."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from kinsplit.answering.run import highlight
from kinsplit.errors import InvalidParameterError
from kinsplit.keywords import SearchKeywords
from kinsplit.retrieval import LanguageModelReranker, Passages
from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import respond
from kinsplit.server.models import Highlight, SearchAnswer, search_body, to_highlight, to_search_answer
from kinsplit.server.processes.viewer import shown_passage
from kinsplit.server.request_options import Conditions, offered, query_of, read_query

_T = TypeVar("_T")

router = APIRouter(tags=["search"])


class SearchQuery(offered("search")):  # type: ignore[misc]
    """A question, with the options of its search."""

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
        body = await searchers.run(collections.call, collection, _answer, asked.q, options)
        return Response(body, media_type="application/json")
    name, passages, highlights = await searchers.run(collections.call, collection, _lit, asked.q, options)
    # No thread waits for this.
    views = await viewer.views(list(map(shown_passage, passages, highlights)))
    return await respond(workers, to_search_answer, asked.q, name, passages, highlights, views)


def _answer(collection: OpenCollection, query: str, options: SearchKeywords) -> bytes:
    search = partial(collection.index.search_as, partial(search_body, query, collection.name))
    return _asked(search, query, options)


def _lit(collection: OpenCollection, query: str, options: SearchKeywords) -> tuple[str, Passages, list[Highlight]]:
    passages = _asked(collection.index.search, query, options)
    spans = [highlight(query, passage, collection.index) for passage in passages]
    return collection.name, passages, [to_highlight(p, *span) for p, span in zip(passages, spans, strict=True)]


def _asked(search: Callable[..., _T], query: str, options: SearchKeywords) -> _T:
    try:
        return search(query, **options)
    except InvalidParameterError as error:
        if error.field != "query":
            raise
        raise error.of("q") from None
