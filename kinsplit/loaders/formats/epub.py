"""E-books (`.epub`): the chapters in reading order, each read as an HTML page.

The package file lists the chapters and their order; those outside the reading order, such as notes that are opened by
their marks, come last; a book without an order is read in that of its manifest. The table of contents is left out, but
names the chapters that have no heading of their own. Chapters that are missing, unreadable or encrypted are named or
counted in a warning, and the others are read.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag

from kinsplit.loaders.archive import Archive, BombError, local_name
from kinsplit.loaders.content import Content, Format, LeftOut, Reading, UnreadableError
from kinsplit.loaders.formats.html import HtmlPage, read_page
from kinsplit.loaders.markup.headings import letters, shortened, titled
from kinsplit.spans import Heading

_BREAK = "\n\n"
_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_PACKAGE = "{http://www.idpf.org/2007/opf}"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("html", "svg", "dtbook")  # in the names of media types
_BOLD = 7  # level of bold lines, below those of headings
_SPARE = 100  # characters of a title beside its letters
_LONGEST = 20  # items in a chain of fallbacks


class _Entry(NamedTuple):
    """A chapter in the table of contents."""

    title: str
    level: int


def read(data: bytes) -> Reading:
    """Return the text of an e-book, with its title."""
    archive = Archive(data, "e-book")
    place = archive.xml("META-INF/container.xml").find(f".//{_CONTAINER}rootfile")
    if place is None:
        raise UnreadableError("is not a valid e-book: its container names no package file.")
    package = _Package(archive, place.get("full-path", ""))
    encrypted = _encrypted(archive)
    texts: list[str] = []
    headings: list[Heading] = []
    at = found = 0
    warnings: list[str] = []
    left_out = LeftOut()
    chapters = package.chapters(left_out)
    if chapters and encrypted.issuperset(chapters):
        raise UnreadableError("is protected by its publisher (DRM). Only a copy without protection can be read.")
    entries = package.entries()
    for name in chapters:
        if name in encrypted:
            left_out.add("encrypted chapter")
            continue
        page = _page(archive, name, warnings)
        if page is None:
            continue
        found += 1
        warnings += [f"{name} {warning}" for warning in page.warnings]
        left_out.update(page.left_out)
        if page.text:
            text, inside = _named(page, entries.get(name))
            headings += (one._replace(start=at + one.start, end=at + one.end) for one in inside)
            texts.append(text)
            at += len(text) + len(_BREAK)
    if not found:
        raise UnreadableError("is not a valid e-book: none of its chapters can be read.")
    content = Content(_BREAK.join(texts), package.title, headings=titled(headings, package.title))
    return Reading((content,), (*warnings, *left_out.warnings))


class _Package:
    """The package file of an e-book."""

    def __init__(self, archive: Archive, name: str) -> None:
        self._archive = archive
        self._folder = posixpath.dirname(name)
        self._root = archive.xml(name)
        self._items = {item.get("id"): item for item in self._root.iter(f"{_PACKAGE}item")}

    @property
    def title(self) -> str | None:
        """The book's title."""
        titles = (" ".join((element.text or "").split()) for element in self._root.iter(_TITLE))
        return next(filter(None, titles), None)

    def chapters(self, left_out: LeftOut) -> list[str]:
        """Return the names of the files in reading order, then of those outside it."""
        names: dict[bool, list[str]] = {True: [], False: []}
        for reference in self._root.iter(f"{_PACKAGE}itemref"):
            item = self._readable(self._items.get(reference.get("idref")))
            if item is None:
                left_out.add("chapter in a format other than HTML", "chapters in formats other than HTML")
            elif "nav" not in (item.get("properties") or "").split():
                names[reference.get("linear") != "no"].append(self._path(item))
        listed = dict.fromkeys(names[True] + names[False])
        pages = dict.fromkeys(self._path(item) for item in self._items.values() if self._is_page(item))
        if not listed:
            return list(pages)  # in the order of the manifest
        if others := len(pages.keys() - listed.keys()):
            left_out.add("page beside the reading order", "pages beside the reading order", others)
        return list(listed)

    def entries(self) -> Mapping[str, _Entry]:
        """Return the entries of the table of contents by the names of their files; the first of each file."""
        found: dict[str, _Entry] = {}
        for item in self._items.values():
            is_nav = "nav" in (item.get("properties") or "").split()
            if is_nav or "ncx" in item.get("media-type", ""):
                name = self._path(item)
                try:
                    root = self._archive.xml(name)
                except BombError:
                    raise
                except UnreadableError:
                    continue  # the chapters can be read without it
                for target, entry in _nav_entries(root) if is_nav else _ncx_entries(root):
                    path = posixpath.join(posixpath.dirname(name), unquote(urldefrag(target)[0]))
                    found.setdefault(posixpath.normpath(path), entry)
        return found

    def _is_page(self, item: Any) -> bool:
        is_nav = "nav" in (item.get("properties") or "").split()
        return "html" in item.get("media-type", "") and not is_nav

    def _readable(self, item: Any) -> Any:
        """Return an item, or the one to fall back to, that is a page; else None."""
        for _ in range(_LONGEST):
            if item is None or any(kind in item.get("media-type", "") for kind in _PAGES):
                return item
            item = self._items.get(item.get("fallback"))
        return None

    def _path(self, item: Any) -> str:
        return posixpath.normpath(posixpath.join(self._folder, unquote(item.get("href", ""))))


