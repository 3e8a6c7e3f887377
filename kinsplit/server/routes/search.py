"""`GET /search`: a question in, passages out."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import SearchKeywords
from kinsplit.server import bounds
from kinsplit.server.library import Shelf
from kinsplit.server.models import SearchAnswer
from kinsplit.server.services import SettingsOf, ShelfOf, WorkersOf, answer
from kinsplit.server.shown import check_shown, passage_of
from kinsplit.stores.where import parse_where

router = APIRouter(tags=["search"])

Condition = Annotated[str, Query(max_length=bounds.CONDITION)]


@router.get("/search", response_model=SearchAnswer, summary="Find the passages that answer a question")
async def search(
    shelf: ShelfOf,
    workers: WorkersOf,
    settings: SettingsOf,
    q: Annotated[str, Query(min_length=1, max_length=bounds.QUERY, description="The question.")],
    top_k: Annotated[int, Query(ge=1, le=bounds.TOP_K, description="Most passages.")] = 3,
    window: Annotated[
        int, Query(ge=0, le=bounds.WINDOW, description="Siblings that are added to a hit on each side.")
    ] = 1,
    parents: Annotated[bool, Query(description="Whether to return the whole parents of hits instead.")] = False,
    rerank: Annotated[
        str, Query(max_length=bounds.NAME, description="Reranker; GET /strategies lists those that may be named.")
    ] = "none",
    budget: Annotated[
        int | None, Query(ge=1, le=bounds.BUDGET, description="Most tokens of all passages together.")
    ] = None,
    where: Annotated[
        list[Condition] | None,
        Query(
            max_length=bounds.CONDITIONS,
            description="Only what has this metadata: `course=cs`, also with !=, <, <=, > or >=, repeated as needed; "
            'or one JSON object, such as {"year": {"$gte": 2020}}.',
        ),
    ] = None,
) -> Response:
    """Search by meaning and by words, each chunk judged with its kin, and show each hit in its surroundings."""
    if rerank not in settings.rerankers:
        remedy = f"Take one of: {', '.join(settings.rerankers)}."
        raise InvalidParameterError("rerank", "must be one that this service has", rerank, remedy)
    options: SearchKeywords = {
        "top_k": top_k,
        "window": window,
        "parents": parents,
        "rerank": rerank,
        "budget": budget,
        "where": _filter(where or []),
    }
    return await answer(workers, _search, shelf, q, options)


def _search(shelf: Shelf, query: str, options: SearchKeywords) -> SearchAnswer:
    try:
        passages = shelf.index.search(query, **options)
    except InvalidParameterError as error:
        if error.field != "query":
            raise
        raise InvalidParameterError("q", error.rule, error.value, error.remedy) from None
    found = [passage_of(rank, passage) for rank, passage in enumerate(passages, 1)]
    return SearchAnswer(query=query, strategy=shelf.name, passages=found)


def _filter(conditions: list[str]) -> dict[str, Any] | None:
    if not conditions:
        return None
    if len(conditions) > 1 or not conditions[0].lstrip().startswith("{"):
        where = parse_where("where", conditions)
    else:
        try:
            where = json.loads(conditions[0])
        except (ValueError, RecursionError):
            remedy = 'Write for example {"year": {"$gte": 2020}}.'
            raise InvalidParameterError("where", "must be JSON", conditions[0], remedy) from None
        if _depth(where) > bounds.DEPTH:
            remedy = "Take fewer filters inside each other."
            raise InvalidParameterError("where", f"must be at most {bounds.DEPTH} deep", conditions[0], remedy)
    check_shown(where)
    return where


def _depth(value: object) -> int:
    """Return how deep lists and objects are nested, layer by layer."""
    depth, layer = 0, [value]
    while layer:
        layer = [
            inner
            for each in layer
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        depth += 1
    return depth
