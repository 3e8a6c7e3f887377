"""`GET /documents/{id}`: a document with the boundaries of its chunks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response

from kinsplit.server import bounds
from kinsplit.server.library import Shelf
from kinsplit.server.models.documents import DocumentText
from kinsplit.server.services import ShelfOf, WorkersOf, answer
from kinsplit.server.shown import metadata_of, place_of
from kinsplit.server.stored_document import read

router = APIRouter(tags=["documents"])

DocumentId = Annotated[
    str, Path(max_length=bounds.NAME, description="Id of the document, with slashes as they are or as %2F.")
]


@router.get("/documents/{id:path}", response_model=DocumentText, summary="Read a document")
async def document(shelf: ShelfOf, workers: WorkersOf, id: DocumentId) -> Response:
    """Put a document together from its chunks, and say where each of them lies in it."""
    return await answer(workers, _read, shelf, id)


def _read(shelf: Shelf, source_id: str) -> DocumentText:
    found = read(shelf, source_id)
    return DocumentText(
        id=source_id,
        strategy=shelf.name,
        text=found.whole.text,
        spans=[tuple(span) for span in found.whole.spans],
        chunks=[place_of(chunk, found.places) for chunk in found.chunks],
        metadata=metadata_of(found.whole.metadata),
    )
