"""Lengths of units in characters, words or tokens, and refinement of the units that exceed a limit."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from kinsplit.errors import LimitTooSmallError
from kinsplit.parsers.units.builder import (
    BY_CLAUSE,
    BY_LINE,
    BY_OUTER_LINE,
    KINDS,
    Level,
    Rung,
    TextUnits,
    UnitKind,
    by_part,
    by_sentence,
    cut_by,
)
from kinsplit.parsers.units.languages import detect_language
from kinsplit.parsers.units.sentences import IntArray, Units, as_units, cut_units, words
from kinsplit.text.graphemes import graphemes
from kinsplit.tokenizers import SEPARATORS, CallableTokenizer, Tokenizer

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Unit = Literal["character", "word", "token"]

#: Maximum characters per token of a chunk's limit, including white space and characters that a tokenizer drops.
CHARACTERS_PER_TOKEN = 100

# Characters that are worth counting in a separate thread.
_ENOUGH = 1 << 16


class Scale(NamedTuple):
    """Cumulative lengths of units.

    Units i to j - 1 together have the length `right[j - 1] - left[i]`.
    """

    left: IntArray  # int64[n], cumulative length at the start of each unit.
    right: IntArray  # int64[n], cumulative length at the end of each unit.


@dataclass(frozen=True, slots=True)
class Ruler:
    """Measures texts in one unit."""

    unit: Unit
    tokenizer: Tokenizer

    @property
    def adds_up(self) -> bool:
        """Whether the length of a run of words is always the sum of the words' lengths."""
        return self.unit != "token" or self.tokenizer.splits_at_space

    def lengths(self, texts: Sequence[str], units: Iterable[Units]) -> list[IntArray]:
        """Measure the units of many texts in one pass, each unit on its own, as int64[n] for each text."""
        if self.unit == "character":
            return [u.ends - u.starts for u in units]
        if self.unit == "word":
            return [_word_counts(text, u) for text, u in zip(texts, units, strict=True)]
        return self._token_counts(texts, units)

    def _token_counts(self, texts: Sequence[str], units: Iterable[Units]) -> list[IntArray]:
        # A caller's function may not be thread-safe.
        enough = math.inf if isinstance(self.tokenizer, CallableTokenizer) else _ENOUGH
        sizes: list[int] = []
        counts: list[Future[IntArray]] = []
        submit: Callable[..., Future[IntArray]] | None = None
        # Number of each different text, which is counted once, and the numbers of all.
        numbers: dict[str, int] = {}
        order: list[int] = []
        pieces: list[str] = []
        waiting = 0
        with contextlib.ExitStack() as stack:
            for text, u in zip(texts, units, strict=True):
                known = len(numbers)
                order += [numbers.setdefault(piece, len(numbers)) for piece in slices(text, u)]
                new = [*islice(reversed(numbers), len(numbers) - known)]
                pieces += reversed(new)
                waiting += sum(map(len, new))
                sizes.append(len(u.starts))
                if waiting >= enough:
                    submit = submit or stack.enter_context(_worker()).submit
                    counts.append(submit(self.tokenizer.count, pieces))
                    pieces, waiting = [], 0
            last = self.tokenizer.count(pieces)
        return divide(np.concatenate([*(c.result() for c in counts), last])[order], sizes)

    def length(self, text: str) -> int:
        """Return the length of one text."""
        everything = Units(np.zeros(1, dtype=np.int64), np.full(1, len(text), dtype=np.int64))
        return int(self.lengths([text], [everything])[0][0])

    def scale(self, units: Units, lengths: IntArray) -> Scale:
        """Return the cumulative lengths of units; in characters, white space between units counts too."""
        if self.unit == "character":
            return Scale(units.starts, units.ends)
        right = np.cumsum(lengths, dtype=np.int64)
        return Scale(right - lengths, right)


def _worker() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # Short texts need none.

    return ThreadPoolExecutor(max_workers=1)


