"""Markdown that readers write: escaped text, fences and pipe tables, with its headings and its title."""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kinsplit.loaders.content import Content
from kinsplit.loaders.markup.headings import titled
from kinsplit.text.blocks import markdown_headings, without_closing

_TITLE_WINDOW = 10_000  # characters at the beginning in which a title is looked for
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#[ \t](.*)")
# Plain text that would start a fence, a heading or a heading's underline.
_MISTAKABLE = re.compile(r"^(?=#{1,6}(?:\s|$)|`{3}|~{3}|=+$|-+$)", re.MULTILINE)


def markdown_content(
    text: str,
    title: str | None = None,
    *,
    above: str | None = None,
    pages: Sequence[int] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Content:
    """Return Markdown with its headings."""
    headings = titled(markdown_headings(text), above)
    return Content(text, title, pages=tuple(pages), headings=headings, metadata=metadata or {})


def title_of(text: str) -> str | None:
    """Return the first `# heading` outside a fence, or None."""
    fence = ""
    for line in text[:_TITLE_WINDOW].splitlines():
        before, fence = fence, _fence_after(line, fence)
        if not before and not fence and (heading := _HEADING.match(line)):
            return without_closing(heading[1].strip()) or None
    return None


def closed(text: str) -> str:
    """Return Markdown with its last fence closed, if it is open."""
    fence = ""
    for line in text.splitlines():
        fence = _fence_after(line, fence)
    return f"{text}\n{fence}" if fence else text


def _fence_after(line: str, fence: str) -> str:
    """Return the marker of the fence that is open after a line, given the one open before it."""
    mark = _FENCE.match(line)
    if fence:
        return "" if mark and mark[1].startswith(fence) else fence
    return mark[1] if mark else ""


def escaped(text: str) -> str:
    """Return plain text as a Markdown paragraph in which no line begins a block."""
    return _MISTAKABLE.sub(r"\\", text)


def fenced(text: str, language: str = "") -> str:
    """Return text inside a Markdown fence that the text can't close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def without_blanks(rows: list[list[str]]) -> list[list[str]]:
    """Return a table's cells without empty rows and columns; rows may differ in length."""
    filled = [row for row in rows if any(row)]
    columns = sorted({column for row in filled for column, cell in enumerate(row) if cell})
    if columns == list(range(max(map(len, filled), default=0))):
        return filled
    return [[row[column] for column in columns[: bisect.bisect_left(columns, len(row))]] for row in filled]


def pipe_table(rows: list[list[str]]) -> str:
    """Return rows as a pipe table whose header is the first row, which must be the widest."""
    width = max(map(len, rows))
    header = rows[0] + [""] * (width - len(rows[0]))
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows[1:])]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)
