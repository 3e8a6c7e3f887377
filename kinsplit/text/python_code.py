"""Classes and functions of Python programs, found by Python's own tokenizer.

Code that doesn't compile has an outline as well, as far as it can be read.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from itertools import accumulate, takewhile

from kinsplit.spans import Part

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_PASSED = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


def python_outline(text: str) -> tuple[Part, ...]:
    """Return the classes and functions of Python source code, outer ones before nested ones."""
    lines = _LINE.findall(text)
    starts = list(accumulate(map(len, lines), initial=0))
    found: list[Part] = []
    open_parts: list[tuple[int, int, str]] = []  # column, start, title
    last = 0
    for column, at, end, title in _statements(lines, starts):
        while open_parts and column <= open_parts[-1][0]:
            found.append(Part(open_parts[-1][1], last, open_parts.pop()[2]))
        if title:
            open_parts.append((column, at, title))
        last = end
    found += [Part(start, last, title) for _, start, title in open_parts]
    return tuple(sorted(found, key=lambda part: (part.start, -part.end)))


def _statements(lines: list[str], starts: list[int]) -> Iterator[tuple[int, int, int, str]]:
    """Yield column, start and end of each logical line, and the title of the part that it begins, if any."""
    statement: list[tokenize.TokenInfo] = []
    for token in _tokens(lines):
        if token.type not in _PASSED:
            statement.append(token)
        elif token.type == tokenize.NEWLINE and statement:
            first, end = statement[0], statement[-1].end
            yield first.start[1], _offset(starts, first.start), _offset(starts, end), _title(statement)
            statement = []


def _tokens(lines: list[str]) -> Iterator[tokenize.TokenInfo]:
    # The line ends of the tokenizer.
    source = "".join(line.rstrip("\r\n") + "\n" if line[-1:] in "\r\n" else line for line in lines)
    try:
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        yield from takewhile(lambda token: token.type != tokenize.ENDMARKER, tokens)
    except Exception:  # Besides TokenError and SyntaxError, Python 3.13 raises SystemError for some invalid code.
        return


def _title(statement: list[tokenize.TokenInfo]) -> str:
    words = [token.string for token in statement[:3]]
    kind, name, *_ = [*(words[1:] if words[0] == "async" else words), "", ""]
    return f"{kind} {name}" if kind in {"def", "class"} and name.isidentifier() else ""


def _offset(starts: list[int], place: tuple[int, int]) -> int:
    return starts[place[0] - 1] + place[1]
