"""`GET /search`: passages that answer a question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query
from fastapi.responses import Response

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import LanguageModelReranker, Passage, SearchKeywords
from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import CollectionDep, CollectionsDep, ModelWorkersDep, ViewerDep, WorkersDep, respond
from kinsplit.server.models import SearchAnswer, TextView
from kinsplit.server.processes.viewer import shown_passage
from kinsplit.server.request_options import DIVERSITY, RANKING, RANKINGS, parse_filter, pick_reranker
from kinsplit.server.responses import to_found_passage

router = APIRouter(tags=["search"])

Condition = Annotated[str, Query(max_length=limits.CONDITION)]
TopK = Annotated[
    int | None,
    Query(
        ge=1,
        le=limits.TOP_K,
        description="Maximum number of passages. Default: 3, or with a budget as many as fit.",
    ),
]
Window = Annotated[
    int | None,
    Query(
        ge=0,
        le=limits.WINDOW,
        description="Siblings to add on each side of a hit. Default: 1, or with a budget what hits leave.",
    ),
]


@router.get("/search", response_model=SearchAnswer, summary="Find the passages that answer a question")
async def search(
    collections: CollectionsDep,
    collection: CollectionDep,
    workers: WorkersDep,
    model_workers: ModelWorkersDep,
    viewer: ViewerDep,
    q: Annotated[str, Query(min_length=1, max_length=limits.QUERY, description="The question.")],
    top_k: TopK = None,
    window: Window = None,
    parents: Annotated[bool, Query(description="Return the whole parents of hits instead of their siblings.")] = False,
    ranking: Annotated[str, Query(max_length=limits.NAME, description=RANKING, json_schema_extra=RANKINGS)] = "kin",
    rerank: Annotated[str, Query(max_length=limits.NAME, description="Reranker; GET /strategies lists them.")] = "none",
    diversity: Annotated[float, Query(ge=0, le=1, description=DIVERSITY)] = 0.0,
    budget: Annotated[
        int | None, Query(ge=1, le=limits.BUDGET, description="Maximum total number of tokens of the passages.")
    ] = None,
    context_share: Annotated[
        float | None,
        Query(ge=0, lt=1, description="Share of the budget for the context around hits. Default: what hits leave."),
    ] = None,
    where: Annotated[
        list[Condition] | None,
        Query(
            max_length=limits.CONDITIONS,
            description="Metadata filter: `course=cs`, also with !=, <, <=, > or >=, repeatable; "
            'or one JSON object, such as {"year": {"$gte": 2020}}.',
        ),
    ] = None,
    render: Annotated[
        bool, Query(description="Whether to return how passages can be shown, Markdown and code as safe HTML.")
    ] = False,
) -> Response:
    """Search by meaning and by words, scoring each chunk with its kin, and return each hit with its siblings."""
    options: SearchKeywords = {
        "top_k": top_k,
        "window": window,
        "parents": parents,
        "ranking": ranking,
        "rerank": pick_reranker(rerank, collections),
        "diversity": diversity,
        "budget": budget,
        "context_share": context_share,
        "where": parse_filter(where),
    }
    uses_model = isinstance(options["rerank"], LanguageModelReranker)
    searchers = model_workers if uses_model else workers
    if not render:
        return await respond(searchers, collection.call, _answer, q, options)
    found = await searchers.run(collection.call, _search, q, options)
    # No thread waits for this.
    views = await viewer.views([shown_passage(passage) for passage in found.passages])
    return await respond(workers, found.answer, q, views)


class _Found(NamedTuple):
    """The passages of a collection that was searched.

    Attributes:
        strategy: Name of the collection in requests.
        passages: The passages.
    """

    strategy: str
    passages: list[Passage]

    def answer(self, query: str, views: Iterable[TextView | None]) -> SearchAnswer:
        """Return the response to a question, with a view of each passage or None."""
        pairs = zip(self.passages, views, strict=True)
        found = [to_found_passage(rank, passage, view) for rank, (passage, view) in enumerate(pairs, 1)]
        return SearchAnswer(query=query, strategy=self.strategy, passages=found)


def _answer(collection: OpenCollection, query: str, options: SearchKeywords) -> SearchAnswer:
    found = _search(collection, query, options)
    return found.answer(query, [None] * len(found.passages))


def _search(collection: OpenCollection, query: str, options: SearchKeywords) -> _Found:
    try:
        return _Found(collection.name, collection.index.search(query, **options))
    except InvalidParameterError as error:
        if error.field != "query":
            raise
        raise InvalidParameterError("q", error.rule, error.value, error.remedy) from None
