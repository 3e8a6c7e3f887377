"""Headings from several sources, joined to one list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kinsplit.chunk import Heading

_LONGEST = 120  # characters; a title is repeated in the context of every chunk below it
_OFTEN = 4  # times that a title may not return


def shortened(title: str) -> str:
    """Return a title on one line, cut at a word if it is long."""
    title = " ".join(title.split())
    if len(title) <= _LONGEST:
        return title
    return f"{title[: title.rfind(' ', _LONGEST // 2, _LONGEST) % _LONGEST]}..."


def layered(*layers: Sequence[Heading]) -> tuple[Heading, ...]:
    """Join headings so that those of a later layer divide the sections of the earlier ones.

    Args:
        layers: Headings in ascending order, from the most reliable source to the least. Where two overlap, the earlier
            layer's stays.
    """
    joined: list[Heading] = []
    for layer in layers:
        taken = sorted((one.start, one.end) for one in joined)
        free = _without_overlap(layer, taken)
        if free:
            deepest = max((one.level for one in joined), default=0)
            below = deepest - min(one.level for one in free) + 1 if joined else 0
            joined += [one._replace(level=one.level + below) for one in free]
    return tuple(sorted(joined))


def _without_overlap(layer: Sequence[Heading], taken: Sequence[tuple[int, int]]) -> list[Heading]:
    free: list[Heading] = []
    at = 0
    for one in layer:
        while at < len(taken) and taken[at][1] <= one.start:
            at += 1
        if at == len(taken) or one.end <= taken[at][0]:
            free.append(one)
    return free


def without_running(headings: Sequence[Heading], share: float = 0.0) -> list[Heading]:
    """Return headings without those that return again and again, such as a link to the contents on every page.

    Args:
        headings: The headings.
        share: Share of the headings of its level that a title must exceed to be left out.
    """
    times = Counter((one.level, one.title) for one in headings)
    of_level = Counter(one.level for one in headings)
    most = {level: max(_OFTEN - 1, share * number) for level, number in of_level.items()}
    return [one for one in headings if times[one.level, one.title] <= most[one.level]]


def titled(headings: Sequence[Heading], title: str | None) -> tuple[Heading, ...]:
    """Return headings below the title of their document.

    Args:
        headings: Headings, ascending.
        title: The title. If the first heading repeats it, that heading becomes the title; if there is one outermost
            heading that does so, it is the title already.
    """
    if not title:
        return tuple(headings)
    outermost = min((one.level for one in headings), default=0)
    tops = [one for one in headings if one.level == outermost]
    if len(tops) == 1 and _repeats(tops[0], title):
        return tuple(headings)
    if headings and _repeats(headings[0], title):
        return (headings[0]._replace(level=0), *headings[1:])
    return (Heading(0, 0, 0, shortened(title)), *headings)


def _repeats(heading: Heading, title: str) -> bool:
    own = _letters(heading.title)
    return bool(own) and own in _letters(title)


def _letters(title: str) -> str:
    return "".join(filter(str.isalnum, title.casefold()))
