"""Units that are longer than a limit -> finer units that are not: sentence -> word -> grapheme -> code point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers.measure import Ruler, Scale
from kinsplit.parsers.segment import (
    IntArray,
    Units,
    as_units,
    cut_units,
    cut_units_with_origin,
    graphemes,
    words,
)
from kinsplit.parsers.sentences import detect_language, sentences

# WordPiece reads a word of more than 100 characters as one unknown token, and byte-pair encoders take quadratic time
# on long ones, so such a word is cut before it is measured in tokens.
_LONG_WORD = 100
# No token of prose is this long on average: a unit beyond it is certain to be cut, so it isn't measured.
_CHARACTERS_PER_TOKEN = 100

#: A way to cut a range of a text into units.
Rung = Callable[[str, int, int], Units]


class Refined(NamedTuple):
    """Units that fit, with their lengths.

    Attributes:
        units: The units.
        scale: Their lengths.
        origin: int64[n], for each the number of the unit it was cut from.
    """

    units: Units
    scale: Scale
    origin: IntArray


def ladder(ruler: Ruler, limit: int, language: str) -> list[Rung]:
    """Return the ways to cut a unit that is too long, coarse to fine.

    Args:
        ruler: Measures the units.
        limit: Longest unit allowed.
        language: Language of the sentences, or "auto".
    """
    languages: dict[str, str] = {}

    def by_sentence(text: str, start: int, end: int) -> Units:
        if text not in languages:
            # Detected once for the whole text: its parts may be too short to tell.
            languages[text] = detect_language(text) if language == "auto" else language
        return sentences(text[start:end], languages[text]).shifted(start)

    def by_word(text: str, start: int, end: int) -> Units:
        units = words(text[start:end]).shifted(start)
        long = units.ends - units.starts > _LONG_WORD
        if ruler.unit != "token" or not long.any():
            return units
        return cut_units(text, units, np.flatnonzero(long), lambda t, s, e: as_units(graphemes(t, s, e, _LONG_WORD)))

    def by_grapheme(text: str, start: int, end: int) -> Units:
        return as_units(graphemes(text, start, end, limit if ruler.unit == "character" else 1))

    return [by_sentence, by_word, by_grapheme, _code_points]


def _code_points(text: str, start: int, end: int) -> Units:
    return as_units([(i, i + 1) for i in range(start, end) if not text[i].isspace()])


def refine(
    texts: Sequence[str], units: Sequence[Units], ruler: Ruler, limit: int, rungs: Sequence[Rung]
) -> list[Refined]:
    """Replace every unit that is longer than the limit by the coarsest finer units that are not.

    Args:
        texts: The texts.
        units: The units of each text.
        ruler: Measures the units.
        limit: Longest unit allowed.
        rungs: Ways to cut a unit, coarse to fine.

    Returns:
        For each text the units, none longer than the limit.

    Raises:
        InvalidParameterError: A single code point is longer than the limit.
    """
    units = list(units)
    lengths = [np.full(len(u.starts), -1, dtype=np.int64) for u in units]
    origins = [np.arange(len(u.starts), dtype=np.int64) for u in units]
    for rung in (*rungs, None):
        _measure_new(texts, units, lengths, ruler, limit)
        long = [known > limit for known in lengths]
        if not any(mask.any() for mask in long):
            break
        if rung is None:
            raise InvalidParameterError(
                "chunk_size", f"must hold every single character of the text in {ruler.unit}s", limit, "Raise it."
            )
        for i, mask in enumerate(long):
            if mask.any():
                units[i], source = cut_units_with_origin(texts[i], units[i], np.flatnonzero(mask), rung)
                origins[i] = origins[i][source]
                lengths[i] = np.where(mask[source], -1, lengths[i][source])
    return [Refined(u, ruler.scale(u, known), origin) for u, known, origin in zip(units, lengths, origins, strict=True)]


def _measure_new(
    texts: Sequence[str], units: Sequence[Units], lengths: Sequence[IntArray], ruler: Ruler, limit: int
) -> None:
    bound = max(_LONG_WORD, limit * _CHARACTERS_PER_TOKEN)
    fresh = [known < 0 for known in lengths]
    if ruler.unit == "token":
        for u, known, new in zip(units, lengths, fresh, strict=True):
            huge = new & (u.ends - u.starts > bound)
            known[huge] = limit + 1
            new &= ~huge
    some = [Units(u.starts[new], u.ends[new]) for u, new in zip(units, fresh, strict=True)]
    for known, new, found in zip(lengths, fresh, ruler.lengths(texts, some), strict=True):
        known[new] = found
