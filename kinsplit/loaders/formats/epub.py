"""E-books (`.epub`): the chapters in reading order, each read as an HTML page.

The package file lists the chapters and their order; parts outside the reading order and the table of contents (`nav`)
are left out. An unreadable chapter is named in a warning, and the others are read.
"""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import unquote

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.formats.archive import Archive, BombError
from kinsplit.loaders.formats.headings import titled
from kinsplit.loaders.formats.html import read as read_html
from kinsplit.spans import Heading

_BREAK = "\n\n"
_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_PACKAGE = "{http://www.idpf.org/2007/opf}"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
# Algorithms that obfuscate only fonts, which leaves the text readable.
_ENCRYPTION = "META-INF/encryption.xml"
_RIGHTS = "META-INF/rights.xml"


def read(data: bytes) -> Reading:
    """Return the text of an e-book, with its title."""
    archive = Archive(data, "e-book")
    place = archive.xml("META-INF/container.xml").find(f".//{_CONTAINER}rootfile")
    if place is None:
        raise UnreadableError("is not a valid e-book: its container names no package file.")
    package = place.get("full-path", "")
    root = archive.xml(package)
    texts: list[str] = []
    headings: list[Heading] = []
    at = found = 0
    warnings: list[str] = []
    chapters = _chapters(root, package)
    if _RIGHTS in archive.names or not _encrypted(archive).isdisjoint(chapters):
        raise UnreadableError("is protected by its publisher (DRM). Only a copy without protection can be read.")
    for name in chapters:
        if name not in archive.names:
            warnings.append(f"has no {name}, one of its chapters")
            continue
        try:
            chapter = read_html(archive.read(name))
        except BombError:
            raise
        except UnreadableError as error:
            warnings.append(f"lost a chapter, since it {error}")
            continue
        if text := chapter.contents[0].text:
            inside = (one for one in chapter.contents[0].headings if one.start < one.end)
            headings += (Heading(at + one.start, at + one.end, max(1, one.level), one.title) for one in inside)
            texts.append(text)
            at += len(text) + len(_BREAK)
        warnings += [f"{name} {warning}" for warning in chapter.warnings]
        found += 1
    if not found:
        raise UnreadableError("is not a valid e-book: none of its chapters can be read.")
    title = next((element.text.strip() for element in root.iter(_TITLE) if element.text and element.text.strip()), None)
    content = Content(_BREAK.join(texts), title, headings=titled(headings, title))
    return Reading((content,), tuple(warnings))


def _chapters(root: Any, package: str) -> list[str]:
    """Return the names of the files in reading order."""
    items = {item.get("id"): item for item in root.iter(f"{_PACKAGE}item")}
    names = []
    for reference in root.iter(f"{_PACKAGE}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or reference.get("linear") == "no" or "nav" in (item.get("properties") or "").split():
            continue
        if "html" in item.get("media-type", ""):
            names.append(posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(item.get("href", "")))))
    return list(dict.fromkeys(names))


def _encrypted(archive: Archive) -> set[str]:
    if _ENCRYPTION not in archive.names:
        return set()
    return {unquote(element.get("URI", "")) for element in archive.xml(_ENCRYPTION).iter()}


FORMAT = Format("epub", (".epub",), "an e-book's chapters in reading order, read as HTML", read)
