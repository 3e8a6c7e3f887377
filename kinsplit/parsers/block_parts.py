"""Blocks -> the parts that they are made of."""

from __future__ import annotations

import re

from kinsplit.parsers.blocks import FENCE, ITEM, MARKS, blocks
from kinsplit.parsers.white_space import trim, with_line_feeds

_LINE_END = re.compile(r"\n")
_NEXT_LINE = re.compile(r"\n([ \t]*)(.*)")


def parts(text: str) -> list[tuple[int, int]] | None:
    """Cut one block into the parts it is made of: a list into items, a table or fence into lines.

    An item that holds a list is itself a block that is cut into the inner items.

    Args:
        text: The block's text.

    Returns:
        The parts' spans, or None for a block that has no such parts.
    """
    text = with_line_feeds(text)
    first_line = text.partition("\n")[0]
    if first_line[:1] not in MARKS and "|" not in first_line:
        return None
    kind = blocks(text)[0].kind
    if kind not in {"list", "table", "fence"}:
        return None
    places = [0, *(_items(text) if kind == "list" else (m.end() for m in _LINE_END.finditer(text)))]
    cut = [trim(text, s, e) for s, e in zip(places, [*places[1:], len(text)], strict=True)]
    return [span for span in cut if span]


def _items(text: str) -> list[int]:
    """Return where the items of a list begin, but the first: of those that follow, the least indented."""
    found: list[tuple[int, int]] = []
    fence = ""
    for match in _NEXT_LINE.finditer(text):
        line = match[2]
        if fence:
            fence = "" if line.startswith(fence) and not line.strip(fence[0] + " \t") else fence
        elif opening := FENCE.fullmatch(line):
            fence = opening[1] or opening[2]
        elif ITEM.match(line):
            found.append((len(match[1].expandtabs(4)), match.start(2)))
    least = min(found, default=(0, 0))[0]
    return [at for indentation, at in found if indentation == least]
