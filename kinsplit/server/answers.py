"""Answers streamed as server-sent events, a limited number at a time."""

from __future__ import annotations

import asyncio
import html
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from itertools import pairwise
from typing import Any

from kinsplit.answering import Event, Source, SourcesFound, in_threads
from kinsplit.answering.run import Events
from kinsplit.errors import KinsplitError
from kinsplit.server.errors import RequestError, unavailable_error
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.models import SpanLocator, TextRange, Utf16Offsets
from kinsplit.server.processes.markdown import Excerpt
from kinsplit.server.processes.marks import Mark, wrapped
from kinsplit.server.processes.viewer import Shown, Viewer, shown_source, times_of
from kinsplit.spans import Span
from kinsplit.wire import event_row

_MODEL_FAILED = "The language model failed. Shown is what it wrote before, or else the best sentences found."


class EventDetails:
    """Adds offsets, and how sources can be shown, to the events of an answer.

    `utf16_at` is a range of the answer's text, and `ranges` are ranges of the text of the cited source. A source's
    `title` and `course` are those of its document, and `times` are its start and end in a recording. Its `view` is a
    `kinsplit.server.models.TextView`; those of the last event, by the sources' numbers, have the evidence marked. That
    event's `html` is the answer as safe HTML, either a model's Markdown, or quotations as they look in their documents.
    A citation is in a mark of the class `best`, a sentence that was not found in another mark, and `data-number` is the
    position in `citations` or `checks`. Without a viewer, there are no views.
    """

    def __init__(self, sources: Sequence[Source], viewer: Viewer | None) -> None:
        self._sources, self._viewer = sources, viewer
        self._locators = {source.number: SpanLocator(source.spans, source.text) for source in sources}
        self._text: list[str] = []

    async def add_to(self, name: str, data: dict[str, Any]) -> dict[str, Any]:
        """Add the details to the data of one event, and remove the model's address from its notices."""
        if name == "sources":
            await self._add_views(data["sources"])
        if name in ("text", "citation"):
            self._text.append(data["text"])
        if name == "citation":
            self._add("".join(self._text), data["citations"])
        elif name == "notice":
            _hide(data)
        elif name == "finished":
            self._add(data["text"], [*data["citations"], *data["checks"]])
            for check in data["checks"]:
                for evidence in check["evidence"]:
                    self._add_ranges(evidence)
            for notice in data["notices"]:
                _hide(notice)
            data["html"] = await self._rendered(data)
            data["views"] = await self._cited_views(data)
        return data

    def _add(self, text: str, parts: Sequence[dict[str, Any]]) -> None:
        units = Utf16Offsets(text)
        for each in parts:
            each["utf16_at"] = [units.offset(at) for at in each["at"]]
            if "number" in each:
                self._add_ranges(each)

    def _add_ranges(self, cited: dict[str, Any]) -> None:
        locator, start, end = self._locators.get(cited["number"]), cited["start"], cited["end"]
        ranges = [] if locator is None or start is None or end is None else locator.locate([Span(start, end)])
        cited["ranges"] = [each.model_dump() for each in ranges]

    async def _add_views(self, rows: list[dict[str, Any]]) -> None:
        shown = list(map(shown_source, self._sources))
        views = await self._viewer.views(shown) if self._viewer else [None] * len(rows)
        for row, source, view in zip(rows, self._sources, views, strict=True):
            row["times"] = times_of(source)
            row |= {key: source.best.metadata.get(key) for key in ("title", "course")}
            row["view"] = view and view.model_dump()

    async def _rendered(self, data: dict[str, Any]) -> str | None:
        """Return an answer as HTML."""
        if self._viewer is None:
            return None
        if data["verdict"] == "quoted":
            return await self._quotations(data, self._viewer)
        places = [(*each["at"], True, number) for number, each in enumerate(data["citations"])]
        places += [(*each["at"], False, n) for n, each in enumerate(data["checks"]) if each["status"] != "found"]
        marks = tuple(Mark(*place) for place in places)
        return await self._viewer.render(Excerpt("markdown", data["text"], marks, is_beginning=False))

    async def _quotations(self, data: dict[str, Any], viewer: Viewer) -> str:
        """Return quotations as HTML, each as it looks in its document and with its citation."""
        sources = {source.number: source for source in self._sources}
        cited, quoted = data["citations"], list[Shown]()
        for before, each in pairwise([{"at": (0, 0)}, *cited]):
            source, text = sources[each["number"]], data["text"][before["at"][1] : each["at"][0]].strip()
            quoted.append(Shown(source.source_id, source.best.metadata, text.strip("“”"), start=each["start"]))
        parts = []
        for position, (shown, view) in enumerate(zip(quoted, await viewer.views(quoted), strict=True)):
            content = (view.html or f"<p>{html.escape(shown.text)}</p>").rstrip()
            mark = wrapped(f"[{cited[position]['number']}]", Mark(0, 0, best=True, number=position))
            before = f"{content.removesuffix('</p>')} " if content.endswith("</p>") else f"{content}<p>"
            parts.append(f"<blockquote>{before}{mark}</p></blockquote>")
        return "".join(parts)

    async def _cited_views(self, data: dict[str, Any]) -> dict[int, dict[str, Any]]:
        """Return the views of the sources that an answer rests on, by their numbers."""
        proofs = [each for check in data["checks"] if check["status"] == "found" for each in check["evidence"]]
        ranges: defaultdict[int, list[TextRange]] = defaultdict(list)
        for each in proofs or data["citations"]:
            ranges[each["number"]] += map(TextRange.model_validate, each["ranges"])
        cited = [source for source in self._sources if source.number in ranges]
        if self._viewer is None or not cited:
            return {}
        views = await self._viewer.views([shown_source(source, ranges[source.number]) for source in cited])
        return {source.number: view.model_dump() for source, view in zip(cited, views, strict=True)}


