"""Answers that are written while they are made: how many at once, and as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any

from kinsplit.answering import Event, Source, SourcesFound, event_to_dict, in_threads
from kinsplit.answering.run import Events
from kinsplit.errors import KinsplitError
from kinsplit.server.errors import RequestError, unavailable
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.offsets import Places, Utf16
from kinsplit.spans import Span

_FAILED = "The language model failed. What it said before, or else the best sentences that were found, stand here."


class Cited:
    """Adds where things stand, as an answer comes.

    `utf16_at` is a place in the answer's text, and `ranges` are places in the text of the source that is cited.

    Args:
        sources: What may be cited.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._places = {source.number: Places(source.spans, source.text) for source in sources}
        self._text: list[str] = []

    def shown(self, name: str, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of an event.

        Args:
            name: Of the event.
            data: From `kinsplit.answering.event_to_dict`.
        """
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
        return data

    def _add(self, text: str, placed: Sequence[dict[str, Any]]) -> None:
        units = Utf16(text)
        for each in placed:
            each["utf16_at"] = [units.offset(place) for place in each["at"]]
            if "number" in each:
                self._add_ranges(each)

    def _add_ranges(self, cited: dict[str, Any]) -> None:
        places, start, end = self._places.get(cited["number"]), cited["start"], cited["end"]
        known = places is not None and start is not None and end is not None
        cited["ranges"] = [found.model_dump() for found in places.find([Span(start, end)])] if places and known else []


def _hide(notice: dict[str, str]) -> None:
    # It names the address of the model.
    if notice["kind"] == "model_failed":
        notice["message"] = _FAILED


class Answers:
    """Gives so many answers their turn, and turns others away.

    Args:
        most: Answers at the same time.
        timeout: Seconds that a piece of an answer may take.
        metrics: Told of those that are turned away.
        log_text: Whether the log may have the messages of errors.
    """

    def __init__(self, most: int, timeout: float, metrics: Metrics, log_text: bool) -> None:
        self._free, self._timeout, self._metrics, self._log_text = most, timeout, metrics, log_text

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Take a turn for as long as the block lasts.

        Raises:
            RequestError: All are taken (503).
        """
        if not self._free:
            self._metrics.rejected.labels("answers").inc()
            remedy = "Come back in a few seconds."
            raise RequestError(503, "is writing as many answers as it can", remedy, headers={"Retry-After": "5"})
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1

    async def lines(self, events: Events) -> AsyncGenerator[bytes, None]:
        """Yield the events of an answer as server-sent events. The first one comes after the search.

        Raises:
            RequestError: The first one took too long (504). What fails later is an event itself, named "error".
            KinsplitError: The search failed.
        """
        with self.turn():
            async with aclosing(in_threads(events)) as steps:
                first = await self._next(steps)
                cited = Cited(first.sources if isinstance(first, SourcesFound) else ())
                event: Event | None = first
                try:
                    while event is not None:
                        name, data = event_to_dict(event)
                        yield _line(name, cited.shown(name, data))
                        event = await self._next(steps)
                except RequestError as error:
                    yield _line("error", error.problem())
                except KinsplitError as error:
                    yield _line("error", unavailable(error, log_text=self._log_text).problem())

    async def _next(self, steps: AsyncGenerator[Event, None]) -> Event | None:
        try:
            async with asyncio.timeout(self._timeout):
                return await anext(steps, None)
        except TimeoutError:
            self._metrics.rejected.labels("timeout").inc()
            raise RequestError(504, f"took longer than {self._timeout:g} s", "Ask again later.") from None


def _line(name: str, data: dict[str, Any]) -> bytes:
    # JSON without line ends is one line of data.
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
