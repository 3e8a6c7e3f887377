"""Sentences of a text, offline, in a given or detected language.

Punkt (Kiss & Strunk 2006, *Unsupervised Multilingual Sentence Boundary Detection*) handles the languages for which it
has a model, with some added abbreviations. A text in any other language is split by the rules of Unicode; if its
language is named and the extra `languages` is installed, by sentencex. What a text of unnamed language becomes thus
depends on the text alone, and its chunks and their ids are the same on every machine.

In every language, a blank line ends a sentence, and so do the marks that only end sentences, such as those of Hindi,
Khmer or Chinese. In scripts without spaces between words, lines aren't wrapped at spaces, so each line break ends a
sentence. An enumerator (`2.1.`, `(a)`) begins a sentence and never ends one, even before a blank line, and marks that
close a sentence stay with it (`so.[1]`): they are hidden from what finds the ends (see `kinsplit.text.marks`).

Units of a text as arrays of spans, and words. A unit is a span without white space at its edges. Units never overlap
and together contain every character that is not white space, so chunks made of units can't lose text.

The rules of Unicode are those of Unicode Standard Annex #29, section 5. The annex asks to tailor its rules to the kind
of text. Here, the end of a line is a space, since lines are wrapped; a word of a single letter with a full stop is an
abbreviation (`T. Shevchenko`), and so is one in Latin letters that a letter of any script follows without a space
(`Inc.公司`); a bracket or quotation mark that opens directly behind a stop begins the next sentence (`so.“No.”`); an
enumerator begins one also before a word in lower case (`(a) the price`); emphasis may close one (`_so._`); and the
marks of Tibetan and Thai, which to Unicode are punctuation only, end sentences, too.
"""

from __future__ import annotations

import functools
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from importlib.util import find_spec
from itertools import chain, pairwise
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from kinsplit.errors import KinsplitWarning
from kinsplit.parsers.units.languages import OTHER, detect_language
from kinsplit.parsers.units.punkt import PUNKT_LANGUAGES, image_marks, punkt_of
from kinsplit.spans import Span, replace_surrogates
from kinsplit.text.graphemes import CLUSTER, PLAIN, code_points, grapheme_floor, is_space, trim, with_line_feeds
from kinsplit.text.marks import NEVER_LAST, TERMINALS, bracketed, enumerator_start, item_starts, without_closing_marks

_EXTEND = r"[\p{SB=Extend}\p{SB=Format}]*+"  # SB5: they belong to the character before them
_CLOSE = r"(?:[\p{SB=Close}--[\p{Ps}\p{Pi}]]|\p{Pi}(?!\w))"  # some languages close with “, others open with it
_BLANK = r"\p{SB=Sp}\p{SB=Sep}\r\n"
# SB9 to SB11: closing marks and spaces go with the sentence before them. Patterns that few texts need are compiled when
# they are first needed.
_stop = functools.cache(
    lambda: regex.compile(
        rf"(?V1)(?:(?P<dot>\p{{SB=ATerm}})|[{TERMINALS}]){_EXTEND}"
        rf"(?P<closing>(?:(?:{_CLOSE}|_(?!\w)){_EXTEND})*+)(?P<space>(?:[{_BLANK}]{_EXTEND})*+)"
    )
)
# SB8a: the sentence goes on at another stop, or at a comma, a colon or a dash.
_NEXT_STOP = regex.compile(rf"[\p{{SB=ATerm}}{TERMINALS}]")
_CONTINUATION = regex.compile(r"\p{SB=SContinue}")
# An item of a list or of a dialogue that begins a line.
_ITEM = regex.compile(r"[-*+•‣·–—]")
# SB6 to SB8: it goes on behind a full stop inside a number or a word, or before a word in lower case.
_NUMBER = regex.compile(r"\p{SB=Numeric}")
_CASED = regex.compile(r"[\p{SB=Upper}\p{SB=Lower}]")
_LOWER = regex.compile(rf"[^\p{{SB=OLetter}}\p{{SB=Upper}}\p{{SB=Lower}}\p{{SB=ATerm}}{TERMINALS}]*+\p{{SB=Lower}}")
_LETTER = regex.compile(r"\p{L}")
_PART = regex.compile(r"[\p{L}\p{M}\p{N}\p{S}]")  # of a word or of a unit, such as °C
_COMBINING = regex.compile(r"[\p{SB=Extend}\p{SB=Format}]")


