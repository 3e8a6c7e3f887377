"""`GET /documents/{id}/pages/{page}.png` and `GET /documents/{id}/original`: the file that a document was read from.

A path is never a client's: the store knows the file of an indexed document, and what it returns is checked to be the
file that was indexed, by its hash.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi import Path as PathParameter
from fastapi.responses import Response, StreamingResponse

from kinsplit.chunk import DOCUMENT, FILE_DIGEST, Chunk
from kinsplit.errors import WorkerError, require
from kinsplit.identity import chunk_id
from kinsplit.retrieval import Candidate, join
from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import CollectionDep, DocumentWorkersDep, SettingsDep, ViewerDep
from kinsplit.server.errors import RequestError
from kinsplit.server.models import SpanLocator
from kinsplit.server.processes.pdf_page import PageError, Picture
from kinsplit.server.processes.viewer import Viewer, path_of
from kinsplit.server.routes.documents import DocumentId, DocumentRoute, RangeOffset, range_of
from kinsplit.spans import Span

router = APIRouter(tags=["documents"], route_class=DocumentRoute)

_TEXT = "GET /documents/{id} has the text as it was indexed."
# Characters before the marked text, which tell repeated ones apart.
_BEFORE = 200
# Pages of a chunk, before which chunks that end on a page are looked for.
_PAGES = 20
_BLOCK = 2**18
#: A file of which a page is to be drawn: its path, the SHA-256 that it must have, the text to mark, and that before it.
_Wanted = tuple[Path, str, str, str]

_HEADERS = {
    "X-Marked-Lines": {"schema": {"type": "integer"}, "description": "Number of marked lines."},
    "X-Marked-Top": {
        "schema": {"type": "number"},
        "description": "Top of the first marked line as a share of the page's height; absent if none is marked.",
    },
}


@router.get(
    "/documents/{id:id}/pages/{page}.png",
    summary="Draw a page of a document",
    response_class=Response,
    responses={200: {"description": "The page.", "content": {"image/png": {}}, "headers": _HEADERS}},
)
async def page_picture(
    settings: SettingsDep,
    collection: CollectionDep,
    workers: DocumentWorkersDep,
    viewer: ViewerDep,
    id: DocumentId,
    page: Annotated[int, PathParameter(description="Number of the page, from 1.")],
    start: RangeOffset = None,
    end: RangeOffset = None,
    width: Annotated[int, Query(ge=100, le=limits.WIDTH, description="Pixels across.")] = 1200,
) -> Response:
    """Return a page of a PDF file as a picture, in which the lines of a part of the text are marked.

    The lines are found by their text; X-Marked-Lines is 0 if none of it is on the page.
    """
    wanted = await workers.run(collection.call, _wanted, viewer, id, page, range_of(start, end))
    # No thread waits for this.
    picture = await _draw(viewer, wanted, id, page, width, settings.timeout)
    headers = {"X-Marked-Lines": str(len(picture.lines))}
    if picture.lines:
        headers["X-Marked-Top"] = f"{picture.lines[0].top:.4f}"
    return Response(picture.png, headers=headers, media_type="image/png")


@router.get(
    "/documents/{id:id}/original",
    summary="Download the file of a document",
    response_class=Response,
    responses={200: {"description": "The file.", "content": {"application/octet-stream": {}}}},
)
async def original(
    collection: CollectionDep, workers: DocumentWorkersDep, viewer: ViewerDep, id: DocumentId
) -> Response:
    """Return the file of a document, if the service may serve it and it hasn't changed since it was indexed."""
    file, size = await workers.run(collection.call, _open, viewer, id)
    headers = {
        # Never shown by the browser: a page of somebody's would run in the service's name.
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(Path(file.name).name, safe='')}",
        "Content-Length": str(size),
        # Most are packed already, and a large one would take long.
        "Content-Encoding": "identity",
    }
    return StreamingResponse(_blocks(file), headers=headers, media_type="application/octet-stream")


def _wanted(collection: OpenCollection, viewer: Viewer, source_id: str, page: int, marked: Span | None) -> _Wanted:
    document = _document(collection, source_id)
    if not viewer.has_pages(source_id, document.metadata):
        raise RequestError(404, "must be a PDF file whose pages may be shown", _TEXT, field="id", value=source_id)
    return *_file(document), *_passage(collection, document, page, marked)


