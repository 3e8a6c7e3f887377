"""`POST /documents` and `DELETE /documents/{id}`: uploaded files, which are kept in a folder and indexed from there."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Depends, Request, UploadFile
from fastapi.responses import Response

from kinsplit.errors import InvalidParameterError, LoadError, require
from kinsplit.identity import chunk_id
from kinsplit.loaders import suffixes
from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection, UploadFolder, UploadFolders
from kinsplit.server.dependencies import CollectionDep, SettingsDep, UploadWorkersDep, respond
from kinsplit.server.errors import RequestError
from kinsplit.server.models import Deleted, Uploaded, UploadRow
from kinsplit.server.routes.documents import DocumentId, DocumentRoute

# Characters that a file system, a shell or the id of a row gives a meaning, and those that nobody sees.
_UNSAFE = re.compile(r'[<>:"/\\|?*#\x00-\x1f\x7f]|[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]')
# Names of devices on Windows, whatever their suffix, and the file that marks the folder of a collection.
_TAKEN = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)|kinsplit\.json$", re.IGNORECASE)
#: Bytes of a name in UTF-8, which every file system allows.
_NAME = 200
#: Hexadecimal digits that tell names with a common beginning apart.
_DIGITS = 8


async def check_origin(request: Request, settings: SettingsDep) -> None:
    """Reject a request that a page of another origin sends (403): a browser asks no permission for a form."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is None:
        own = request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    else:
        of = origin.casefold().partition("://")[2]
        own = of == host.casefold() or origin.casefold() in settings.cors_origins
    if not own:
        remedy = "Use the service's own page, or name the origin in the setting cors_origins."
        raise RequestError(403, "must be an origin that may change documents", remedy, field="Origin", value=origin)


async def _folder(request: Request, collection: CollectionDep) -> UploadFolder:
    folders: UploadFolders = request.app.state.uploads
    return folders.of(collection.collection)


FolderDep = Annotated[UploadFolder, Depends(_folder)]

router = APIRouter(tags=["documents"], route_class=DocumentRoute, dependencies=[Depends(check_origin)])


@router.post("/documents", response_model=Uploaded, summary="Upload files")
async def upload(
    collection: CollectionDep, folder: FolderDep, workers: UploadWorkersDep, files: list[UploadFile]
) -> Response:
    """Read files and add them to a collection, each with a report. A file of the same name is replaced."""
    remedy = "Send several requests."
    require(len(files) <= limits.UPLOADS, "files", f"must be at most {limits.UPLOADS}", len(files), remedy)
    return await respond(workers, _store_all, collection.collection, folder, files)


@router.delete("/documents/{id:id}", response_model=Deleted, summary="Delete an uploaded file")
async def delete(collection: CollectionDep, folder: FolderDep, workers: UploadWorkersDep, id: DocumentId) -> Response:
    """Delete an uploaded file and its documents from a collection. A row goes with its file only."""
    return await respond(workers, collection.call, _delete, folder, id)


def safe_name(given: str) -> str:
    """Return the name that a file is stored under: its last component, without characters that have a meaning.

    Raises:
        InvalidParameterError: Nothing is left, or the suffix is not one of a file that can be read.
    """
    last = re.split(r"[/\\]", given.encode("utf-8", "replace").decode())[-1]
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", last)).strip().lstrip(".").rstrip(". ")
    if _TAKEN.match(name):
        name = f"_{name}"
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a Path would refuse some names
    if not stem or suffix.casefold() not in suffixes():
        remedy = f"Files that can be read end in {', '.join(suffixes()[:12])} and others; see docs/material.md."
        raise InvalidParameterError("file", "must have a name with a suffix of a known format", given, remedy)
    if len(name.encode()) > _NAME:
        mark = f"-{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}{suffix}"
        name = stem.encode()[: _NAME - len(mark.encode())].decode("utf-8", "ignore") + mark
    return name


def _store_all(collection: OpenCollection, folder: UploadFolder, files: list[UploadFile]) -> Uploaded:
    try:
        rows = [_store(collection, folder, each.filename or "", each.file) for each in files]
    finally:
        collection.facets.expire()
    return Uploaded(strategy=collection.name, files=rows)


def _store(collection: OpenCollection, folder: UploadFolder, given: str, content: BinaryIO) -> UploadRow:
    name = given[: limits.NAME]
    try:
        name = safe_name(given)
        stored = folder.store(collection, name, content)
    except (InvalidParameterError, LoadError) as error:
        reason = str(error).removeprefix(f"{name}: ")
        return UploadRow(name=name, id=None, documents=0, chunks=0, warnings=[], error=reason)
    numbers = {"documents": stored.report.documents, "chunks": stored.report.chunks}
    return UploadRow(name=name, id=stored.id, **numbers, warnings=list(stored.warnings), error=None)


def _delete(collection: OpenCollection, folder: UploadFolder, id_: str) -> Deleted:
    name = id_.removeprefix(folder.id_of(""))
    chunks = folder.delete(collection, name) if folder.id_of(name) == id_ and _is_safe(name) else None
    if chunks is None:
        raise RequestError(404, "must be the id of an uploaded file", _advice(collection, id_), field="id", value=id_)
    collection.facets.expire()
    return Deleted(id=id_, strategy=collection.name, chunks=chunks)


def _is_safe(name: str) -> bool:
    try:
        return safe_name(name) == name
    except InvalidParameterError:
        return False


def _advice(collection: OpenCollection, id_: str) -> str:
    """Return the remedy for an id that can't be deleted."""
    for chunk in collection.index.store.get([chunk_id(id_, collection.index.strategy.fingerprint, 0, 0)]):
        file = chunk.metadata.get("file_path")
        if file not in (None, id_):
            return f"It is a row of {file}: delete that file, or upload it without the row."
    return "GET /documents lists the ids; only uploaded files can be deleted."
