"""`POST /documents` and `DELETE /documents/{id}`: uploaded files, which are kept in a folder and indexed from there."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import unicodedata
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request, UploadFile
from fastapi.responses import Response

from kinsplit.errors import InvalidParameterError
from kinsplit.indexing.reports import AddReport
from kinsplit.loaders import suffixes
from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import CollectionDep, SettingsDep, UploadWorkersDep, respond
from kinsplit.server.errors import RequestError
from kinsplit.server.models.documents import Deleted, Uploaded, UploadRow
from kinsplit.server.routes.document import DocumentId, DocumentRoute
from kinsplit.server.settings import ServiceSettings

# Characters that a file system or a shell may give a meaning, and those that nobody sees.
_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]|[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]')
# Names of devices on Windows, whatever their suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
#: Bytes of a name in UTF-8, which every file system allows.
_NAME = 200


async def check_origin(request: Request, settings: SettingsDep) -> None:
    """Reject a request that a page of another origin sends: a browser asks no permission for a form.

    Raises:
        RequestError: The page is foreign (403).
    """
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is None:
        own = request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    else:
        own = urlsplit(origin).netloc.casefold() == host.casefold() or origin.casefold() in settings.cors_origins
    if not own:
        remedy = "Use the service's own page, or name the origin in the setting cors_origins."
        raise RequestError(403, "must be an origin that may change documents", remedy, field="Origin", value=origin)


router = APIRouter(tags=["documents"], route_class=DocumentRoute, dependencies=[Depends(check_origin)])


@router.post("/documents", response_model=Uploaded, summary="Upload files")
async def upload(
    collection: CollectionDep, settings: SettingsDep, workers: UploadWorkersDep, files: list[UploadFile]
) -> Response:
    """Read files and add them to a collection, each with a report. A file of the same name is replaced."""
    if len(files) > limits.UPLOADS:
        remedy = "Send several requests."
        raise InvalidParameterError("files", f"must be at most {limits.UPLOADS}", len(files), remedy)
    return await respond(workers, _store_all, collection.collection, settings, files)


@router.delete("/documents/{id:id}", response_model=Deleted, summary="Delete an uploaded file")
async def delete(
    collection: CollectionDep, settings: SettingsDep, workers: UploadWorkersDep, id: DocumentId
) -> Response:
    """Delete the documents of an uploaded file from a collection, and the file."""
    return await respond(workers, collection.call, _delete, settings, id)


# One writer at a time: two files of one name would overtake each other.
_WRITING = threading.Lock()


def folder_of(settings: ServiceSettings) -> Path:
    """Return the folder of uploaded files.

    Raises:
        InvalidParameterError: Uploads are not allowed.
    """
    if settings.uploads is None:
        raise InvalidParameterError("uploads", "must be set", None, "Start the service with --allow-upload FOLDER.")
    return settings.uploads.resolve()


def safe_name(given: str) -> str:
    """Return the name under which a file is stored: its last component, without characters that have a meaning.

    Raises:
        InvalidParameterError: Nothing is left, or the suffix is not one of a file that can be read.
    """
    last = re.split(r"[/\\]", given)[-1]
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", last)).strip().lstrip(".").rstrip(". ")
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a Path would refuse some names
    if not stem or suffix.casefold() not in suffixes():
        remedy = f"Files that can be read end in {', '.join(suffixes()[:12])} and others; see docs/material.md."
        raise InvalidParameterError("file", "must have a name with a suffix of a known format", given, remedy)
    if _DEVICES.match(name):
        stem = f"_{stem}"
    room = _NAME - len(suffix.encode())
    return stem.encode("utf-8", "replace")[:room].decode("utf-8", "ignore") + suffix


def _store_all(collection: OpenCollection, settings: ServiceSettings, files: list[UploadFile]) -> Uploaded:
    with _WRITING:
        rows = [_store(collection, folder_of(settings), each.filename or "", each.file) for each in files]
    collection.facets.expire()
    return Uploaded(strategy=collection.name, files=rows)


def _store(collection: OpenCollection, folder: Path, given: str, content: BinaryIO) -> UploadRow:
    """Save one file and add it to the collection; a file that can't be read leaves its former state."""
    try:
        name = safe_name(given)
    except InvalidParameterError as error:
        return UploadRow(name=given[: limits.NAME], id=None, documents=0, chunks=0, warnings=[], error=str(error))
    path = folder / name
    with tempfile.TemporaryDirectory(dir=folder, prefix=".kinsplit-upload-") as made:
        new, former = Path(made) / "new", Path(made) / "former"
        with new.open("wb") as target:
            shutil.copyfileobj(content, target)
        if path.exists():
            shutil.copy2(path, former)
        new.replace(path)
        try:
            report = collection.index.add(path, prune=True)
        except BaseException:
            _restore(path, former)
            raise
        if report.failed:
            _restore(path, former)
    return _row(name, f"{folder.name}/{name}", report, path)


def _restore(path: Path, former: Path) -> None:
    if former.exists():
        former.replace(path)
    else:
        path.unlink()


def _row(name: str, id_: str, report: AddReport, path: Path) -> UploadRow:
    # The path of the file is nobody's business.
    reasons = [str(failure.error).removeprefix(f"{path}: ") for failure in report.failed]
    return UploadRow(
        name=name,
        id=None if reasons else id_,
        documents=len(report.documents),
        chunks=sum(document.chunks for document in report.documents),
        warnings=[warning.removeprefix(f"{path}: ") for warning in report.warnings],
        error=" ".join(reasons) or None,
    )


def _delete(collection: OpenCollection, settings: ServiceSettings, source_id: str) -> Deleted:
    folder = folder_of(settings)
    parent, _, name = source_id.rpartition("/")
    path = folder / name
    # Only a direct child of the folder: the id is a client's.
    is_ours = parent == folder.name and name not in ("", ".", "..") and not re.search(r"[/\\\x00]", name)
    if not is_ours or not path.is_file():
        remedy = "GET /documents lists the ids; only uploaded files can be deleted."
        raise RequestError(404, "must be the id of an uploaded file", remedy, field="id", value=source_id)
    with _WRITING:
        path.unlink(missing_ok=True)
        chunks = collection.index.delete(where={"file_path": source_id})
    collection.facets.expire()
    return Deleted(id=source_id, strategy=collection.name, chunks=chunks)
