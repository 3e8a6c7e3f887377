"""Where Punkt ends sentences (Kiss & Strunk 2006, *Unsupervised Multilingual Sentence Boundary Detection*)."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kinsplit.parsers.units.graphemes import skip_space

if TYPE_CHECKING:
    from punkt import LanguageVars


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


#: Languages with a Punkt model, by ISO 639-1 code.
PUNKT_LANGUAGES = {
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "fi": "finnish",
    "fr": "french",
    "it": "italian",
    "ml": "malayalam",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
    "sl": "slovene",
    "sv": "swedish",
    "tr": "turkish",
}
_GLUED_QUOTE = re.compile(r"[“”’»«›‹]+(\s*)")


@functools.cache
def punkt_of(language: str) -> Punkt:
    """Return the decisions of a language in `PUNKT_LANGUAGES`, whose model is loaded once."""
    return Punkt(language)


class Punkt:
    """Punkt's decisions, evaluated only where a sentence could end and, where they are plain, without its machinery."""

    def __init__(self, language: str) -> None:
        import punkt

        name = PUNKT_LANGUAGES[language]
        model, rules = punkt.load_model(name), _rules(name)
        words = punkt.PunktWordTokenizer(rules)
        # One pattern for each stop, since a search for a literal is several times as fast as for a class.
        after = f"(?={rules.non_word_char_class}|\\s+\\S)"
        self._candidate = [re.compile(re.escape(stop) + after) for stop in rules.sent_end_chars]
        self._dotted = re.compile(rules.multi_char_punct_pattern)
        self._closing = re.compile(rules.boundary_realignment_pattern, re.MULTILINE)
        self._stops = re.compile(f"{rules.sent_end_char_class}+")
        self._non_word = re.compile(rules.non_word_char_class)
        # A word that is none of these ends its sentence when a full stop follows it.
        self._abbreviations = abbreviations(language)
        self._doubtful = self._abbreviations.words.union(model.abbrev_types, (first for first, _ in model.collocations))
        self._number_breaks = "##number##" not in self._doubtful

        @functools.lru_cache(maxsize=1 << 16)
        def decide(context: str) -> bool:
            tokens = punkt.annotate_tokens(words.tokenize_annotated(context), model, rules)
            broken = False
            for token in tokens:
                if broken:
                    return True
                broken = bool(token.sentbreak)
            return False

        self._decide: Callable[[str], bool] = decide

    def starts(self, text: str, join_speech: bool) -> list[int]:
        """Return where each sentence but the first begins."""
        starts = []
        for end, following in pairwise([*self._ends(text), len(text.rstrip())]):
            begin, closing = skip_space(text, end), None
            if text[begin : begin + 1].isalnum():
                starts.append(begin)
                continue
            if self._stops.fullmatch(text, begin, following):
                # A sentence of full stops alone ("acting! !!") is the tail of the one before it.
                continue
            if begin > end and text[begin] in "«‹":
                # Behind white space it opens a quotation, though Punkt takes it for one that closes.
                pass
            elif closing := self._closing.match(text, begin):
                begin = closing.end()
            elif begin == end and (closing := _GLUED_QUOTE.match(text, begin)):
                # What stands right behind a full stop closes, also “ and « where other languages open with them.
                begin = closing.end()
                if begin < len(text) and not closing[1]:
                    continue
            if join_speech and closing and text[end - 1] in "?!" and text[begin : begin + 1].islower():
                continue
            starts.append(begin)
        return starts

    def _ends(self, text: str) -> list[int]:
        """Return where sentences end, before what closes them."""
        ends: list[int] = []
        doubtful = self._doubtful
        for word, place in self._candidates(text):
            last = text[word:place]
            # Most are of this kind, and don't pay for a call.
            plain = text[place] != "." or (last.isalpha() and len(last) > 1 and last.lower() not in doubtful)
            if plain or self._full_stop_ends(text, word, place):
                ends.append(place + 1)
        return ends

    def _candidates(self, text: str) -> list[tuple[int, int]]:
        """Return where a sentence could end, each stop with the start of its word."""
        dotted: set[int] = set()
        if re.search(r"\.\s\.", text):
            dotted = {i for m in self._dotted.finditer(text) for i in range(m.start(), m.end() - 1)}
        find_space = text.rfind
        # Punkt splits words at ASCII white space only.
        others = [s for s in "\n\t\r\x0b\x0c" if s in text]
        found: list[tuple[int, int]] = []
        word = before = 0
        pending = False
        for place in sorted([match.start() for stop in self._candidate for match in stop.finditer(text)]):
            if place in dotted:
                continue
            space = find_space(" ", before, place)
            for other in others:
                space = max(space, find_space(other, max(space, before), place))
            # Of several stops in one word ("acting!!!", "a.b.c.") only the last can end the sentence.
            if pending and (space > before or word == before):
                found.append((word, before))
            if space > before:
                word = space + 1
            before, pending = place, True
        if pending:
            found.append((word, before))
        return found

    def _full_stop_ends(self, text: str, word: int, place: int) -> bool:
        last, after = text[word:place], skip_space(text, place + 1)
        if not last:
            if after > place + 1:
                return True
        elif len(last) > 1:
            if last.isdecimal():
                # A number keeps its full stop ("2. Bundesliga") only before a word in lower case or punctuation.
                if self._number_breaks and text[after].isupper():
                    return True
            elif self._non_word.match(last[-1]):
                return True
        if self._abbreviations.go_on(text, word, place, after):
            return False
        stop = after + 1
        if after > place + 1:
            while stop < len(text) and not text[stop].isspace():
                stop += 1
        return self._decide(text[word:stop])


def _rules(name: str) -> LanguageVars:
    import punkt

    try:
        return punkt.rules_for_language(name)
    except LookupError:
        return punkt.DEFAULT_LANGUAGE_VARS