def _page(archive: Archive, name: str, warnings: list[str]) -> HtmlPage | None:
    if name not in archive.names:
        warnings.append(f"has no {name}, one of its chapters")
        return None
    try:
        return read_page(archive.read(name))
    except BombError:
        raise
    except UnreadableError as error:
        warnings.append(f"lost a chapter, since it {error}")
        return None


def _named(page: HtmlPage, entry: _Entry | None) -> tuple[str, list[Heading]]:
    """Return a chapter with its headings; without any, its name in the table of contents becomes one."""
    headings = [one._replace(level=max(1, one.level)) for one in page.headings if one.start < one.end]
    if entry is None or not letters(entry.title) or any(one.level < _BOLD for one in headings):
        return page.text, headings
    if end := _end_of_title(page.text, letters(entry.title)):
        below = [one for one in headings if one.start >= end]
        return page.text, [Heading(0, end, entry.level, shortened(entry.title)), *below]
    line = f"{'#' * entry.level} {entry.title}"
    moved = len(line) + len(_BREAK)
    below = [one._replace(start=one.start + moved, end=one.end + moved) for one in headings]
    return line + _BREAK + page.text, [Heading(0, len(line), entry.level, shortened(entry.title)), *below]


def _end_of_title(text: str, title: str) -> int:
    """Return the end of the first lines if they are a title; else 0."""
    lines = text[: 2 * len(title) + _SPARE].splitlines(keepends=True)
    end, found = 0, ""
    for line in lines:
        end, found = end + len(line), found + letters(line)
        if len(found) >= len(title):
            break
    return len(text[:end].rstrip()) if found == title else 0


def _nav_entries(root: Any) -> Iterator[tuple[str, _Entry]]:
    """Yield the targets and titles of EPUB 3's table of contents."""
    navs = [element for element in root.iter() if local_name(element) == "nav"]
    contents = [nav for nav in navs if any("toc" in value.split() for value in nav.attrib.values())]
    waiting = [(element, 0) for element in reversed(contents)]
    while waiting:
        element, level = waiting.pop()
        level += local_name(element) == "ol"
        if local_name(element) == "a" and (target := element.get("href")):
            yield target, _Entry(" ".join("".join(element.itertext()).split()), min(max(level, 1), 6))
        else:
            waiting += ((child, level) for child in reversed(list(element)))


def _ncx_entries(root: Any) -> Iterator[tuple[str, _Entry]]:
    """Yield the targets and titles of EPUB 2's table of contents."""
    waiting = [(root, 0)]
    while waiting:
        element, level = waiting.pop()
        if local_name(element) == "navPoint":
            level += 1
            parts = {local_name(child): child for child in element}
            if "navLabel" in parts and "content" in parts:
                title = " ".join(text for child in parts["navLabel"] for text in (child.text or "").split())
                yield parts["content"].get("src", ""), _Entry(title, min(level, 6))
        waiting += ((child, level) for child in reversed(list(element)))


def _encrypted(archive: Archive) -> set[str]:
    """Return the names of encrypted files; those of fonts, which are only obfuscated, do no harm."""
    if _ENCRYPTION not in archive.names:
        return set()
    return {unquote(element.get("URI", "")) for element in archive.xml(_ENCRYPTION).iter()}


FORMAT = Format("epub", (".epub",), "an e-book's chapters in reading order, read as HTML", read)