def unicode_starts(text: str) -> list[int]:
    """Return the starts of all sentences except the first, in linear time."""
    found = []
    for stop in _stop().finditer(text):
        end = stop.end()
        if end == len(text) or _NEXT_STOP.match(text, end):
            continue
        if not (stop["space"] and (bracketed().match(text, end) or ("\n" in stop["space"] and _ITEM.match(text, end)))):
            if _CONTINUATION.match(text, end):
                continue
            if stop["dot"] and _goes_on(text, stop.start(), end, inside=not (stop["closing"] or stop["space"])):
                continue
        found.append(end)
    return found


def _goes_on(text: str, dot: int, end: int, *, inside: bool) -> bool:
    """Return whether a sentence goes on behind a full stop."""
    letter = dot - 1
    while letter > 0 and _COMBINING.match(text, letter):
        letter -= 1
    if dot and _LETTER.match(text, letter) and not (letter and _PART.match(text, letter - 1)):
        return True
    if inside and _NUMBER.match(text, end):
        return True
    if inside and dot and _LETTER.match(text, end) and _CASED.match(text, letter):
        return True
    return _LOWER.match(text, end) is not None


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
_SEGMENT_PIECE = 1 << 18


class Units(NamedTuple):
    """Units in document order as two arrays."""

    starts: IntArray  # int64[n], first code point of each unit.
    ends: IntArray  # int64[n], one past the last code point of each unit.

    def shifted(self, by: int) -> Units:
        """Return the units with all offsets increased by `by`."""
        return Units(self.starts + by, self.ends + by)

    def spans(self) -> list[Span]:
        """Return the units as spans."""
        return [Span(start, end) for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]


def as_units(spans: list[Span] | list[tuple[int, int]]) -> Units:
    """Return spans as `Units`."""
    pairs = np.fromiter(chain.from_iterable(spans), dtype=np.int64, count=2 * len(spans)).reshape(-1, 2)
    return Units(pairs[:, 0], pairs[:, 1])


def runs(text: str) -> Units:
    """Return the runs of characters between white space, as in `str.split`."""
    return _joined(text, lambda piece: _runs(is_space(code_points(piece))))


def _joined(text: str, find: Callable[[str], Units]) -> Units:
    """Return the units of a text, found piece by piece: arrays that fit into the CPU cache are three times as fast."""
    pieces, start = [], 0
    while start < len(text):
        space = _SPACE_CHARACTER.search(text, start + _SEGMENT_PIECE)
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
    if text.isascii() or not any(map(_UNSPACED.match, _others(text))):
        return found
    unspaced, plain = _kinds(points)
    before_unspaced, before_plain = _shifted(unspaced), _shifted(plain)
    # There is always a boundary between two plain characters; other runs are cut cluster by cluster.
    inner = np.flatnonzero((unspaced | before_unspaced) & plain & before_plain & ~space & ~_shifted(space))
    units = Units(_merged(found.starts, inner), _merged(found.ends, inner))
    clustered = np.flatnonzero((unspaced | before_unspaced) & ~(plain & before_plain) & ~space)
    numbers = np.searchsorted(units.ends, clustered, side="right")
    cut = numbers[np.diff(numbers, prepend=-1) > 0]
    return cut_units(text, units, cut, lambda *part: as_units([m.span() for m in _UNSPACED_WORDS.finditer(*part)]))[0]


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


def cut_units(
    text: str, units: Units, numbers: IntArray, cut: Callable[[str, int, int], Units]
) -> tuple[Units, IntArray]:
    """Replace numbered units by the finer ones that `cut` returns, and return the number of each unit's original."""
    spans = zip(units.starts[numbers].tolist(), units.ends[numbers].tolist(), strict=True)
    pieces = [cut(text, start, end) for start, end in spans]
    if all(len(piece.starts) == 1 for piece in pieces):
        return units, np.arange(len(units.starts), dtype=np.int64)
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
    for start, end in units.spans():
        inside = offsets[bisect_right(offsets, start) : bisect_left(offsets, end)]
        for s, e in zip([start, *inside], [*inside, end], strict=True):
            if span := trim(text, s, e):
                spans.append(span)
    return as_units(spans)


