"""Marked ranges of a text, and their HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, String


class Mark(NamedTuple):
    """A range to mark."""

    start: int  # First code point.
    end: int  # One past the last code point.
    best: bool = False
    number: int | None = None  # Number by which the page knows it; None if it need not.


def within(marks: Sequence[Mark], start: int, end: int) -> list[Mark]:
    """Return the parts of marks between two offsets, relative to the first."""
    return [
        mark._replace(start=max(mark.start, start) - start, end=min(mark.end, end) - start)
        for mark in marks
        if mark.start < end and mark.end > start
    ]


def marked(text: str, marks: Sequence[Mark], css: str = "") -> str:
    """Return a text as HTML with marks, which may overlap."""
    parts = []
    for start, end, mark in _pieces(len(text), marks):
        piece = html.escape(text[start:end], quote=False)
        piece = f'<span class="{css}">{piece}</span>' if css else piece
        # A blank across lines would be a bar at the end of one and the beginning of the next.
        parts.append(piece if "\n" in piece and not piece.strip() else wrapped(piece, mark))
    return "".join(parts)


def wrapped(content: str, mark: Mark | None) -> str:
    """Return HTML inside an element of a mark; unchanged without one."""
    if mark is None:
        return content
    css = ' class="best"' if mark.best else ""
    number = "" if mark.number is None else f' data-number="{mark.number}"'
    return f"<mark{css}{number}>{content}</mark>"


def strongest(marks: Sequence[Mark]) -> Mark | None:
    """Return the best of some marks, if there are any."""
    return max(marks, key=lambda mark: mark.best, default=None)


def _pieces(length: int, marks: Sequence[Mark]) -> Iterator[tuple[int, int, Mark | None]]:
    """Yield the pieces between the boundaries of marks, each with its mark."""
    cuts = {0, length, *(at for mark in marks for at in mark[:2] if 0 < at < length)}
    for start, end in pairwise(sorted(cuts)):
        yield start, end, strongest([mark for mark in marks if mark.start < end and mark.end > start])


class MarkedLines:
    """Marks of a text whose lines were copied without their indentation and other markup."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self._text, self._marks = text, marks
        self._starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n"), len(text)]
        self._cursor = 0

    @property
    def number(self) -> int:
        """Number of lines."""
        return len(self._starts) - 1

    def inside(self, content: str, first: int, last: int) -> list[Mark]:
        """Return the marks of a copy, relative to it. Copies must be asked for in the text's order."""
        if not self._marks:
            return []
        start, end = self._start(first), self._start(last)
        self._cursor = min(max(self._cursor, start), end)
        found: list[Mark] = []
        at = 0
        for line in content.split("\n"):
            copied = line.strip()
            place = self._text.find(copied, self._cursor, end) if copied else -1
            if place >= 0:
                offset = at + line.find(copied)
                found += [
                    mark._replace(start=mark.start + offset, end=mark.end + offset)
                    for mark in within(self._marks, place, place + len(copied))
                ]
                self._cursor = place + len(copied)
            elif copied and (mark := strongest(self.touching(first, last))):
                # Escaped characters differ from the source.
                found.append(mark._replace(start=at, end=at + len(line)))
            at += len(line) + 1
        return found

    def touching(self, first: int, last: int) -> list[Mark]:
        """Return the marks that touch some lines."""
        return within(self._marks, self._start(first), self._start(last))

    def _start(self, line: int) -> int:
        return self._starts[min(line, len(self._starts) - 1)]


# The first kind that holds a word's own gives its class.
_KINDS = (
    (Comment.Preproc, "word"),
    (Comment, "comment"),
    (String, "string"),
    (Number, "number"),
    (Literal, "number"),
    (Operator.Word, "word"),
    (Keyword, "word"),
    (Name.Function, "name"),
    (Name.Class, "name"),
    (Name.Decorator, "name"),
    (Name.Builtin, "known"),
    (Name.Exception, "known"),
    (Name.Tag, "word"),
    (Name.Attribute, "name"),
    (Error, ""),
)

#: Classes of words.
CLASSES = frozenset(css for _, css in _KINDS if css)


def code(text: str, lexer: Any | None, marks: Sequence[Mark]) -> str:
    """Return source code as an HTML element `pre`; without a lexer, as plain text."""
    if lexer is None:
        return f"<pre><code>{marked(text, marks)}</code></pre>"
    parts = []
    for at, kind, word in lexer.get_tokens_unprocessed(text):
        css = next((css for wide, css in _KINDS if kind in wide), "")
        parts.append(marked(word, within(marks, at, at + len(word)), css))
    return f"<pre><code>{''.join(parts)}</code></pre>"