class Limit(NamedTuple):
    """Maximum length of a chunk."""

    size: int
    ruler: Ruler


def slices(text: str, units: Units) -> list[str]:
    """Return the units' texts."""
    return [text[s:e] for s, e in zip(units.starts.tolist(), units.ends.tolist(), strict=True)]


def divide(values: IntArray, sizes: Sequence[int]) -> list[IntArray]:
    """Split an array into pieces of the given sizes."""
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    return [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]


# White space that BERT drops, such as a form feed, belongs to the word that it touches.
_GLUE = re.compile(f"[^{''.join(sorted(SEPARATORS))}]")


def glued(text: str, ends: IntArray, starts: IntArray) -> list[int]:
    """Return the numbers of the gaps across which token counts may not add up, given where units end and begin."""
    edges = ("".join([text[at] for at in offsets.tolist()]) for offsets in (ends, starts - 1))
    return sorted({match.start() for edge in edges for match in _GLUE.finditer(edge)})


def _word_counts(text: str, units: Units) -> IntArray:
    if len(units.starts) < len(text) >> 12:  # Few of a long text, which are counted alone.
        return np.array([len(words(piece).starts) for piece in slices(text, units)], dtype=np.int64)
    found = words(text)
    first = np.searchsorted(found.ends, units.starts, side="right")
    last = np.searchsorted(found.starts, units.ends, side="left")
    return (last - first).astype(np.int64)


# WordPiece reads a word of more than 100 characters as one unknown token, and byte-pair encoders take quadratic time on
# long words, so such words are cut before their tokens are counted.
LONG_WORD = 100
# A unit with more characters per token of the limit is likely to be cut.
_LIKELY = 5

Mask = npt.NDArray[np.bool_]
# Depth to which nested lists are cut at their items, and code at its lines.
_INNER_PARTS = 4
# Depth to which statements are cut at their outermost lines.
_INNER_LINES = 3


class Refined(NamedTuple):
    """Units within the limit."""

    units: Units
    scale: Scale
    origin: IntArray  # int64[n], number of the original unit of each unit.
    levels: IntArray  # int64[n], `Level` of the boundary before each unit.
    kinds: IntArray  # int64[n], index in `KINDS` of each unit.

    @property
    def begins(self) -> Mask:
        """Whether each unit begins an original one."""
        begins: Mask = np.diff(self.origin, prepend=-1) > 0
        return begins

    @property
    def text_units(self) -> TextUnits:
        """The units, to be refined again."""
        return TextUnits(self.units, self.levels, self.kinds)


def ladder(ruler: Ruler, limit: int, language: str) -> list[Rung]:
    """Return the successive ways of cutting a unit that is too long, coarse to fine."""

    def language_of(text: str) -> str:
        # Detected for the whole text, since its parts may be too short.
        return detect_language(text) if language == "auto" else language

    def by_word(text: str, start: int, end: int, _: UnitKind) -> Units:
        units = words(text[start:end]).shifted(start)
        long = units.ends - units.starts > LONG_WORD
        if ruler.unit != "token" or not long.any():
            return units
        return cut_units(text, units, np.flatnonzero(long), lambda t, s, e: as_units(graphemes(t, s, e, LONG_WORD)))[0]

    def by_grapheme(text: str, start: int, end: int, _: UnitKind) -> Units:
        return as_units(graphemes(text, start, end, limit if ruler.unit == "character" else 1))

    def by_code_point(text: str, start: int, end: int, _: UnitKind) -> Units:
        return as_units([(i, i + 1) for i in range(start, end) if not text[i].isspace()])

    return [
        by_part(language_of, is_block=True),
        *[by_part(language_of)] * _INNER_PARTS,
        *[BY_OUTER_LINE] * _INNER_LINES,
        BY_LINE,
        by_sentence(language_of),
        *BY_CLAUSE,
        Rung(Level.WORD, by_word),
        Rung(Level.GRAPHEME, by_grapheme),
        Rung(Level.GRAPHEME, by_code_point),
    ]