_LINE = re.compile(r"\n\s*")
# Marks that end a sentence wherever they stand, unlike those of Latin letters.
_MARK = regex.compile(rf"(?V1)[[{TERMINALS}．]--[!?‼‽⁇⁈⁉]]")
_CLOSING = r"[\"'”’»」』）)\]]*\s*"
# A full stop of full width inside a number or behind an abbreviation of it ("３．１４").
_INSIDE_NUMBER = re.compile(r"．(?<=[\dA-Za-zＡ-Ｚａ-ｚ]．)(?=\d)")
# Behind a closing mark: a comma, or what continues a sentence in Japanese ("と" in "「…。」と言った") or Korean.
_speech = functools.cache(
    lambda: re.compile(
        r"[、，,]|と(?!ころ[がで]|にかく|ても|りあえず|もかく|もあれ|たんに|きどき|なり)|って|など|なんて|です|でした|だ(?:と|った)"
        r"|[をがのはにもへや](?=[一-鿿ァ-ヴ、「『])|이?라[고는며]|하[고며]\s"
    )
)
_CLOSER = regex.compile(r"[\p{Pe}\p{Pf}]")
# Last characters but one of most enumerators that end with a full stop; the others have a single letter there.
_LAST_OF_ENUMERATOR = frozenset("0123456789)ivxIVXABCD")
# A sentence so short may be an enumerator without a full stop ("§ 3", "**Article XII**").
_SHORT = 20
_ONLY_STOPS = regex.compile(rf"[\s.?!{TERMINALS}]+")
_is_stop = functools.lru_cache(maxsize=1 << 14)(_ONLY_STOPS.match)
# In these scripts, and in their punctuation, words aren't spaced.
_UNSPACED_LINE = regex.compile(rf"[{UNSPACED}\u3000-\u303f\uff00-\uffef]")
_PIECE = 1000
_WINDOW = 4_000


class SentenceWarning(KinsplitWarning):
    """Sentences are found by the rules of Unicode, since the extra `languages` is not installed."""

    def __str__(self) -> str:
        return (
            "language: where Punkt has no model of the language, sentences are found by the rules of Unicode, which "
            'know hardly any abbreviation. For rules of the language itself, name it, as in language="uk", and run: '
            'pip install "kinsplit[languages]"'
        )


def sentence_splitter(language: str) -> str:
    """Return the name of what finds sentences, with its version where that isn't kinsplit's own."""
    if language == "auto":
        return "punkt, uax29"  # whichever the text itself asks for
    if language in PUNKT_LANGUAGES:
        return "punkt"
    return f"sentencex {metadata.version('sentencex')}" if _sentencex() else "uax29"


def sentences(text: str, language: str = "auto", *, join_speech: bool = True) -> Units:
    """Return the sentences of a text, without the white space between them.

    Args:
        text: The text.
        language: ISO 639-1 code, `OTHER`, or "auto" to detect it (see `detect_language`).
        join_speech: Whether a quoted question or exclamation and the lower-case words after it are one sentence (`"Is
            it?" she asked.`), and a quotation and the comma after it (`"No.", he said.`). Punkt itself splits them.
    """
    if language == "auto":
        language = detect_language(text)
    others = _others(text)
    plain = without_closing_marks(with_line_feeds(text), others)
    certain = item_starts(plain)
    if others:
        unspaced = () if language in PUNKT_LANGUAGES else _lines(plain)
        certain = sorted({*certain, *_marked_ends(plain, others), *unspaced})
    if language in PUNKT_LANGUAGES:
        starts = [0, *punkt_of(language).starts(plain, join_speech)]
    else:
        _warn_without_extra()
        inside = {mark + 1 for mark in image_marks(plain)}
        by_name = None if language == OTHER else _sentencex()
        found = _sentencex_starts(by_name, plain, language, certain) if by_name else unicode_starts(plain)
        starts = [0, *(start for start in found if start not in inside)]
    if certain:
        starts = sorted([*starts, *certain])
    if others:
        starts = [s for s in starts if not s or text[s - 1].isspace() or _may_begin(text, s)]
    return _between(text, starts)