async def _draw(viewer: Viewer, wanted: _Wanted, source_id: str, page: int, width: int, timeout: float) -> Picture:
    path, digest, text, before = wanted
    try:
        async with asyncio.timeout(timeout):
            return await viewer.renderer.draw(path, digest, page, text, before, width)
    except PageError as error:
        if error.reason == "page":
            rule = f"must be a page of the document, from 1 to {error.pages}"
            raise RequestError(404, rule, _TEXT, field="page", value=page) from None
        if error.reason == "refused":
            rule = f"has a page {page} that can't be drawn"
            raise RequestError(422, rule, _TEXT, field="file", value=source_id) from None
        raise _not_as_indexed(source_id, error.reason) from None
    except WorkerError as error:
        rule = f"has a page {page} that can't be drawn, since it {error}"
        raise RequestError(422, rule, _TEXT, field="file", value=source_id) from None
    except TimeoutError:
        raise RequestError(504, f"took longer than {timeout:g} s to draw", "Try again later.") from None


def _open(collection: OpenCollection, viewer: Viewer, source_id: str) -> tuple[IO[bytes], int]:
    """Open the file of a document and compare its hash; what is read afterwards is the same file."""
    document = _document(collection, source_id)
    if not viewer.has_original(document.metadata):
        rule = "must be a file that this service may return"
        raise RequestError(404, rule, _TEXT, field="id", value=source_id)
    path, digest = _file(document)
    try:
        file = path.open("rb")
    except OSError:
        raise _not_as_indexed(source_id, "gone") from None
    if hashlib.file_digest(file, "sha256").hexdigest() != digest:
        file.close()
        raise _not_as_indexed(source_id, "changed")
    size = file.tell()
    file.seek(0)
    return file, size


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while block := file.read(_BLOCK):
            yield block


def _document(collection: OpenCollection, source_id: str) -> Chunk:
    """Return the chunk that stands for a whole document."""
    found = collection.index.store.get([chunk_id(source_id, collection.index.store.schema.fingerprint, DOCUMENT, 0)])
    if not found:
        remedy = "GET /documents lists the ids."
        raise RequestError(404, "must be the id of a document", remedy, field="id", value=source_id)
    return found[0]


def _file(document: Chunk) -> tuple[Path, str]:
    """Return the path of a document's file, and the hash that it had when it was indexed."""
    path, digest = path_of(document.metadata), document.metadata.get(FILE_DIGEST)
    if path is None or not isinstance(digest, str):
        rule = "was indexed without its hash"
        raise RequestError(409, rule, f"Index it again. {_TEXT}", field="file", value=document.source_id)
    # A link on the way leads elsewhere than when it was indexed, and reading anything but a file may never end.
    if os.path.realpath(path) != str(path) or not path.is_file():
        raise _not_as_indexed(document.source_id, "gone")
    return path, digest


def _passage(collection: OpenCollection, document: Chunk, page: int, marked: Span | None) -> tuple[str, str]:
    """Return the part of the text to mark that may be on a page, and some of the text before it."""
    if marked is None:
        return "", ""
    remedy = f"It has {document.end} characters."
    require(marked.end <= document.end, "end", "must be an offset in the document", marked.end, remedy)
    chunks = _chunks_on(collection, document, page)
    near = [chunk for chunk in chunks if chunk.start < marked.end and chunk.end > marked.start - _BEFORE]
    if not near:
        return "", ""
    joined = join(near, [Candidate(near[0], 0.0)])
    places = SpanLocator(joined.spans, joined.text).locate([marked])
    text = "\n".join(joined.text[place.start : place.end] for place in places)
    first = places[0].start if places else 0
    # A chunk may have many pages, but no page has as much text.
    return text[: limits.RENDERED], joined.text[max(0, first - _BEFORE) : first]


def _chunks_on(collection: OpenCollection, document: Chunk, page: int) -> list[Chunk]:
    """Return the chunks of a page; all of the document if it was indexed without its pages."""
    find, of_document = collection.index.store.find, {"source_id": document.source_id}
    if document.metadata.get("page_end") is None:
        return find(of_document)
    if not 1 <= page <= document.metadata["page_end"]:
        return []
    on_page = {**of_document, "page_end": {"$gte": page}}
    # Stores look up values fast, and compare every chunk of the document with a bound.
    near = find({**on_page, "page_start": list(range(max(1, page - _PAGES), page + 1))})
    return near or find({**on_page, "page_start": {"$lt": page}})


def _not_as_indexed(source_id: str, reason: str) -> RequestError:
    rule = "has changed since it was indexed" if reason == "changed" else "is no longer there"
    return RequestError(409, rule, f"Index it again. {_TEXT}", field="file", value=source_id)
