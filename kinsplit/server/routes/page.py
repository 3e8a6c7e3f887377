"""`GET /` and `GET /page/...`: the page, which needs neither a build step nor a network."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request
from fastapi.responses import Response

from kinsplit.server.errors import RequestError

router = APIRouter(include_in_schema=False)

_INDEX = "index.html"
# Only the page's own files load, and pictures that it fetched. No script may turn a string into markup but
# `parts/rendered.js`, which takes from it what it knows; see there.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types rendered"
)
# Fixed here, since browsers refuse modules of another type and the machine's own table may have one.
_TYPES = {".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page."""

    content: bytes
    kind: str
    etag: str


@router.api_route("/", methods=["GET", "HEAD"])
async def index(request: Request) -> Response:
    """Return the page."""
    return _respond(request, _INDEX)


@router.api_route("/page/{name:path}", methods=["GET", "HEAD"])
async def asset(request: Request, name: str) -> Response:
    """Return a file of the page."""
    return _respond(request, name)


@cache
def page_files() -> dict[str, PageFile]:
    """Return all files of the page, read once: no name from a request is looked up on disk."""
    return dict(_read(files("kinsplit.server").joinpath("page"), ""))


def _read(folder: Traversable, prefix: str) -> Iterator[tuple[str, PageFile]]:
    for entry in folder.iterdir():
        name = prefix + entry.name
        if entry.is_dir():
            yield from _read(entry, f"{name}/")
        else:
            content = entry.read_bytes()
            suffix = name[name.rfind(".") :]
            kind = _TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
            kind += "; charset=utf-8" if kind.startswith("text/") else ""
            yield name, PageFile(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _respond(request: Request, name: str) -> Response:
    file = page_files().get(name)
    if file is None:
        raise RequestError(404, "does not exist", "The page is at /.", field="path", value=request.url.path)
    # The browser keeps the file and asks each time whether it has changed.
    headers = {"ETag": file.etag, "Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}
    known = {etag.strip().removeprefix("W/") for etag in request.headers.get("If-None-Match", "").split(",")}
    if file.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.kind)