def _between(text: str, starts: list[int]) -> Units:
    """Return the units between their starts; an enumerator at the end of one belongs to the next."""
    firsts: list[int] = []
    ends: list[int] = []
    last, begun = len(text.rstrip()), -1
    for start, end in pairwise([*starts, len(text)]):
        if start < end and text[end - 1].isspace():
            end -= 1
            if text[end - 1].isspace():
                end = start + len(text[start:end].rstrip())
        if start >= end:
            continue
        if not text[start].isalnum():
            if text[start].isspace():
                start = end - len(text[start:end].lstrip())
            if begun < 0 and ends and _is_stop(text[start]) and _ONLY_STOPS.fullmatch(text, start, end):
                ends[-1] = end
                continue
        if begun >= 0:
            start, begun = begun, -1
        if end < last and (
            text[end - 2] in _LAST_OF_ENUMERATOR or end < 3 or not text[end - 3].isalnum()
            if text[end - 1] == "."
            else end - start < _SHORT and (text[end - 1] not in NEVER_LAST or text[end - 2].isdecimal())
        ):
            at = enumerator_start(text, start, end)
            begun, end = (at, start + len(text[start:at].rstrip())) if at < end else (-1, end)
        if start < end:
            firsts.append(start)
            ends.append(end)
    return Units(np.array(firsts, dtype=np.int64), np.array(ends, dtype=np.int64))


def _others(text: str) -> list[str]:
    """Return the characters of a text outside ASCII."""
    if text.isascii():
        return []
    points = code_points(text)
    found = points[np.flatnonzero(points >= 0x80)]
    is_found = np.zeros(int(found.max()) + 1, dtype=np.bool_)
    is_found[found] = True
    return [chr(point) for point in np.flatnonzero(is_found).tolist()]


def _may_begin(text: str, start: int) -> bool:
    """Return whether a sentence may begin without a space before it: nothing goes on, and no grapheme is cut."""
    if _INSIDE_NUMBER.match(text, start - 1) or (_speech().match(text, start) and _CLOSER.match(text, start - 1)):
        return False
    return grapheme_floor(text, start, 0) == start


def _marked_ends(text: str, others: list[str]) -> Iterator[int]:
    """Yield the ends of sentences behind marks that only end sentences."""
    # Most texts have none, and a class of single characters is searched for much faster than one of properties.
    marks = "".join(sorted(filter(_MARK.match, others)))
    for found in re.finditer(f"[{marks}]+{_CLOSING}", text) if marks else ():
        if not _INSIDE_NUMBER.match(text, found.start()):
            yield found.end()


def _lines(text: str) -> Iterator[int]:
    """Yield the ends of lines where words aren't spaced."""
    for end in _LINE.finditer(text):
        last = end.start()
        while last and text[last - 1].isspace():
            last -= 1
        if (last and _UNSPACED_LINE.match(text, last - 1)) or _UNSPACED_LINE.match(text, end.end()):
            yield end.end()


@functools.cache
def _sentencex() -> ModuleType | None:
    """Return the library with rules for many languages, if it is installed."""
    try:
        return import_module("sentencex")
    except ModuleNotFoundError:
        return None


@functools.cache
def _warn_without_extra() -> None:
    """Warn once per process if the rules of a language can't be had."""
    if find_spec("sentencex") is None:
        warnings.warn(SentenceWarning(), stacklevel=1)


def _sentencex_starts(sentencex: ModuleType, text: str, language: str, certain: list[int]) -> Iterator[int]:
    # Rust requires valid Unicode; one-to-one replacement keeps the offsets.
    valid = replace_surrogates(text)
    # Without white space between sentences, sentencex takes quadratic time, so it gets the text in pieces that end
    # at certain sentence ends.
    start = 0
    for end in [*certain, len(text)]:
        if end - start >= _PIECE or end == len(text):
            yield from _starts_between(sentencex, valid, language, start, end)
            start = end


def _starts_between(sentencex: ModuleType, text: str, language: str, start: int, end: int) -> Iterator[int]:
    """Yield the starts of the sentences in a range, which is read in windows."""
    is_first = True
    while start < end:
        stop = min(end, start + _WINDOW)
        found = [start + int(s["start_index"]) for s in sentencex.get_sentence_boundaries(language, text[start:stop])]
        yield from found if is_first else found[1:]
        # The next window begins with the last sentence, which this window may have cut.
        start, is_first = (found[-1] if len(found) > 1 and stop < end else stop), False
