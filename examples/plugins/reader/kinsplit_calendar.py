"""Calendars: each event is a heading, with its time, place and description below it."""

import re
from collections.abc import Iterator

from kinsplit.loaders import Content, Format, Reading, UnreadableError

_LINE = re.compile(r"(?P<name>[A-Z-]+)(?:;[^:\n]*)?:(?P<value>.*)")
_SHOWN = ("DTSTART", "DTEND", "LOCATION", "DESCRIPTION")


def read(data: bytes) -> Reading:
    """Return the events of a calendar, as RFC 5545 describes it."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    events = list(_events(re.sub(r"\n[ \t]", "", text)))  # A line that begins with a blank continues the one before.
    if not events:
        raise UnreadableError("has no events.")
    return Reading((Content("\n".join(events), "Calendar"),))


def _events(text: str) -> Iterator[str]:
    for block in re.findall(r"^BEGIN:VEVENT\n(.*?)^END:VEVENT", text, re.DOTALL | re.MULTILINE):
        found = {line["name"]: _plain(line["value"]) for line in _LINE.finditer(block)}
        lines = [f"{name.title()}: {found[name]}" for name in _SHOWN if found.get(name)]
        yield "\n".join([f"## {found.get('SUMMARY', 'Event')}", "", *lines, ""])


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", lambda escaped: "\n" if escaped[1] in "nN" else escaped[1], value)


FORMAT = Format("calendar", (".ics",), "a heading for each event, with its time, place and description", read)
