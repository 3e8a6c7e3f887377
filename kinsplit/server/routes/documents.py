"""`GET /documents`: what is indexed."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from kinsplit.server import limits
from kinsplit.server.collections import Shelf
from kinsplit.server.dependencies import ShelfOf, WorkersOf, answer
from kinsplit.server.models.documents import DocumentPage, DocumentRow

router = APIRouter(tags=["documents"])

Offset = Annotated[int, Query(ge=0, le=2**31, description="How many to pass over.")]
Limit = Annotated[int, Query(ge=1, le=limits.PAGE, description="Most in this answer.")]


@router.get("/documents", response_model=DocumentPage, summary="List the documents")
async def documents(shelf: ShelfOf, workers: WorkersOf, offset: Offset = 0, limit: Limit = 50) -> Response:
    """List the documents of a collection in order of their ids."""
    return await answer(workers, _list, shelf, offset, limit)


def _list(shelf: Shelf, offset: int, limit: int) -> DocumentPage:
    sources = shelf.index.store.sources(0)
    rows = [DocumentRow(id=id_, chunks=number) for id_, number in islice(sources.items(), offset, offset + limit)]
    return DocumentPage(strategy=shelf.name, total=len(sources), offset=offset, documents=rows)
