"""A model's attempt at an answer, watched while it streams: its citation markers, the first of which shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kinsplit.answering.checking import FENCED
from kinsplit.answering.prompt import INSTRUCTIONS, says_not_found
from kinsplit.answering.values import Source
from kinsplit.language_models.parsing import plain

#: Reason why an answer is not shown, or why it was stopped.
Fault = Literal["", "uncited", "echo", "loop", "tags"]

# Tags of the prompt, and tokens of chat templates that a server should have taken for the end.
_TAG = re.compile(r"</?(?:passage|question)-|<\|[a-z_]+\|>|</?(?:start|end)_of_turn>|\[/?INST\]")
_MAY_BE_TAG = re.compile(r"<[|/]?[\w|-]{0,30}\Z")
_ENDS = ".!?…。！？\n"
_STATEMENT, _END = re.compile(f"[^{_ENDS}]+"), re.compile(f"[{_ENDS}]")
# Characters of a statement that says something, and times that it is made in a loop.
_SHORTEST, _TIMES = 15, 3
# A loop within a line: a unit of at most so many characters, which fills so many, and so many times.
_LONGEST_UNIT, _FILLED, _UNITS = 200, 160, 4


class Attempt:
    """The parts of one answer, held back until it cites a passage or says that the passages don't hold the answer.

    Attributes:
        fault: Why the answer is not shown or was stopped: it cites nothing, it repeats the prompt's instructions or
            examples, it repeats itself, or it goes on with tags of the prompt. Text before a tag is kept if it cites.
        is_shown: Whether the answer is shown.
        is_stopped: Whether the model must be stopped.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self.fault: Fault = ""
        self.is_shown = self.is_stopped = False
        self._sources, self._passages = sources, [plain(source.text) for source in sources]
        self._text = self._tail = ""
        self._held: list[str | Marker] = []

    def feed(self, parts: Iterable[str | Marker]) -> Iterator[str | Marker]:
        """Take parts of the answer, and yield all that can be shown."""
        for part in parts:
            if self.is_stopped:
                return
            if isinstance(part, str):
                part = self._without_tags(self._tail + part)
                self._text += part
                if not self.is_stopped and (_ends_in_loop(self._text) or (_END.search(part) and self._repeats())):
                    self._stop("loop")
                if part:
                    self._held.append(part)
            else:
                self._release_tail()
                if not self.is_shown and self._is_echo():
                    self._stop("echo")
                    return
                self.is_shown = True
                self._held.append(part)
            yield from self._release()

    def finish(self) -> Iterator[str | Marker]:
        """Yield the rest at the end of the answer."""
        self._release_tail()
        if self.fault in ("", "tags"):
            self.is_shown = self.is_shown or says_not_found(self._text)
            if not self.is_shown and self._text.strip():
                self.fault = "uncited"
        yield from self._release()

    def _release(self) -> Iterator[str | Marker]:
        if self.is_shown:
            yield from self._held
            self._held.clear()

    def _stop(self, fault: Fault) -> None:
        self.fault, self.is_stopped = fault, True

    def _release_tail(self) -> None:
        if self._tail:
            self._held.append(self._tail)
            self._text, self._tail = self._text + self._tail, ""

    def _without_tags(self, text: str) -> str:
        """Return a text up to its first tag, without its end that may become one."""
        tag = next((tag for tag in _TAG.finditer(text) if not self._is_quoted(tag[0])), None)
        if tag is not None:
            self._tail = ""
            self._stop("tags")
            return text[: tag.start()]
        end = _MAY_BE_TAG.search(text)
        at = end.start() if end else len(text)
        self._tail = text[at:]
        return text[:at]

    def _is_quoted(self, tag: str) -> bool:
        return any(tag in source.text for source in self._sources)

    def _repeats(self) -> bool:
        """Return whether a statement is made for the third time, outside of code, that no passage makes twice."""
        made = Counter(map(plain, _STATEMENT.findall(FENCED.sub("", self._text))))
        repeated = [each for each, times in made.items() if times >= _TIMES and len(each) >= _SHORTEST]
        return any(all(text.count(each) < 2 for text in self._passages) for each in repeated)

    def _is_echo(self) -> bool:
        """Return whether all statements so far are parts of the instructions and of no passage."""
        made = [words for each in _STATEMENT.findall(self._text) if len(words := plain(each)) >= _SHORTEST]
        given = plain(INSTRUCTIONS)
        echoed = [each in given and not any(each in text for text in self._passages) for each in made]
        return bool(made) and all(echoed) and not says_not_found(self._text)


