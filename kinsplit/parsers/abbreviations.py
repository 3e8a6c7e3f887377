"""Abbreviations that Punkt's models don't know, or know and still end a sentence with.

Three kinds, by what has to follow for the sentence to go on. Behind a full stop inside an entry a space may stand.
"""

from __future__ import annotations

import functools
import re
import string
from typing import NamedTuple

# Anything: they need something that they belong to.
_OPEN = {
    "en": "e.g i.e cf viz vs Dr Mr Mrs Ms Prof",
    "de": "z.B d.h vgl bzw sog ggf Dr Prof",
    "es": "p.ej Sr Sra Srta Dr Dra Ud Uds EE cf",
    "fr": "p.ex c.-à-d cf M MM Mme Mmes Mlle Dr Pr",
    "it": "p.es es sig dott prof cfr",
    "nl": "bijv d.w.z m.a.w dr prof mevr",
    "pt": "p.ex Sr Sra Dr Dra Prof cf",
}
# A number.
_COUNTED = {
    "en": "No Nos Fig Figs p pp Vol Vols Ch Chap Sec Sect Eq Eqs Ref Refs Tab approx ca al",
    "de": "Abb Nr S Bd Kap Tab Art Abs Gl Ziff Fn ca al",
    "es": "fig figs pág págs núm art cap vol p pp aprox al",
    "fr": "fig no art p pp vol chap éq tab env al",
    "it": "fig n pag pagg art cap vol p pp ca al",
    "nl": "nr blz fig hfst art p pp ca al",
    "pt": "fig figs pág págs art cap vol p pp al",
}
# A word in lower case.
_TRAILING = {
    "en": "etc approx esp incl resp ed eds al",
    "de": "usw etc ff evtl inkl ca al",
    "es": "etc aprox al",
    "fr": "etc env al",
    "it": "ecc etc al",
    "nl": "enz etc al",
    "pt": "etc al",
}

_NUMBER = re.compile(r"[(#]?[A-Z]?\d|[IVXLC]{2,}\b")
_BEFORE = string.punctuation + "“”„«»‘’‚›‹–—…\u00a0"
_LONGEST = 16


class Abbreviations(NamedTuple):
    """The abbreviations of a language, in lower case and without their last full stop.

    Attributes:
        open: Those behind which a sentence goes on whatever follows.
        counted: Those behind which it goes on before a number.
        trailing: Those behind which it goes on before a word in lower case.
        parts: What stands before the full stops of those that have several.
        spaced: Matches those, with their last full stop, written with or without spaces.
    """

    open: frozenset[str]
    counted: frozenset[str]
    trailing: frozenset[str]
    parts: frozenset[str]
    spaced: re.Pattern[str]

    @property
    def words(self) -> frozenset[str]:
        """All that may stand before a full stop which these rules judge."""
        return self.open | self.counted | self.trailing | self.parts

    def go_on(self, text: str, word: int, place: int, after: int) -> bool:
        """Whether a sentence goes on inside or behind an abbreviation.

        Args:
            text: The text.
            word: Where the word before the full stop begins.
            place: Of the full stop.
            after: Where the next word begins.
        """
        if not place + 1 < after < len(text):
            return False
        entry = text[word:place].lstrip(_BEFORE).lower()
        if entry in self.parts:
            for match in self.spaced.finditer(text, max(0, place - _LONGEST), place + _LONGEST):
                if match.start() < place < match.end() - 1:
                    return True
                if place == match.end() - 1:
                    entry = "".join(match[1].split()).lower()
        if entry in self.open:
            return True
        if entry in self.counted and _NUMBER.match(text, after):
            return True
        return entry in self.trailing and text[after].islower()


@functools.cache
def abbreviations(language: str) -> Abbreviations:
    """Return the abbreviations of a language, by ISO 639-1 code; none where Punkt has to know them all."""
    kinds = [kind.get(language, "").split() for kind in (_OPEN, _COUNTED, _TRAILING)]
    several = [entry for kind in kinds for entry in kind if "." in entry]
    forms = "|".join(re.escape(entry).replace(r"\.", r"\.\s?") for entry in several) or "(?!)"
    anything, counted, trailing = (frozenset(map(str.lower, kind)) for kind in kinds)
    return Abbreviations(
        anything,
        counted,
        trailing,
        parts=frozenset(part.lower() for entry in several for part in entry.split(".")),
        spaced=re.compile(rf"(?<![\w.'’])({forms})\.", re.IGNORECASE),
    )
