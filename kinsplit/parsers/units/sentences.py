"""Sentences of a text, offline, in a given or detected language.

Punkt (Kiss & Strunk 2006, *Unsupervised Multilingual Sentence Boundary Detection*) handles the languages for which it
has a model, with some added abbreviations. A text in any other language is split by the rules of Unicode; if its
language is named and the extra `languages` is installed, by sentencex. What a text of unnamed language becomes thus
depends on the text alone, and its chunks and their ids are the same on every machine.

In every language, a blank line ends a sentence, and so do the marks that only end sentences, such as those of Hindi,
Khmer or Chinese. In scripts without spaces between words, lines aren't wrapped at spaces, so each line break ends a
sentence.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator
from importlib import import_module, metadata
from importlib.util import find_spec
from itertools import pairwise
from types import ModuleType

import regex

from kinsplit.errors import KinsplitWarning
from kinsplit.parsers.units import uax29
from kinsplit.parsers.units.languages import OTHER, detect_language
from kinsplit.parsers.units.punkt import PUNKT_LANGUAGES, image_marks, punkt_of
from kinsplit.parsers.units.segment import UNSPACED, Units, as_units
from kinsplit.text.graphemes import grapheme_floor, trimmed, with_line_feeds
from kinsplit.tokenizers import replace_surrogates

_LINE = re.compile(r"\n\s*")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
# Marks that end a sentence wherever they stand, unlike those of Latin letters.
_MARK = regex.compile(rf"(?V1)[[{uax29.TERMINALS}．]--[!?‼‽⁇⁈⁉]]")
_CLOSING = r"[\"'”’»」』）)\]]*\s*"
_ONLY_STOPS = regex.compile(rf"[\s.?!{uax29.TERMINALS}]+")
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
    """Return the name of what finds sentences, with its version where that isn't kinsplit's own.

    Args:
        language: "auto" or an ISO 639-1 code.
    """
    if language == "auto":
        return "punkt, uax29"  # whichever the text itself asks for
    if language in PUNKT_LANGUAGES:
        return "punkt"
    return f"sentencex {metadata.version('sentencex')}" if _sentencex() else "uax29"


def sentences(text: str, language: str = "auto", *, join_speech: bool = True) -> Units:
    """Return the sentences of a text.

    Args:
        text: The text.
        language: ISO 639-1 code, `OTHER`, or "auto" to detect it (see `detect_language`).
        join_speech: Whether a quoted question or exclamation and the lower-case words after it are one sentence
            (`"Is it?" she asked.`). Punkt itself splits them.

    Returns:
        Spans of the sentences, without the white space between them.
    """
    if language == "auto":
        language = detect_language(text)
    lines = with_line_feeds(text)
    certain = [m.end() for m in _BLANK_LINE.finditer(lines)]
    if not text.isascii():
        certain = sorted({*certain, *_marked_ends(text), *(() if language in PUNKT_LANGUAGES else _lines(lines))})
    if language in PUNKT_LANGUAGES:
        starts = [0, *punkt_of(language).starts(text, join_speech)]
    else:
        _warn_without_extra()
        inside = {mark + 1 for mark in image_marks(text)}
        by_name = None if language == OTHER else _sentencex()
        found = _sentencex_starts(by_name, text, language, certain) if by_name else uax29.starts(lines)
        starts = [0, *(start for start in found if start not in inside)]
    if certain:
        starts = sorted({*starts, *certain})
    if not text.isascii():
        starts = [
            s for s in starts if not 0 < s < len(text) or text[s - 1].isspace() or grapheme_floor(text, s, 0) == s
        ]
    return _between(text, starts)


def _between(text: str, starts: list[int]) -> Units:
    spans: list[tuple[int, int]] = []
    for cut in pairwise([*starts, len(text)]):
        start, end = trimmed(text, *cut)
        if start == end:
            continue
        if spans and not text[start].isalnum() and _ONLY_STOPS.fullmatch(text, start, end):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return as_units(spans)


def _marked_ends(text: str) -> Iterator[int]:
    """Yield the ends of sentences behind marks that only end sentences."""
    # Most texts have none, and a class of single characters is searched for much faster than one of properties.
    marks = "".join(sorted(character for character in set(text) if _MARK.match(character)))
    return (match.end() for match in re.finditer(f"[{marks}]+{_CLOSING}", text)) if marks else iter(())


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
