"""The events of an answer with offsets as the page needs them, and without what is the service's own business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinsplit.answering import Source
from kinsplit.chunk import Span
from kinsplit.server.offsets import Utf16
from kinsplit.server.places import Places

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
