"""`GET /filters`: metadata that documents can be filtered by."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import CollectionDep, WorkersDep, respond
from kinsplit.server.models import FilterKey, FilterValue, MetadataFilters

router = APIRouter(tags=["documents"])


@router.get("/filters", response_model=MetadataFilters, summary="List the filters")
async def filters(collection: CollectionDep, workers: WorkersDep) -> Response:
    """List the metadata keys and values that `where` can test; at most a minute old."""
    return await respond(workers, collection.call, _list)


def _list(collection: OpenCollection) -> MetadataFilters:
    keys = [
        FilterKey(
            key=facet.key,
            distinct=facet.distinct,
            values=[FilterValue(value=value, documents=number) for value, number in facet.values],
        )
        for facet in collection.facets.get()
    ]
    return MetadataFilters(strategy=collection.name, keys=keys)
