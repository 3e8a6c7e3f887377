"""Views of documents as they look in their files: rendered, as pictures of pages, or the file itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from kinsplit.answering import Source
from kinsplit.indexing.origins import ABSOLUTE_PATH
from kinsplit.loaders.registry import format_of
from kinsplit.markup.source import MARKUP
from kinsplit.retrieval import Passage
from kinsplit.server.models.base import TextRange, View
from kinsplit.server.processes.excerpts import Excerpt
from kinsplit.server.processes.marks import Mark
from kinsplit.server.processes.renderer import Renderer
from kinsplit.server.responses import SpanLocator
from kinsplit.server.settings import ServiceSettings

_PDF = "pdf"
# Share of a text of which a mark says nothing.
_WHOLE = 0.9
_PROBLEM = "It could not be rendered within the service's limits, so it is shown as text."


class Shown(NamedTuple):
    """A text to show.

    Attributes:
        source_id: Id of its document.
        metadata: Metadata of the document, with the path of its file.
        text: The text.
        marks: Marks in it.
        start: Its offset in the document.
        context: Heading path, or header of the table that it begins in.
        times: Start and end in seconds, if it was spoken.
    """

    source_id: str
    metadata: Mapping[str, Any]
    text: str
    marks: tuple[Mark, ...] = ()
    start: int = 0
    context: str = ""
    times: tuple[float, float] | None = None


class Viewer:
    """Finds out how documents can be shown, and renders them.

    Args:
        settings: The settings.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._pictures = settings.pictures
        self._roots = tuple(Path(os.path.realpath(folder)) for folder in settings.originals)
        self.renderer = Renderer(settings.timeout)

    def warm(self) -> None:
        """Start the process that renders."""
        self.renderer.warm()

    def close(self) -> None:
        """End the processes."""
        self.renderer.close()

    def view(self, texts: Sequence[Shown], *, render: bool = True) -> list[View]:
        """Return how each of some texts can be shown.

        Args:
            texts: The texts.
            render: Whether to render those that are Markdown or code.
        """
        kinds = [MARKUP.get(_type_of(each.source_id, each.metadata)) for each in texts]
        wanted = kinds if render else [None] * len(texts)
        excerpts = [
            Excerpt(kind, each.text, each.marks, each.source_id.rpartition("/")[2], each.context, each.start == 0)
            for kind, each in zip(wanted, texts, strict=True)
            if kind is not None
        ]
        rendered = iter(self.renderer.render(excerpts) if excerpts else ())
        htmls = [None if kind is None else next(rendered) for kind in wanted]
        return [
            View(
                kind=kind,
                html=html,
                problem=_PROBLEM if kind and render and html is None else None,
                pages=self.has_pages(each.source_id, each.metadata),
                original=self.has_original(each.metadata),
                recording=recording_at(each.metadata.get("url"), each.times),
            )
            for kind, html, each in zip(kinds, htmls, texts, strict=True)
        ]

    def render(self, excerpt: Excerpt) -> str | None:
        """Return a text as safe HTML, or None if it can't be rendered."""
        (html,) = self.renderer.render([excerpt])
        return html

    def has_pages(self, source_id: str, metadata: Mapping[str, Any]) -> bool:
        """Return whether a document's pages may be drawn."""
        return self._pictures and path_of(metadata) is not None and _type_of(source_id, metadata) == _PDF

    def has_original(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a document's file may be downloaded."""
        path = path_of(metadata)
        return path is not None and any(path.is_relative_to(root) for root in self._roots)


def path_of(metadata: Mapping[str, Any]) -> Path | None:
    """Return the path of the file that a document was read from, if it was one."""
    path = metadata.get(ABSOLUTE_PATH)
    # Resolved when it was indexed, so anything else is not what was indexed.
    return Path(path) if isinstance(path, str) and os.path.isabs(path) and os.path.normpath(path) == path else None  # noqa: PTH117


def recording_at(address: object, times: tuple[float, float] | None) -> str | None:
    """Return the address of a recording from a time on, or None without either.

    YouTube has a parameter of its own; other players and browsers understand media fragments.

    Args:
        address: Address of the recording.
        times: Start and end in seconds.
    """
    if times is None or not isinstance(address, str):
        return None
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    start, end = times
    if host in ("youtu.be", "youtube.com") or host.endswith(".youtube.com"):
        query = urlencode(
            [*((key, value) for key, value in parse_qsl(parts.query) if key != "t"), ("t", f"{int(start)}s")]
        )
        return urlunsplit(parts._replace(query=query))
    return urlunsplit(parts._replace(fragment=f"t={start:g},{end:g}"))


def to_marks(ranges: Iterable[TextRange], length: int, *, best: bool = True) -> tuple[Mark, ...]:
    """Return the marks of ranges, without one of a whole text."""
    return tuple(Mark(each.start, each.end, best) for each in ranges if each.end - each.start < _WHOLE * length)


def shown_passage(passage: Passage) -> Shown:
    """Return a passage with its hits marked."""
    locator = SpanLocator(passage.spans, passage.text)
    marks = (
        Mark(each.start, each.end, not rank)
        for rank, hit in enumerate(passage.hits)
        for each in locator.locate(hit.chunk.spans)
    )
    best = passage.best.chunk
    return Shown(
        *(passage.source_id, best.metadata, passage.text, tuple(marks)),
        start=passage.start,
        context=passage.chunks[0].context,
        times=passage.times,
    )


def shown_source(source: Source, ranges: Iterable[TextRange] = ()) -> Shown:
    """Return a source of an answer, with some of its ranges marked."""
    marks = to_marks(ranges, len(source.text))
    start, context = source.spans[0].start, source.chunks[0].context
    return Shown(source.source_id, source.best.metadata, source.text, marks, start, context, times_of(source))


def times_of(source: Source) -> tuple[float, float] | None:
    """Return the start and end of a source in seconds, if it was spoken."""
    times = [chunk.metadata.get(key) for chunk in source.chunks for key in ("time_start", "time_end")]
    found = [time for time in times if time is not None]
    return (min(found), max(found)) if found else None


def _type_of(source_id: str, metadata: Mapping[str, Any]) -> str:
    """Return the type of a document's file, by its name unless that says nothing."""
    found = format_of(Path(source_id))
    return str(metadata.get("file_type", "")) if found is None else found.name
