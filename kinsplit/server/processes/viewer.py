"""Views of documents as they look in their files: rendered, as pictures of pages, or the file itself."""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from kinsplit.answering import Source
from kinsplit.chunk import ABSOLUTE_PATH
from kinsplit.errors import WorkerError, require
from kinsplit.loaders.registry import format_of
from kinsplit.markup.source import MARKUP
from kinsplit.retrieval import Passage
from kinsplit.server import limits
from kinsplit.server.errors import RequestError
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.models import Highlight, TextRange, TextView
from kinsplit.server.processes.lane import Kind, Lane, LaneFullError
from kinsplit.server.processes.markdown import Excerpt, render
from kinsplit.server.processes.marks import Mark
from kinsplit.server.processes.pdf_page import Picture, draw
from kinsplit.server.settings import ServiceSettings

# Texts of searches, and documents as short as they are: no long one is ever before them.
_SHORT = Kind((render.__module__,), nice=5, seconds=0.5, memory=2**28, result=2**22, waiting=256, kept=2**20)
_LONG = Kind(
    (render.__module__, draw.__module__), nice=10, seconds=4.0, memory=2**30, result=2**25, waiting=16, kept=2**21
)
# Characters of a short text, and of a text that takes as long as a page.
_MOST, _PAGE = 20_000, 20_000


class Renderer:
    """Renders texts and draws pages in two processes, one of them for short texts. To be used from one event loop."""

    def __init__(self, timeout: float, metrics: Metrics) -> None:
        self._short, self._long = (Lane(kind, timeout, _size) for kind in (_SHORT, _LONG))
        self._metrics = metrics

    def warm(self) -> None:
        """Start the processes ahead of the first text."""
        self._short.warm()
        self._long.warm()

    async def render(self, excerpt: Excerpt, cost: int | None = None) -> str | None:
        """Return a text as safe HTML, or None if a library fails at it.

        Raises:
            RequestError: Too many texts are waiting (503).
            WorkerError: It takes too long or too much memory.
        """
        lane = self._short if len(excerpt.text) <= _MOST else self._long
        # However it is marked.
        content = _digest(excerpt._replace(marks=()))
        cost = len(excerpt.text) if cost is None else cost
        html: str | None = await self._run(lane, (content, excerpt.marks), cost, render, excerpt, refusal=content)
        return html

    async def draw(self, path: Path, digest: str, page: int, text: str, before: str, width: int) -> Picture:
        """Draw a page; see `kinsplit.server.processes.pdf_page.draw`.

        Raises:
            RequestError: Too many pages and texts are waiting (503).
            PageError: The file or the page is not there, or PDFium refuses it.
            WorkerError: It takes too long or too much memory, or crashes PDFium.
        """
        # A file that changes gets another time or size.
        facts = path.stat() if path.exists() else None
        drawn = (path, facts and (facts.st_mtime_ns, facts.st_size), digest, page, width)
        key = (*drawn, _digest((text, before)))
        what = (path, digest, page, text, before, width)
        picture: Picture = await self._run(self._long, key, _PAGE, draw, *what, refusal=drawn)
        return picture

    def close(self) -> None:
        """End the processes."""
        self._short.close()
        self._long.close()

    async def _run(self, lane: Lane, *call: Any, refusal: Hashable) -> Any:
        try:
            return await lane.run(*call, refusal=refusal)
        except LaneFullError:
            self._metrics.rejected.labels("rendering").inc()
            rule, remedy = "is rendering as much as it can", "Try again in a few seconds."
            raise RequestError(503, rule, remedy, headers={"Retry-After": "5"}) from None


def _digest(value: object) -> bytes:
    return hashlib.blake2b(pickle.dumps(value), digest_size=16).digest()


def _size(result: str | Picture | None) -> int:
    return sys.getsizeof(result.png if isinstance(result, Picture) else result)


_PDF = "pdf"
# Share of a text of which a mark says nothing.
_WHOLE = 0.9
_LIMITS = "It could not be rendered within the service's limits, so it is shown as text."
_BUSY = "The service is rendering too many other texts, so it is shown as text. Ask again in a few seconds."


class Shown(NamedTuple):
    """A text to show."""

    source_id: str
    metadata: Mapping[str, Any]
    text: str
    marks: tuple[Mark, ...] = ()
    start: int = 0
    header: str = ""
    times: tuple[float, float] | None = None  # Start and end in seconds, if it was spoken.


