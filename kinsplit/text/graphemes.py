"""Code points, white space, and grapheme clusters, the characters of readers (Unicode Standard Annex #29)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import regex

from kinsplit.spans import Span

#: White space as in `str.isspace`, all of it at or below U+3000.
SPACES = frozenset(filter(str.isspace, map(chr, range(0x3001))))
_LONE_CR = re.compile(r"\r(?!\n)")


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the text's code points as uint32[len(text)]."""
    return np.array([text]).view(np.uint32)[: len(text)]


def among(characters: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Return which code points up to U+3000 are those of some characters; the last entry represents all others."""
    table = np.zeros(ord(max(SPACES)) + 2, dtype=np.bool_)
    table[[ord(character) for character in characters]] = True
    return table


_space_table = functools.cache(lambda: among(SPACES))


def is_space(points: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return which code points are white space as in `str.isspace`."""
    return np.take(_space_table(), points, mode="clip")


def trim(text: str, start: int, end: int) -> Span | None:
    """Return a range without white space at its edges, or None if it is blank."""
    start, end = trimmed(text, start, end)
    return Span(start, end) if start < end else None


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range without white space at its edges; an empty range if it is blank."""
    while start < end and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


def skip_space(text: str, at: int) -> int:
    """Return the first offset from `at` on without white space, or the length of the text."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def with_line_feeds(text: str) -> str:
    """Return a text of the same length in which lone CR line ends are replaced by line feeds."""
    return _LONE_CR.sub("\n", text) if "\r" in text else text


#: Between two of these, there is always a grapheme boundary (UAX #29, GB999).
PLAIN = regex.compile(r"\p{Grapheme_Cluster_Break=Other}")
# The same applies between an emoji modifier, such as a skin tone, and the next emoji.
_NEXT_EMOJI = regex.compile(r"\p{Grapheme_Cluster_Break=Extend}\p{Extended_Pictographic}")
#: Pattern of one cluster. `\X` alone looks back over a whole row of flags at each flag, in quadratic time.
CLUSTER = r"(?:[\U0001F1E6-\U0001F1FF]{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*|\X)"
_CLUSTER = regex.compile(CLUSTER)
# Longer clusters of combining marks may be cut, since they aren't readable characters.
_LONGEST_CLUSTER = 1000
# Two of these form a flag; which two depends on the whole run (UAX #29, GB12 and GB13).
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def grapheme_floor(text: str, at: int, low: int) -> int:
    """Return the last grapheme boundary at or before an offset; `low` if one cluster spans the whole range.

    Clusters of more than 1,000 code points aren't kept whole.
    """
    if at <= low or at >= len(text) or _is_certain(text, at):
        return at
    low = max(low, at - _LONGEST_CLUSTER)
    if text[at] in _FLAG_LETTERS:
        # No boundary inside a row of flags is certain.
        before = text[low:at]
        letters = len(before) - len(before.rstrip(_FLAG_LETTERS))
        if letters > 1:
            return at - letters % 2
    anchor = at - 1
    while anchor > low and not _is_certain(text, anchor):
        anchor -= 1
    floor = anchor
    # In a slice, since the pattern looks back over all flags before its start.
    for match in _CLUSTER.finditer(text[anchor : at + 1]):
        if anchor + match.end() > at:
            break
        floor = anchor + match.end()
    return floor


def grapheme_end(text: str, start: int) -> int:
    """Return the end of the grapheme cluster that begins at `start`."""
    match = _CLUSTER.match(text[start : start + _LONGEST_CLUSTER])
    return start + match.end() if match else start + 1


def _is_certain(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300":
        # Below the combining marks, only CR LF is a cluster (U+00AD and controls break on both sides).
        return not (before == "\r" and after == "\n")
    if PLAIN.match(after) is None:
        return False
    return PLAIN.match(before) is not None or _NEXT_EMOJI.match(before + after) is not None


def graphemes(text: str, start: int, end: int, size: int = 1) -> list[Span]:
    """Cut a range, which begins at a grapheme boundary, between clusters into pieces of at most `size` code points.

    Only a longer cluster exceeds it. The pieces have no white space at their edges, and there are no blank pieces.
    """
    pieces = []
    while start < end:
        cut = min(end, start + size)
        if cut < end:
            floor = grapheme_floor(text, cut, start)
            cut = floor if floor > start else min(end, grapheme_end(text, start))
        if span := trim(text, start, cut):
            pieces.append(span)
        start = cut
    return pieces