def refine(
    texts: Sequence[str],
    units: Iterable[TextUnits],
    ruler: Ruler,
    limit: int,
    rungs: Sequence[Rung],
    *,
    headed: bool = False,
) -> list[Refined]:
    """Replace every unit above the limit by the coarsest units within it.

    Args:
        texts: The texts.
        units: The units of each text. If it is an iterator, units are measured while later ones are found.
        ruler: Measures the units.
        limit: Maximum length of a unit.
        rungs: Ways of cutting a unit, coarse to fine.
        headed: Whether a block is cut, too, that exceeds the limit only together with the heading above it.

    Raises:
        LimitTooSmallError: A single code point exceeds the limit.
    """
    jobs: list[_Job] = []

    def found() -> Iterator[Units]:
        # Units that need no cut come first, so that they are counted while the others are cut.
        for text, u in zip(texts, units, strict=True):
            jobs.append(_Job(text, u, ruler, limit))
            yield jobs[-1].unknown(~jobs[-1].wide())
        for job in jobs:
            job.guess(rungs)
            yield job.unknown(job.ahead)

    lengths = ruler.lengths([*texts, *texts], found())
    for job, plain, guessed in zip(jobs, lengths[: len(jobs)], lengths[len(jobs) :], strict=True):
        job.learn(plain, ~job.ahead)
        job.learn(guessed, job.ahead)
    doubtful = [job.doubtful() for job in jobs]
    wholes = ruler.lengths(texts, [_chosen(job.whole, mask) for job, mask in zip(jobs, doubtful, strict=True)])
    for job, mask, whole in zip(jobs, doubtful, wholes, strict=True):
        job.restore(mask, whole)
    if headed:
        for job in jobs:
            job.make_room(rungs[0])
        for job, found_lengths in zip(jobs, ruler.lengths(texts, [job.unknown() for job in jobs]), strict=True):
            job.learn(found_lengths)
    for rung in (*rungs, None):
        if not any(job.is_long().any() for job in jobs):
            break
        if rung is None:
            job = next(job for job in jobs if job.is_long().any())
            start = int(job.units.starts[np.argmax(job.is_long())])
            raise LimitTooSmallError(limit, ruler.unit, job.text[start])
        for job in jobs:
            job.cut(rung)
        unknown = [job.unknown() for job in jobs]
        if any(len(units.starts) for units in unknown):
            for job, found_lengths in zip(jobs, ruler.lengths(texts, unknown), strict=True):
                job.learn(found_lengths)
    return [Refined(j.units, ruler.scale(j.units, j.lengths), j.origin, j.levels, j.kinds) for j in jobs]


