"""`GET /documents`: the indexed documents."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import CollectionDep, WorkersDep, respond
from kinsplit.server.models import DocumentPage, DocumentRow

router = APIRouter(tags=["documents"])

Offset = Annotated[int, Query(ge=0, le=2**31, description="Number of items to skip.")]
Limit = Annotated[int, Query(ge=1, le=limits.PAGE, description="Maximum number of items to return.")]


@router.get("/documents", response_model=DocumentPage, summary="List the documents")
async def documents(collection: CollectionDep, workers: WorkersDep, offset: Offset = 0, limit: Limit = 50) -> Response:
    """List the documents of a collection, ordered by id."""
    return await respond(workers, collection.call, _list, offset, limit)


def _list(collection: OpenCollection, offset: int, limit: int) -> DocumentPage:
    sources = collection.index.store.sources(0)
    rows = [DocumentRow(id=id_, chunks=number) for id_, number in islice(sources.items(), offset, offset + limit)]
    return DocumentPage(strategy=collection.name, total=len(sources), offset=offset, documents=rows)
