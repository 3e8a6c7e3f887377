"""Grapheme clusters: what readers take for one character (Unicode Standard Annex #29)."""

from __future__ import annotations

import re

import regex

from kinsplit.spans import Span

#: Python's own idea of white space, all of it at or below U+3000.
SPACES = frozenset(filter(str.isspace, map(chr, range(0x3001))))
_LONE_CR = re.compile(r"\r(?!\n)")


def trim(text: str, start: int, end: int) -> Span | None:
    """Return a range without the white space at its edges, or None if nothing else is in it."""
    start, end = trimmed(text, start, end)
    return Span(start, end) if start < end else None


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range without the white space at its edges; its start twice if nothing else is in it."""
    while start < end and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


def skip_space(text: str, at: int) -> int:
    """Return the first position from `at` on that holds no white space, or the text's length."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def with_line_feeds(text: str) -> str:
    """Return a text of the same length in which every line ends with a line feed, also where it ended with CR alone."""
    return _LONE_CR.sub("\n", text) if "\r" in text else text


#: A boundary between two of these is a grapheme boundary whatever stands around them (UAX #29, GB999).
PLAIN = regex.compile(r"\p{Grapheme_Cluster_Break=Other}")
# The same holds before an emoji behind what changed the last one, such as the colour of a skin.
_NEXT_EMOJI = regex.compile(r"\p{Grapheme_Cluster_Break=Extend}\p{Extended_Pictographic}")
#: A pattern of one cluster. `\X` alone looks back over a whole row of flags at each of them: quadratic time.
CLUSTER = r"(?:[\U0001F1E6-\U0001F1FF]{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*|\X)"
_CLUSTER = regex.compile(CLUSTER)
# A heap of more combining marks than this is no character that anybody reads; it may be cut.
_LONGEST_CLUSTER = 1000
# Two of these are one flag; which two depends on the whole run of them (UAX #29, GB12 and GB13).
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def grapheme_floor(text: str, at: int, low: int) -> int:
    """Return the last grapheme boundary that is not after `at`.

    Args:
        text: The text.
        at: A position in it.
        low: A position known to be a boundary, not after `at`; the search stays above it.

    Returns:
        A position between `low` and `at`; `low` where one cluster spans the whole range. Clusters of more than 1,000
        code points aren't kept whole.
    """
    if at <= low or at >= len(text) or _is_certain(text, at):
        return at
    low = max(low, at - _LONGEST_CLUSTER)
    if text[at] in _FLAG_LETTERS:
        # Flags stand in long rows, inside which no boundary is certain.
        before = text[low:at]
        letters = len(before) - len(before.rstrip(_FLAG_LETTERS))
        if letters > 1:
            return at - letters % 2
    anchor = at - 1
    while anchor > low and not _is_certain(text, anchor):
        anchor -= 1
    floor = anchor
    # In a slice, since the pattern looks back over all flags before the place where it begins.
    for match in _CLUSTER.finditer(text[anchor : at + 1]):
        if anchor + match.end() > at:
            break
        floor = anchor + match.end()
    return floor


def grapheme_end(text: str, start: int) -> int:
    """Return where the grapheme cluster that begins at `start` ends."""
    match = _CLUSTER.match(text[start : start + _LONGEST_CLUSTER])
    return start + match.end() if match else start + 1


def _is_certain(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300":
        # Below the combining marks only CR LF holds together (U+00AD and controls break on both sides).
        return not (before == "\r" and after == "\n")
    if PLAIN.match(after) is None:
        return False
    return PLAIN.match(before) is not None or _NEXT_EMOJI.match(before + after) is not None


def graphemes(text: str, start: int, end: int, size: int = 1) -> list[Span]:
    """Cut a range between grapheme clusters into pieces of about `size` code points.

    Args:
        text: The text.
        start: First code point of the range, a grapheme boundary.
        end: One past its last code point.
        size: Longest piece in code points; only a cluster longer than that exceeds it.

    Returns:
        The pieces, without the white space at their edges and without blank ones.
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