class _Job:
    """Refinement of one text."""

    def __init__(self, text: str, found: TextUnits, ruler: Ruler, limit: int) -> None:
        self.text, self.ruler, self.limit = text, ruler, limit
        self.units, self.levels, self.kinds = found
        self.whole, _, self.whole_kinds = found
        # int64[n]: length of each unit, -1 if unknown; and number of the original unit.
        self.lengths = np.full(len(found.levels), -1, dtype=np.int64)
        self.origin = np.arange(len(found.levels), dtype=np.int64)
        self.ahead = np.zeros(len(found.levels), dtype=np.bool_)

    def wide(self) -> Mask:
        """Return which units are probably too long, judged by their characters."""
        if self.ruler.unit == "token" and self.ruler.adds_up:
            return self._is_wider(self.units, _LIKELY)
        return np.zeros(len(self.units.starts), dtype=np.bool_)

    def guess(self, rungs: Sequence[Rung]) -> None:
        """Cut units that are probably too long before they are measured, so that little text is measured twice.

        Their parts are cut only if they are certainly too long, since no more than the units can be restored.
        """
        wide = ahead = self.wide()
        for rung in rungs:
            if not wide.any():
                break
            self._replace(wide, rung)
            wide = self._is_wider(self.units, CHARACTERS_PER_TOKEN)
        self.ahead = ahead[self.origin]

    def doubtful(self) -> Mask:
        """Return which of the original units may have been cut by `guess` although they fit."""
        is_cut = np.zeros(len(self.whole.starts), dtype=np.bool_)
        if not self.ahead.any():
            return is_cut
        is_cut[self.origin[self.ahead]] = True
        is_cut &= ~self._is_wider(self.whole, CHARACTERS_PER_TOKEN)
        total = np.bincount(self.origin, self.lengths, len(is_cut))
        # Lengths add up across white space; otherwise the whole unit is measured.
        inner = np.flatnonzero(is_cut[self.origin[:-1]] & (np.diff(self.origin) == 0))
        total[self.origin[inner[glued(self.text, self.units.ends[inner], self.units.starts[inner + 1])]]] = 0
        return is_cut & (total <= self.limit)

    def restore(self, doubtful: Mask, lengths: IntArray) -> None:
        """Restore the doubtful units that fit, given their lengths."""
        whole = np.full(len(doubtful), -1, dtype=np.int64)
        whole[doubtful] = lengths
        restored = (doubtful & (whole <= self.limit))[self.origin]
        if not restored.any():
            return
        kept = ~restored | (np.diff(self.origin, prepend=-1) > 0)
        starts = np.where(restored, self.whole.starts[self.origin], self.units.starts)
        ends = np.where(restored, self.whole.ends[self.origin], self.units.ends)
        self.units = Units(starts[kept], ends[kept])
        self.lengths = np.where(restored, whole[self.origin], self.lengths)[kept]
        self.ahead = (self.ahead & ~restored)[kept]
        self.kinds = np.where(restored, self.whole_kinds[self.origin], self.kinds)[kept]
        self.origin, self.levels = self.origin[kept], self.levels[kept]

    def unknown(self, among: Mask | Literal[True] = True) -> Units:
        """Return the units of unknown length, among all or some."""
        if self.ruler.unit == "token":
            self.lengths[(self.lengths < 0) & self._is_wider(self.units, CHARACTERS_PER_TOKEN)] = self.limit + 1
        return _chosen(self.units, (self.lengths < 0) & among)

    def learn(self, lengths: IntArray, among: Mask | Literal[True] = True) -> None:
        """Store the lengths of the units returned by `unknown`."""
        self.lengths[(self.lengths < 0) & among] = lengths

    def is_long(self) -> Mask:
        return self.lengths > self.limit

    def make_room(self, rung: Rung) -> None:
        """Cut the blocks that fit, but not next to the headings above them."""
        is_heading = self.kinds == KINDS.index("heading")
        chosen = (self.levels == Level.BOUND) & ~is_heading & (self.lengths <= self.limit)
        for number in np.flatnonzero(chosen).tolist():
            above, length = number - 1, int(self.lengths[number])
            while above >= 0 and is_heading[above]:
                length += int(self.lengths[above])
                above -= 1
            chosen[number] = length > self.limit and self.kinds[number] != KINDS.index("fence")
        self._replace(chosen, rung)

    def cut(self, rung: Rung) -> None:
        """Cut the units that exceed the limit."""
        self._replace(self.is_long(), rung)

    def _is_wider(self, units: Units, characters_per_token: int) -> Mask:
        wide: Mask = units.ends - units.starts > max(LONG_WORD, self.limit * characters_per_token)
        return wide

    def _replace(self, chosen: Mask, rung: Rung) -> None:
        if chosen.any():
            before = self.units
            found, source = cut_by(rung, self.text, TextUnits(before, self.levels, self.kinds), np.flatnonzero(chosen))
            self.units, self.levels, self.kinds = found
            if self.units is before:
                return
            same = (self.units.starts == before.starts[source]) & (self.units.ends == before.ends[source])
            self.origin = self.origin[source]
            self.lengths = np.where(chosen[source] & ~same, -1, self.lengths[source])


def _chosen(units: Units, mask: Mask) -> Units:
    return Units(units.starts[mask], units.ends[mask])
