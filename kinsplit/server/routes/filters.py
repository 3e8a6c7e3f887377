"""`GET /filters`: what `where` can ask for."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from kinsplit.server.collections import Shelf
from kinsplit.server.dependencies import ShelfOf, WorkersOf, answer
from kinsplit.server.models.documents import FilterKey, Filters, FilterValue

router = APIRouter(tags=["documents"])


@router.get("/filters", response_model=Filters, summary="List what documents can be filtered by")
async def filters(shelf: ShelfOf, workers: WorkersOf) -> Response:
    """List the metadata of a collection's documents with its values, as of at most a minute ago."""
    return await answer(workers, _list, shelf)


def _list(shelf: Shelf) -> Filters:
    keys = [
        FilterKey(
            key=facet.key,
            distinct=facet.distinct,
            values=[FilterValue(value=value, documents=number) for value, number in facet.values],
        )
        for facet in shelf.filters.get()
    ]
    return Filters(strategy=shelf.name, keys=keys)
