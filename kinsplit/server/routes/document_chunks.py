"""`GET /documents/{id}/chunks`: the chunks of a document with their texts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from kinsplit.chunk import DOCUMENT
from kinsplit.server.collections import Shelf
from kinsplit.server.dependencies import ShelfOf, WorkersOf, answer
from kinsplit.server.documents import read
from kinsplit.server.models.documents import ChunkPage
from kinsplit.server.responses import chunk_of
from kinsplit.server.routes.document import DocumentId, DocumentRoute
from kinsplit.server.routes.documents import Limit, Offset

router = APIRouter(tags=["documents"], route_class=DocumentRoute)


@router.get("/documents/{id:id}/chunks", response_model=ChunkPage, summary="Read the chunks of a document")
async def document_chunks(
    shelf: ShelfOf,
    workers: WorkersOf,
    id: DocumentId,
    level: Annotated[int, Query(ge=0, lt=DOCUMENT, description="0 for chunks, 1 and above for their parents.")] = 0,
    offset: Offset = 0,
    limit: Limit = 50,
) -> Response:
    """Read the chunks of a document, of one level, in document order."""
    return await answer(workers, _read, shelf, id, level, offset, limit)


def _read(shelf: Shelf, source_id: str, level: int, offset: int, limit: int) -> ChunkPage:
    found = read(shelf, source_id)
    chunks = [chunk for chunk in found.chunks if chunk.level == level]
    return ChunkPage(
        id=source_id,
        strategy=shelf.name,
        level=level,
        total=len(chunks),
        offset=offset,
        chunks=[chunk_of(chunk, found.places) for chunk in chunks[offset : offset + limit]],
    )
