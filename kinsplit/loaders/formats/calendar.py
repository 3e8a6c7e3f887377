"""Events of calendars (iCalendar) in e-mails, as lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_EVENTS = ("VEVENT", "VTODO")
_SHOWN = {
    "SUMMARY": "Event",
    "DTSTART": "Start",
    "DTEND": "End",
    "DUE": "Due",
    "LOCATION": "Location",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "Attendee",
    "STATUS": "Status",
    "RRULE": "Repeats",
    "DESCRIPTION": "Description",
}
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d*(Z?))?")
_LINE = re.compile(r"([A-Za-z-]+)((?:;[^:\"]*(?:\"[^\"]*\"[^:\"]*)*)?):(.*)")
_PARAMETER = re.compile(r";(TZID|CN)=(?:\"([^\"]*)|([^;:\"]*))", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([nN,;\\])")


def events(source: str) -> Iterator[str]:
    """Yield the text of each event and task of a calendar."""
    block: list[str] = []
    around: list[str] = []
    for line in re.sub(r"\n[ \t]", "", source).split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        name, value = match[1].upper(), match[3].strip()
        if name == "BEGIN":
            around.append(value.upper())
        elif name == "END" and around:
            if around.pop() in _EVENTS and block:
                yield "\n".join(block)
                block = []
        elif around and around[-1] in _EVENTS and value and name in _SHOWN:
            block.append(f"{_SHOWN[name]}: {_value(value, match[2])}")
    if block:
        yield "\n".join(block)


def _value(value: str, parameters: str) -> str:
    """Return a value as a calendar shows it: times in their zone, people by their names."""
    stated = {name.upper(): quoted or bare for name, quoted, bare in _PARAMETER.findall(parameters)}
    if time := _TIME.fullmatch(value):
        year, month, day, hour, minute, utc = time.groups()
        zone = " UTC" if utc else f" ({stated['TZID']})" if "TZID" in stated else ""
        return f"{year}-{month}-{day}" + (f" {hour}:{minute}{zone}" if hour else "")
    text = _ESCAPED.sub(lambda escape: "\n" if escape[1] in "nN" else escape[1], value)
    address = text[7:] if text[:7].lower() == "mailto:" else text
    return f"{stated['CN']} <{address}>" if stated.get("CN") and address != text else address