class Viewer:
    """Finds out how documents can be shown, and renders them."""

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        for folder in settings.originals:
            require(Path(folder).exists(), "originals", "must be folders", folder, "Check the spelling.")
        self._pictures = settings.pictures
        self._roots = tuple(Path(os.path.realpath(folder)) for folder in settings.originals)
        self._timeout = settings.timeout
        self.renderer = Renderer(settings.timeout, metrics)

    async def rendered(self, text: Shown) -> TextView:
        """Return how a text can be shown, rendered if it is Markdown or code.

        Raises:
            RequestError: Too many texts are being rendered (503), or it takes too long to wait for them (504).
        """
        excerpt = _excerpt(text)
        if excerpt is None:
            return self.view(text)
        try:
            async with asyncio.timeout(self._timeout):
                html = await self.renderer.render(excerpt)
        except TimeoutError:
            remedy = "Leave out render=true for the text alone, or try again later."
            raise RequestError(504, f"took longer than {self._timeout:g} s to render", remedy) from None
        except WorkerError:
            html = None
        return self.view(text, html, _LIMITS if html is None else None)

    async def views(self, texts: Sequence[Shown]) -> list[TextView]:
        """Return how each of some texts can be shown: rendered, or with the reason why not."""
        excerpts = [_excerpt(text) for text in texts]
        lengths = [len(excerpt.text) if excerpt else 0 for excerpt in excerpts]

        async def shown(text: Shown, excerpt: Excerpt | None, end: int) -> TextView:
            if excerpt is None:
                return self.view(text)
            if end > limits.RENDERED:
                return self.view(text, problem=_LIMITS)
            return self.view(text, *await self._now(excerpt, sum(lengths)))

        return await asyncio.gather(*map(shown, texts, excerpts, accumulate(lengths)))

    async def render(self, excerpt: Excerpt) -> str | None:
        """Return a text as safe HTML, or None if it can't be rendered now."""
        html, _ = await self._now(excerpt, len(excerpt.text))
        return html

    async def _now(self, excerpt: Excerpt, cost: int) -> tuple[str | None, str | None]:
        """Return a text as safe HTML, or None with the reason."""
        try:
            async with asyncio.timeout(limits.RENDER_PATIENCE):
                html = await self.renderer.render(excerpt, cost)
        except (RequestError, TimeoutError):
            return None, _BUSY
        except WorkerError:
            return None, _LIMITS
        return html, _LIMITS if html is None else None

    def view(self, text: Shown, html: str | None = None, problem: str | None = None) -> TextView:
        """Return how a text can be shown, without rendering it."""
        return TextView(
            kind=_markup(text),
            html=html,
            problem=problem,
            pages=self.has_pages(text.source_id, text.metadata),
            original=self.has_original(text.metadata),
            recording=recording_at(text.metadata.get("url"), text.times),
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


def recording_at(address: object, times: tuple[float, float] | None) -> str | None:
    """Return the address of a recording from a time in seconds on, or None without either.

    YouTube has a parameter of its own; other players and browsers understand media fragments.
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


def shown_passage(passage: Passage, highlight: Highlight) -> Shown:
    """Return a passage with what answers the question marked."""
    marks = (Mark(each.start, each.end, highlight.matches) for each in highlight.ranges)
    best = passage.best.chunk
    return Shown(
        *(passage.source_id, best.metadata, passage.text, tuple(marks)),
        start=passage.start,
        header=passage.beside.header,
        times=passage.times,
    )


def shown_source(source: Source, ranges: Iterable[TextRange] = ()) -> Shown:
    """Return a source of an answer, with some of its ranges marked."""
    marks = to_marks(ranges, len(source.text))
    start, header = source.spans[0].start, source.beside.header
    return Shown(source.source_id, source.best.metadata, source.text, marks, start, header, times_of(source))


def times_of(source: Source) -> tuple[float, float] | None:
    """Return the start and end of a source in seconds, if it was spoken."""
    times = [chunk.metadata.get(key) for chunk in source.chunks for key in ("time_start", "time_end")]
    found = [time for time in times if time is not None]
    return (min(found), max(found)) if found else None


def _markup(text: Shown) -> Literal["markdown", "code"] | None:
    return MARKUP.get(_type_of(text.source_id, text.metadata))


def _excerpt(text: Shown) -> Excerpt | None:
    """Return what is rendered of a text; None for plain text."""
    kind, name = _markup(text), text.source_id.rpartition("/")[2]
    return kind and Excerpt(kind, text.text, text.marks, name, text.header, text.start == 0)


def _type_of(source_id: str, metadata: Mapping[str, Any]) -> str:
    """Return the type of a document's file, by its name unless that says nothing."""
    found = format_of(Path(source_id))
    return str(metadata.get("file_type", "")) if found is None else found.name