def _hide(notice: dict[str, str]) -> None:
    # The message names the address of the model.
    if notice["kind"] == "model_failed":
        notice["message"] = _MODEL_FAILED


class AnswerStreams:
    """Streams answers, and rejects requests while too many are being written.

    A piece of an answer may take `timeout` seconds. Error messages are logged if the log may hold texts.
    """

    def __init__(self, most: int, timeout: float, metrics: Metrics, log_text: bool) -> None:
        self._free, self._timeout, self._metrics, self._log_text = most, timeout, metrics, log_text

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Occupy one slot while the block runs, or raise RequestError if all slots are taken (503)."""
        if not self._free:
            self._metrics.rejected.labels("answers").inc()
            remedy = "Try again in a few seconds."
            raise RequestError(503, "is writing as many answers as it can", remedy, headers={"Retry-After": "5"})
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1

    async def stream(self, events: Events, viewer: Viewer | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the events of an answer as server-sent events; the first one follows the search.

        Raises:
            RequestError: The first event took too long (504). Later failures are events named "error".
            KinsplitError: The search failed.
        """
        with self.slot():
            async with aclosing(in_threads(events)) as steps:
                first = await self._next(steps)
                details = EventDetails(first.sources if isinstance(first, SourcesFound) else (), viewer)
                event: Event | None = first
                try:
                    while event is not None:
                        name, data = event_row(event)
                        yield _encode(name, await details.add_to(name, data))
                        event = await self._next(steps)
                except RequestError as error:
                    yield _encode("error", error.problem())
                except KinsplitError as error:
                    yield _encode("error", unavailable_error(error, log_text=self._log_text).problem())

    async def _next(self, steps: AsyncGenerator[Event, None]) -> Event | None:
        try:
            async with asyncio.timeout(self._timeout):
                return await anext(steps, None)
        except TimeoutError:
            self._metrics.rejected.labels("timeout").inc()
            raise RequestError(504, f"took longer than {self._timeout:g} s", "Try again later.") from None


def _encode(name: str, data: dict[str, Any]) -> bytes:
    # JSON has no raw line breaks, so it is one line of data.
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