def _ends_in_loop(text: str) -> bool:
    """Return whether a text ends with repeats of one piece."""
    for size in range(1, min(_LONGEST_UNIT, len(text)) + 1):
        unit, times = text[-size:], max(_UNITS, -(-_FILLED // size))
        if text.endswith(unit * times) and any(map(str.isalpha, unit)):
            return True
    return False


# One to three digits each: no passage has a longer number.
_NUMBER = r"(?:(?:passages?|sources?)\s{0,2})?\^?\d{1,3}"
_DASHES = r"\-\u2010\u2011\u2013\u2014"
_SIGNS = rf",;\uff0c\uff1b\u3001{_DASHES}"
_OPENS, _CLOSES = r"\[\u3010\uff3b", r"\]\u3011\uff3d"
_MARKER = (
    rf"[{_OPENS}]\s{{0,2}}(?P<numbers>{_NUMBER}(?:\s{{0,2}}[{_SIGNS}]\s{{0,2}}{_NUMBER}){{0,9}})\s{{0,2}}[{_CLOSES}]"
)
# Backticks without a partner in their line don't make code, nor do very long spans.
_CODE = r"(?<!`)(?P<ticks>`{1,2})(?!`)[^\n]{0,300}?(?<!`)(?P=ticks)(?=[^`])"
_FENCE = r"(?P<fence>`{3,}(?=[^`])|~{3,}(?=[^~]))"
# Unfinished text that may still become one of these; at least as long as the longest of them.
_MAY_BE_MARKER = rf"[{_OPENS}][\s\w^{_SIGNS}]{{0,250}}\Z"
_MAY_BE_CODE = r"(?<!`)`{1,2}(?!`)[^\n]{0,310}\Z"
_MAY_BE_FENCE = r"`+\Z|~+\Z"
_OUTSIDE = re.compile(
    rf"(?P<marker>{_MARKER})|{_CODE}|{_FENCE}|(?P<open>{_MAY_BE_MARKER}|{_MAY_BE_FENCE}|{_MAY_BE_CODE})", re.IGNORECASE
)
_INSIDE = re.compile(rf"{_FENCE}|(?P<open>{_MAY_BE_FENCE})")
# Ends whatever is unfinished: code doesn't extend beyond the first character, markers not beyond the second.
_CLOSING = "\n\0"
_RANGE = re.compile(rf"(\d+)\s*[{_DASHES}]\s*\^?(\d+)|(\d+)")
# A range of more sources is read as its two ends.
_LONGEST_RANGE = 20


@dataclass(frozen=True, slots=True)
class Marker:
    """A citation marker."""

    text: str
    numbers: tuple[int, ...]


class MarkerReader:
    """Separates markers from text, however the text is cut into pieces.

    There are no markers in code, between backticks or in a fence: `squares[2]`.
    """

    def __init__(self) -> None:
        self._held = ""
        self._fence = ""

    def feed(self, piece: str) -> Iterator[str | Marker]:
        """Take a piece of the text and yield all that can be decided: non-empty pieces of the text, and markers."""
        text = self._held + piece
        sent = at = 0
        while token := (_INSIDE if self._fence else _OUTSIDE).search(text, at):
            if token["open"] is not None:
                break
            at = token.end()
            if token["fence"]:
                self._fence = self._fence_after(token["fence"])
            elif not self._fence and token["marker"]:
                if sent < token.start():
                    yield text[sent : token.start()]
                yield Marker(token["marker"], _numbers(token["numbers"]))
                sent = at
        end = token.start() if token else len(text)
        self._held = text[end:]
        if sent < end:
            yield text[sent:end]

    def finish(self) -> Iterator[str | Marker]:
        """Yield the rest at the end of the text."""
        *parts, last = self.feed(_CLOSING)
        yield from parts
        if isinstance(last, str) and len(last) > len(_CLOSING):
            yield last.removesuffix(_CLOSING)

    def _fence_after(self, ticks: str) -> str:
        """Return the fence that is open after these backticks or tildes; empty if none is."""
        if not self._fence:
            return ticks
        is_end = ticks[0] == self._fence[0] and len(ticks) >= len(self._fence)
        return "" if is_end else self._fence


def _numbers(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for first, last, single in _RANGE.findall(text):
        start, stop = (int(single), int(single)) if single else (int(first), int(last))
        found += range(start, stop + 1) if 0 <= stop - start < _LONGEST_RANGE else (start, stop)
    return tuple(dict.fromkeys(found))
