"""Markers such as `[2]`, found in a text that comes in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# One to three digits each: a longer number is no passage's.
_NUMBER = r"(?:(?:passages?|sources?)\s{0,2})?\^?\d{1,3}"
_MARKER = rf"[\[【]\s{{0,2}}(?P<numbers>{_NUMBER}(?:\s{{0,2}}[,;–-]\s{{0,2}}{_NUMBER}){{0,9}})\s{{0,2}}[\]】]"
_TOKEN = re.compile(rf"(?P<marker>{_MARKER})|(?P<ticks>`+|~~~+)|(?P<blank>\n[^\S\n]{{0,40}}\n)", re.IGNORECASE)
# What may still become a marker, a run of backticks or a blank line.
_OPEN = re.compile(r"(?:[\[【][\s\w\^,;.–-]{0,160}|`+|~+|(?:\n[^\S\n]{0,40}){1,2})\Z")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*\^?(\d+)|(\d+)")
# More sources than this are never cited at once.
_LONGEST_RANGE = 20


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker.

    Attributes:
        text: As it stands in the text.
        numbers: What it names, each once.
    """

    text: str
    numbers: tuple[int, ...]


class MarkerReader:
    """Tells markers from text, however the text is cut into pieces.

    What stands in code, between backticks or in a fence, is no marker: `squares[2]`.
    """

    def __init__(self) -> None:
        self._held = ""
        self._code = ""

    def feed(self, piece: str) -> Iterator[str | Marker]:
        """Take a piece and yield what is certain by now.

        Yields:
            Pieces of the text, none empty, and markers.
        """
        text = self._held + piece
        open_ = _OPEN.search(text)
        end = open_.start() if open_ else len(text)
        self._held = text[end:]
        yield from self._read(text[:end])

    def finish(self) -> Iterator[str | Marker]:
        """Yield what is left at the end of the text."""
        text, self._held = self._held, ""
        yield from self._read(text)

    def _read(self, text: str) -> Iterator[str | Marker]:
        at = 0
        for token in _TOKEN.finditer(text):
            if token["ticks"]:
                self._code = self._inside(token["ticks"])
            elif token["blank"]:
                # A span of code ends with its paragraph, also one that was never closed; a fence goes on.
                self._code = self._code if len(self._code) >= 3 else ""
            elif not self._code:
                if at < token.start():
                    yield text[at : token.start()]
                at = token.end()
                yield Marker(token["marker"], _numbers(token["numbers"]))
        if at < len(text):
            yield text[at:]

    def _inside(self, ticks: str) -> str:
        """Return by which ticks the code behind some ticks was opened; nothing if there is none."""
        if not self._code:
            return ticks if ticks[0] == "`" or len(ticks) >= 3 else ""
        is_end = ticks[0] == self._code[0] and (len(ticks) == len(self._code) or len(ticks) > len(self._code) >= 3)
        return "" if is_end else self._code


def _numbers(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for first, last, single in _RANGE.findall(text):
        start, stop = (int(single), int(single)) if single else (int(first), int(last))
        if not 0 <= stop - start < _LONGEST_RANGE:
            found.extend((start, stop))
        else:
            found.extend(range(start, stop + 1))
    return tuple(dict.fromkeys(found))
