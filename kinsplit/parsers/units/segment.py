"""Units of a text as arrays of spans, and words.

A unit is a span without white space at its edges. Units never overlap and together contain every character that is not
white space, so chunks made of units can't lose text.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from kinsplit.spans import Span
from kinsplit.text.graphemes import CLUSTER, PLAIN, SPACES, trim

IntArray = npt.NDArray[np.int64]

#: Members of a character class: scripts without spaces between words. Each cluster counts as a word, as in word
#: processors.
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED = regex.compile(rf"[{UNSPACED}]")
_SPACE = r"\s\x1c-\x1f"  # as str.isspace has it
_UNSPACED_WORDS = regex.compile(rf"(?=[{UNSPACED}])\X|(?:(?![{UNSPACED}{_SPACE}]){CLUSTER})+")

_CLAUSE = re.compile(r"[^\s，、；：]+[，、；：]*")

_SPACE_CHARACTER = re.compile(r"\s")
# Characters per pass.
_PIECE = 1 << 18


class Units(NamedTuple):
    """Units in document order as two arrays.

    Attributes:
        starts: int64[n], first code point of each unit.
        ends: int64[n], one past the last code point of each unit.
    """

    starts: IntArray
    ends: IntArray

    def shifted(self, by: int) -> Units:
        """Return the units with all offsets increased by `by`."""
        return Units(self.starts + by, self.ends + by)


def as_units(spans: list[Span] | list[tuple[int, int]]) -> Units:
    """Return spans as `Units`."""
    pairs = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return Units(pairs[:, 0], pairs[:, 1])


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the text's code points as uint32[len(text)]."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


@functools.cache
def _space_table() -> npt.NDArray[np.bool_]:
    # The last entry represents all code points above the last white space.
    table = np.zeros(ord(max(SPACES)) + 2, dtype=np.bool_)
    table[[ord(space) for space in SPACES]] = True
    return table


def is_space(points: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return which code points are white space as in `str.isspace`."""
    table = _space_table()
    return table[np.minimum(points, len(table) - 1)]


def runs(text: str) -> Units:
    """Return the runs of characters between white space, as in `str.split`."""
    return _joined(text, lambda piece: _runs(is_space(code_points(piece))))


def _joined(text: str, find: Callable[[str], Units]) -> Units:
    """Return the units of a text, found piece by piece: arrays that fit into the CPU cache are three times as fast."""
    pieces, start = [], 0
    while start < len(text):
        space = _SPACE_CHARACTER.search(text, start + _PIECE)
        end = space.start() if space else len(text)
        pieces.append(find(text[start:end]).shifted(start))
        start = end
    if not pieces:
        return as_units([])
    return pieces[0] if len(pieces) == 1 else Units(*map(np.concatenate, zip(*pieces, strict=True)))


def _runs(space: npt.NDArray[np.bool_]) -> Units:
    solid = np.zeros(len(space) + 2, dtype=np.bool_)
    np.logical_not(space, out=solid[1:-1])
    edges = np.flatnonzero(solid[1:] != solid[:-1]).astype(np.int64, copy=False)
    return Units(edges[0::2], edges[1::2])


def words(text: str) -> Units:
    """Return the words of a text: runs of characters between white space, as in `str.split`.

    In scripts without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), each grapheme is a word.
    """
    return _joined(text, _words)


def clauses(text: str) -> Units:
    """Return the clauses of a text in a script without spaces between words: runs up to a space or a comma.

    A text in other scripts, where words end with a space, has none.
    """
    is_unspaced = 2 * len(_UNSPACED.findall(text)) > len(text)
    return as_units([match.span() for match in _CLAUSE.finditer(text)] if is_unspaced else [])


def _words(text: str) -> Units:
    points = code_points(text)
    space = is_space(points)
    found = _runs(space)
    if text.isascii():
        return found
    unspaced, plain = _kinds(points)
    if not unspaced.any():
        return found
    before_unspaced, before_plain = _shifted(unspaced), _shifted(plain)
    # There is always a boundary between two plain characters; other runs are cut cluster by cluster.
    inner = np.flatnonzero((unspaced | before_unspaced) & plain & before_plain & ~space & ~_shifted(space))
    units = Units(_merged(found.starts, inner), _merged(found.ends, inner))
    clustered = np.flatnonzero((unspaced | before_unspaced) & ~(plain & before_plain) & ~space)
    numbers = np.searchsorted(units.ends, clustered, side="right")
    return cut_units(text, units, numbers[np.diff(numbers, prepend=-1) > 0], _unspaced_words)


def _merged(offsets: IntArray, others: IntArray) -> IntArray:
    # A stable sort of two ascending runs takes linear time.
    return np.sort(np.concatenate([offsets, others]), kind="stable")


def _shifted(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the mask shifted by one code point to the right."""
    return np.concatenate([[False], mask[:-1]])


def _kinds(points: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which code points belong to an unspaced script, and which are plain."""
    kinds = np.flatnonzero(np.bincount(points))
    unspaced, plain = (np.zeros(int(kinds[-1]) + 1, dtype=np.bool_) for _ in range(2))
    unspaced[kinds] = [_UNSPACED.match(chr(k)) is not None for k in kinds.tolist()]
    plain[kinds] = [PLAIN.match(chr(k)) is not None for k in kinds.tolist()]
    return unspaced[points], plain[points]


def _unspaced_words(text: str, start: int, end: int) -> Units:
    return as_units([m.span() for m in _UNSPACED_WORDS.finditer(text, start, end)])


def cut_units(text: str, units: Units, numbers: IntArray, cut: Callable[[str, int, int], Units]) -> Units:
    """Replace some units by finer units.

    Args:
        text: The text.
        units: Its units.
        numbers: int64[m], ascending numbers of the units to replace.
        cut: Function that returns the units of a range of the text.
    """
    return cut_units_with_origin(text, units, numbers, cut)[0]


def cut_units_with_origin(
    text: str, units: Units, numbers: IntArray, cut: Callable[[str, int, int], Units]
) -> tuple[Units, IntArray]:
    """Return the result of `cut_units`, and the number of the original unit of each unit."""
    pieces = [
        cut(text, s, e) for s, e in zip(units.starts[numbers].tolist(), units.ends[numbers].tolist(), strict=True)
    ]
    sizes = np.ones(len(units.starts), dtype=np.int64)
    sizes[numbers] = [len(piece.starts) for piece in pieces]
    is_cut = np.zeros(len(units.starts), dtype=np.bool_)
    is_cut[numbers] = True
    origin = np.repeat(np.arange(len(units.starts), dtype=np.int64), sizes)
    starts, ends, is_new = units.starts[origin], units.ends[origin], is_cut[origin]
    if pieces:
        starts[is_new] = np.concatenate([piece.starts for piece in pieces])
        ends[is_new] = np.concatenate([piece.ends for piece in pieces])
    return Units(starts, ends), origin


def cut_at(text: str, units: Units, offsets: list[int]) -> Units:
    """Cut units at ascending offsets."""
    spans = []
    for start, end in zip(units.starts.tolist(), units.ends.tolist(), strict=True):
        inside = offsets[bisect_right(offsets, start) : bisect_left(offsets, end)]
        for s, e in zip([start, *inside], [*inside, end], strict=True):
            if span := trim(text, s, e):
                spans.append(span)
    return as_units(spans)
