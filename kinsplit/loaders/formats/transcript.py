"""Transcripts and subtitles (`.srt`, `.vtt`) as running text with the times of its parts.

Cues are joined by a space, so that sentences continue across them; a pause of 3 seconds or another speaker begins a
paragraph, also within a cue. A paragraph of another speaker starts with the name. Markup and positions are dropped.
Rolling subtitles show every line twice or more: lines of the previous cue are not repeated. `Document.times` contains
the start and end of what each speaker says in a cue, and `Document.voices` who speaks.

Times without a fraction, with a comma or without hours are read in both formats, and so are cues without a number. A
cue with unreadable times is left out and counted in a warning. Cues stay in the file's order, whatever their times.
"""

from __future__ import annotations

import html
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from functools import partial

from kinsplit.chunk import Moment, Voice
from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.html.elements import with_readable_numbers
from kinsplit.support.extras import needs

_PAUSE = 3.0  # seconds
_FLASH = 0.1  # seconds; no readable cue is shorter
_MARKUP = re.compile(r"</?(?:[cibuv]|ruby|rt|lang|font)\b[^<>]*>|<[\d:.]+>|\{\\[^{}]*\}", re.IGNORECASE)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]+([^<>]*)>", re.IGNORECASE)

_LINE_END = re.compile(r"\r\n|\r|\n")
_TIMING = re.compile(
    r"\s*((?:\d{1,10}:)?\d{1,2}:\d{1,2})(?:[.,](\d+))?\s*-->\s*((?:\d{1,10}:)?\d{1,2}:\d{1,2})(?:[.,](\d+))?(?!\S)",
    re.A,
)


def _read(data: bytes, kind: str) -> Reading:
    with needs("files"):
        import webvtt

    source, warnings = decode(data)
    lines = list(_repaired(source.strip(), numbered=kind == "srt"))
    try:
        captions = webvtt.from_buffer(io.StringIO("\n".join(lines)), format=kind).captions
    except webvtt.errors.MalformedFileError as error:
        raise UnreadableError(f"is not a valid transcript: {error}. It should begin as .{kind} files do.") from error
    text = _Text()
    for caption in captions:
        start, end = (_seconds(stamp) for stamp in (caption.start, caption.end))
        text.add(_turns(caption.lines), start, max(start, end))
    shown = {line for caption in captions for line in caption.lines}
    if lost := sum("-->" in line and not _TIMING.match(line) and line not in shown for line in lines):
        warnings = (*warnings, f"{lost:,} cues were left out, since their times can't be read")
    if back := sum(after.start < before.start for before, after in itertools.pairwise(text.times)):
        warnings = (*warnings, f"{back:,} cues begin before the one above them")
    return Reading((Content("".join(text.parts), times=tuple(text.times), voices=tuple(text.voices)),), warnings)


def _turns(lines: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return the turns of a cue: each speaker with their lines. The name is empty where the cue gives none."""
    turns: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        said, *more = _VOICE.split(line)
        turns[-1][1].append(_plain(said))
        turns += [(_plain(name), [_plain(said)]) for name, said in zip(more[::2], more[1::2], strict=True)]
    if len(turns) > 1 and not turns[0][0]:  # What stands before the first name belongs to it.
        turns[:2] = [(turns[1][0], turns[0][1] + turns[1][1])]
    return [(name, [line for line in said if line]) for name, said in turns]


def _plain(line: str) -> str:
    return " ".join(html.unescape(with_readable_numbers(_MARKUP.sub("", line))).split())


def _repaired(source: str, *, numbered: bool) -> Iterator[str]:
    """Yield lines with times in the common form, preceded by a number where the format requires it."""
    before = ""
    for line in _LINE_END.split(source):
        match = _TIMING.match(line)
        if match and numbered and not before.strip().isdigit():
            yield "0"
        before = line
        yield f"{_stamp(*match.group(1, 2))} --> {_stamp(*match.group(3, 4))}{line[match.end() :]}" if match else line


def _stamp(clock: str, fraction: str | None) -> str:
    return f"{clock if clock.count(':') == 2 else f'00:{clock}'}.{(fraction or '')[:3]:0<3}"


class _Text:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.times: list[Moment] = []
        self.voices: list[Voice] = []
        self._length = 0
        self._shown = ""  # the last line of the previous cue
        self._until = 0.0
        self._voice = ""

    def add(self, turns: list[tuple[str, list[str]]], start: float, end: float) -> None:
        """Add a cue."""
        rolls = start <= self._until + _FLASH and (len(turns[0][1]) > 1 or end - start < _FLASH)
        for number, (voice, lines) in enumerate(turns):
            new = lines[1:] if rolls and not number and lines[:1] == [self._shown] else lines
            if new:
                self._say(voice, new, start, end)
            self._until = end

    def _say(self, voice: str, lines: list[str], start: float, end: float) -> None:
        if self.parts:
            self._append("\n\n" if voice != self._voice or start - self._until >= _PAUSE else " ")
        self.times.append(Moment(self._length, start, end))
        if voice != self._voice:
            self.voices.append(Voice(self._length, voice))
            self._append(f"{voice}: " if voice else "")
        self._append(" ".join(lines))
        self._shown, self._voice = lines[-1], voice

    def _append(self, part: str) -> None:
        self.parts.append(part)
        self._length += len(part)


def _seconds(stamp: str) -> float:
    """Return `HH:MM:SS.mmm` in seconds."""
    hours, minutes, seconds = stamp.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


SRT = Format("transcript", (".srt",), "subtitles joined to running text, with times", partial(_read, kind="srt"))
VTT = Format("transcript", (".vtt",), "subtitles joined to running text, with times", partial(_read, kind="vtt"))
