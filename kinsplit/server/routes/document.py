"""`GET /documents/{id}`: a document with the boundaries of its chunks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import Match
from starlette.types import Scope

from kinsplit.server.collections import Shelf
from kinsplit.server.dependencies import ShelfOf, WorkersOf, answer
from kinsplit.server.documents import read
from kinsplit.server.models.documents import DocumentText
from kinsplit.server.responses import metadata_of, place_of


class _AnyText(Convertor[str]):
    """An id, with line feeds too, which "path" leaves out."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


# Where Starlette looks for what stands after the colon of a parameter.
register_url_convertor("id", _AnyText())


class DocumentRoute(APIRoute):
    """A route that matches only if what follows the id stands in the address as it is: %2Fchunks belongs to an id."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether a request is for this route."""
        sent = scope.get("raw_path") or scope["path"].encode()
        end = self.path.rpartition("}")[2].encode()
        return super().matches(scope) if sent.endswith(end) else (Match.NONE, {})


router = APIRouter(tags=["documents"], route_class=DocumentRoute)

# As long as the head of a request may be.
DocumentId = Annotated[
    str,
    Path(
        description="Id of the document, with slashes as they are or as %2F. A last /chunks of it has to be %2Fchunks."
    ),
]


@router.get("/documents/{id:id}", response_model=DocumentText, summary="Read a document")
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
