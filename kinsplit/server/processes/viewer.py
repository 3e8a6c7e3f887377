"""Views of documents as they look in their files: rendered, as pictures of pages, or the file itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kinsplit.answering import Source
from kinsplit.indexing.origins import ABSOLUTE_PATH
from kinsplit.loaders.registry import format_of
from kinsplit.retrieval import Passage
from kinsplit.server.models.base import TextRange, View
from kinsplit.server.processes.excerpts import Excerpt, Kind
from kinsplit.server.processes.marks import Mark
from kinsplit.server.processes.renderer import Renderer
from kinsplit.server.responses import SpanLocator
from kinsplit.server.settings import ServiceSettings

_PDF = "pdf"
# What loaders write as Markdown.
_KINDS: dict[str, Kind] = {
    "code": "code",
    **dict.fromkeys(("epub", "html", "markdown", "notebook", "slides", "spreadsheet", "table", "word"), "markdown"),
}
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
    """

    source_id: str
    metadata: Mapping[str, Any]
    text: str
    marks: tuple[Mark, ...] = ()
    start: int = 0
    context: str = ""


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

    def view(self, texts: Sequence[Shown]) -> list[View]:
        """Return how each of some texts can be shown."""
        kinds = [_KINDS.get(_type_of(each.source_id, each.metadata)) for each in texts]
        excerpts = [
            Excerpt(kind, each.text, each.marks, each.source_id.rpartition("/")[2], each.context, each.start == 0)
            for kind, each in zip(kinds, texts, strict=True)
            if kind is not None
        ]
        rendered = iter(self.renderer.render(excerpts) if excerpts else ())
        return [
            self._view(each, kind, next(rendered) if kind else None) for kind, each in zip(kinds, texts, strict=True)
        ]

    def _view(self, shown: Shown, kind: Kind | None, html: str | None) -> View:
        return View(
            html=html,
            problem=_PROBLEM if kind and html is None else None,
            pages=self.has_pages(shown.source_id, shown.metadata),
            original=self.has_original(shown.metadata),
        )

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
    return Shown(passage.source_id, best.metadata, passage.text, tuple(marks), passage.start, passage.chunks[0].context)


def shown_source(source: Source, ranges: Iterable[TextRange] = ()) -> Shown:
    """Return a source of an answer, with some of its ranges marked."""
    marks = to_marks(ranges, len(source.text))
    start, context = source.spans[0].start, source.chunks[0].context
    return Shown(source.source_id, source.best.metadata, source.text, marks, start, context)


def _type_of(source_id: str, metadata: Mapping[str, Any]) -> str:
    """Return the type of a document's file, by its name unless that says nothing."""
    found = format_of(Path(source_id))
    return str(metadata.get("file_type", "")) if found is None else found.name
