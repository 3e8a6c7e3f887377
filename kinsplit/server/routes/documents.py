"""`GET /documents`, `/documents/{id}`, `/documents/{id}/chunks` and `/filters`: documents and their metadata.

Only the store is read: an id is compared, never opened as a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import Match
from starlette.types import Scope

from kinsplit.chunk import DOCUMENT, Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import chunk_id
from kinsplit.retrieval import Candidate, Passage, join
from kinsplit.server import limits, models
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import CollectionDep, DocumentWorkersDep, ViewerDep, WorkersDep, respond
from kinsplit.server.errors import RequestError
from kinsplit.server.processes.viewer import Shown, Viewer, to_marks
from kinsplit.spans import Span
from kinsplit.wire import visible_metadata


class _AnyText(Convertor[str]):
    """Path parameter that may hold anything; Starlette's "path" excludes line feeds."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("id", _AnyText())


class DocumentRoute(APIRoute):
    """A route whose path after the id must match literally: a %2Fchunks belongs to the id."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return how far a request matches."""
        sent = scope.get("raw_path") or scope["path"].encode()
        after = self.path.partition("{id:id}")[2]
        pattern = "[^/]*".join(map(re.escape, re.split(r"\{\w+\}", after)))
        return super().matches(scope) if re.search(f"{pattern}$".encode(), sent) else (Match.NONE, {})


router = APIRouter(tags=["documents"], route_class=DocumentRoute)

Offset = Annotated[int, Query(ge=0, le=2**31, description="Number of items to skip.")]
Limit = Annotated[int, Query(ge=1, le=limits.PAGE, description="Maximum number of items to return.")]

# No maximum length: the limit on request headers applies.
DocumentId = Annotated[
    str,
    Path(
        description="Id of the document; slashes may be written as / or %2F. "
        "If the id itself ends like one of these paths, in /chunks for example, write that as %2Fchunks."
    ),
]


RangeOffset = Annotated[
    int | None, Query(ge=0, le=2**31, description="First code point to mark, or one past the last; both or neither.")
]


@router.get("/documents", response_model=models.DocumentPage, summary="List the documents")
async def documents(collection: CollectionDep, workers: WorkersDep, offset: Offset = 0, limit: Limit = 50) -> Response:
    """List the documents of a collection, ordered by id."""
    return await respond(workers, collection.call, _list, offset, limit)


@router.get("/filters", response_model=models.MetadataFilters, summary="List the filters")
async def filters(collection: CollectionDep, workers: WorkersDep) -> Response:
    """List the metadata keys and values that `where` can test; at most a minute old."""
    return await respond(workers, collection.call, _filters)


# Before the other route, whose id would match its path.
@router.get("/documents/{id:id}/chunks", response_model=models.ChunkPage, summary="Read the chunks of a document")
async def document_chunks(
    collection: CollectionDep,
    workers: DocumentWorkersDep,
    id: DocumentId,
    level: Annotated[int, Query(ge=0, lt=DOCUMENT, description="0 for chunks, 1 and above for their parents.")] = 0,
    offset: Offset = 0,
    limit: Limit = 50,
) -> Response:
    """Return the chunks of one level of a document, in document order."""
    return await respond(workers, collection.call, _chunk_page, id, level, offset, limit)


@router.get("/documents/{id:id}", response_model=models.DocumentText, summary="Read a document")
async def document(
    collection: CollectionDep,
    workers: DocumentWorkersDep,
    viewer: ViewerDep,
    id: DocumentId,
    render: Annotated[bool, Query(description="Whether to return Markdown and code as safe HTML.")] = False,
    start: RangeOffset = None,
    end: RangeOffset = None,
) -> Response:
    """Return the text of a document, joined from its chunks, with the position of each chunk.

    In the HTML, the range from `start` to `end` is marked.
    """
    marked = range_of(start, end)
    if not render:
        return await respond(workers, collection.call, _plain, viewer, id)
    stored = await workers.run(collection.call, _read, id)
    # No thread waits for this.
    view = await viewer.rendered(stored.shown(marked))
    return await respond(workers, stored.text, view)


