"""A model's attempt at an answer, watched while it streams: it is shown from its first citation on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from kinsplit.answering.checking import FENCED
from kinsplit.answering.prompt import INSTRUCTIONS, Marker, says_not_found
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
