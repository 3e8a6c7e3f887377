"""`GET /search`: a question in, passages out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import LanguageModelReranker, SearchKeywords
from kinsplit.server import limits
from kinsplit.server.collections import Shelf
from kinsplit.server.dependencies import AskersOf, LibraryOf, ShelfOf, WorkersOf, answer
from kinsplit.server.models.search import SearchAnswer
from kinsplit.server.request_options import filter_of, pick_reranker
from kinsplit.server.responses import passage_of

router = APIRouter(tags=["search"])

Condition = Annotated[str, Query(max_length=limits.CONDITION)]


@router.get("/search", response_model=SearchAnswer, summary="Find the passages that answer a question")
async def search(
    library: LibraryOf,
    shelf: ShelfOf,
    workers: WorkersOf,
    askers: AskersOf,
    q: Annotated[str, Query(min_length=1, max_length=limits.QUERY, description="The question.")],
    top_k: Annotated[int, Query(ge=1, le=limits.TOP_K, description="Most passages.")] = 3,
    window: Annotated[
        int, Query(ge=0, le=limits.WINDOW, description="Siblings that are added to a hit on each side.")
    ] = 1,
    parents: Annotated[bool, Query(description="Whether to return the whole parents of hits instead.")] = False,
    rerank: Annotated[
        str, Query(max_length=limits.NAME, description="Reranker; GET /strategies lists those that may be named.")
    ] = "none",
    budget: Annotated[
        int | None, Query(ge=1, le=limits.BUDGET, description="Most tokens of all passages together.")
    ] = None,
    where: Annotated[
        list[Condition] | None,
        Query(
            max_length=limits.CONDITIONS,
            description="Only what has this metadata: `course=cs`, also with !=, <, <=, > or >=, repeated as needed; "
            'or one JSON object, such as {"year": {"$gte": 2020}}.',
        ),
    ] = None,
) -> Response:
    """Search by meaning and by words, each chunk judged with its kin, and show each hit in its surroundings."""
    options: SearchKeywords = {
        "top_k": top_k,
        "window": window,
        "parents": parents,
        "rerank": pick_reranker(rerank, library),
        "budget": budget,
        "where": filter_of(where),
    }
    asks = isinstance(options["rerank"], LanguageModelReranker)
    return await answer(askers if asks else workers, _search, shelf, q, options)


def _search(shelf: Shelf, query: str, options: SearchKeywords) -> SearchAnswer:
    try:
        passages = shelf.index.search(query, **options)
    except InvalidParameterError as error:
        if error.field != "query":
            raise
        raise InvalidParameterError("q", error.rule, error.value, error.remedy) from None
    found = [passage_of(rank, passage) for rank, passage in enumerate(passages, 1)]
    return SearchAnswer(query=query, strategy=shelf.name, passages=found)