def range_of(start: int | None, end: int | None) -> Span | None:
    """Return the range of a document that a request gives, if any, or raise InvalidParameterError if it is empty."""
    if start is None and end is None:
        return None
    if start is None or end is None or start >= end:
        remedy = "Give a start and an end after it, or neither."
        raise InvalidParameterError("start", "must be a range of the document", f"{start} to {end}", remedy)
    return Span(start, end)


@dataclass(frozen=True, slots=True)
class _StoredDocument:
    """A document joined from its chunks."""

    strategy: str
    whole: Passage
    chunks: list[Chunk]
    locator: models.SpanLocator

    def shown(self, marked: Span | None) -> Shown:
        """Return the text, with a range of the document marked."""
        marks = to_marks(self.locator.locate([marked] if marked else []), len(self.whole.text))
        return Shown(self.whole.source_id, self.whole.best.chunk.metadata, self.whole.text, marks)

    def text(self, view: models.TextView) -> models.DocumentText:
        """Return the response with the text."""
        return models.DocumentText(
            id=self.whole.source_id,
            strategy=self.strategy,
            text=self.whole.text,
            spans=[tuple(span) for span in self.whole.spans],
            chunks=[models.to_place(chunk, self.locator) for chunk in self.chunks],
            metadata=visible_metadata(self.whole.metadata),
            view=view,
        )


def _read(collection: OpenCollection, source_id: str) -> _StoredDocument:
    """Fetch all chunks of a document in one request, and join them, or raise RequestError if there are none (404)."""
    found = collection.index.store.find({"source_id": source_id}, level=None)
    chunks = [chunk for chunk in found if chunk.level != DOCUMENT]
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    if not leaves:
        remedy = "GET /documents lists the ids."
        raise RequestError(404, "must be the id of a document", remedy, field="id", value=source_id)
    whole = join(leaves, [Candidate(leaves[0], 0.0)])
    return _StoredDocument(collection.name, whole, chunks, models.SpanLocator(whole.spans, whole.text))


def _plain(collection: OpenCollection, viewer: Viewer, source_id: str) -> models.DocumentText:
    stored = _read(collection, source_id)
    return stored.text(viewer.view(stored.shown(None)))


def _chunk_page(collection: OpenCollection, source_id: str, level: int, offset: int, limit: int) -> models.ChunkPage:
    stored = _read(collection, source_id)
    chunks = [chunk for chunk in stored.chunks if chunk.level == level]
    return models.ChunkPage(
        id=source_id,
        strategy=collection.name,
        level=level,
        total=len(chunks),
        offset=offset,
        chunks=[models.to_chunk_text(chunk, stored.locator) for chunk in chunks[offset : offset + limit]],
    )


def _list(collection: OpenCollection, offset: int, limit: int) -> models.DocumentPage:
    store = collection.index.store
    sources = store.sources(0)
    listed = dict(islice(sources.items(), offset, offset + limit))
    whole = store.get([chunk_id(id_, store.schema.fingerprint, DOCUMENT, 0) for id_ in listed])
    facts = {each.source_id: each.metadata for each in whole}
    rows = [_row(id_, chunks, facts.get(id_, {})) for id_, chunks in listed.items()]
    return models.DocumentPage(strategy=collection.name, total=len(sources), offset=offset, documents=rows)


def _row(id_: str, chunks: int, metadata: Mapping[str, Any]) -> models.DocumentRow:
    facts = {key: str(metadata[key]) if metadata.get(key) else None for key in ("title", "course", "file_type")}
    return models.DocumentRow(id=id_, chunks=chunks, **facts)


def _filters(collection: OpenCollection) -> models.MetadataFilters:
    documents = len(collection.index.store.sources(0))
    return models.MetadataFilters(strategy=collection.name, documents=documents, keys=collection.facets.get())
