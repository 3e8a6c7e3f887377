"""Punkt: sentences by models of words, one per language.

Kiss & Strunk decide in two passes over the words around a full stop: the first looks at each word by itself, the
second at the word that follows. The models are those of NLTK's data package punkt_tab; `punkt_models/NOTICE` names
their source and licence. Of the letter case in which a word was seen, they keep what the second pass asks.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
import string
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from kinsplit.text.graphemes import skip_space

# Abbreviations that never end a sentence.
_OPEN = {
    "en": "e.g i.e cf viz vs Dr Mr Mrs Ms Prof",
    "de": "z.B d.h vgl bzw sog ggf Dr Prof",
    "es": "p.ej Sr Sra Srta Dr Dra Ud Uds EE cf",
    "fr": "p.ex c.-à-d cf M MM Mme Mmes Mlle Dr Pr",
    "it": "p.es es sig dott prof cfr",
    "nl": "bijv d.w.z m.a.w dr prof mevr",
    "pt": "p.ex Sr Sra Dr Dra Prof cf",
}
# Abbreviations that don't end a sentence before a number.
_COUNTED = {
    "en": "No Nos Fig Figs p pp Vol Vols Ch Chap Sec Sect Eq Eqs Ref Refs Tab Abs Art Arts Cl Para Paras approx ca al",
    "de": "Abb Nr S Bd Kap Tab Art Abs Gl Ziff Fn ca al",
    "es": "fig figs pág págs núm art cap vol p pp aprox al",
    "fr": "fig no art p pp vol chap éq tab env al",
    "it": "fig n pag pagg art cap vol p pp ca al",
    "ru": "гл п пп рис ст стр табл ч",
    "nl": "nr blz fig hfst art p pp ca al",
    "pt": "fig figs pág págs art cap vol p pp al",
}
# Abbreviations that don't end a sentence before a lower-case word.
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
    """Abbreviations of a language, in lower case and without the last full stop."""

    open: frozenset[str]  # Abbreviations that never end a sentence.
    counted: frozenset[str]
    trailing: frozenset[str]
    parts: frozenset[str]
    spaced: re.Pattern[str]

    @property
    def words(self) -> frozenset[str]:
        """All words whose full stops these rules may judge."""
        return self.open | self.counted | self.trailing | self.parts

    def continues(self, text: str, word: int, dot: int, after: int) -> bool:
        """Return whether a sentence continues after a full stop because of an abbreviation."""
        if not dot + 1 < after < len(text):
            return False
        entry = text[word:dot].lstrip(_BEFORE).lower().replace("’", "'").rpartition("'")[2]  # "l'art." is "art."
        if entry in self.parts:
            for match in self.spaced.finditer(text, max(0, dot - _LONGEST), dot + _LONGEST):
                if match.start() < dot < match.end() - 1:
                    return True
                if dot == match.end() - 1:
                    entry = "".join(match[1].split()).lower()
        if entry in self.open:
            return True
        if entry in self.counted and _NUMBER.match(text, after):
            return True
        return entry in self.trailing and text[after].islower()


@functools.cache
def abbreviations(language: str) -> Abbreviations:
    """Return the abbreviations of a language by ISO 639-1 code; empty if there are none besides Punkt's own."""
    kinds = [kind.get(language, "").split() for kind in (_OPEN, _COUNTED, _TRAILING)]
    several = [entry for kind in kinds for entry in kind if "." in entry]
    forms = "|".join(re.escape(entry).replace(r"\.", r"\.\s?") for entry in several) or "(?!)"
    anything, counted, trailing = (frozenset(map(str.lower, kind)) for kind in kinds)
    parts = frozenset(part.lower() for entry in several for part in entry.split("."))
    spaced = re.compile(rf"(?<![\w.'’])({forms})\.", re.IGNORECASE)
    return Abbreviations(anything, counted, trailing, parts, spaced)


_PAIRS = (
    "cs:czech da:danish de:german el:greek en:english es:spanish et:estonian fi:finnish fr:french it:italian "
    "ml:malayalam nb:norwegian nl:dutch nn:norwegian no:norwegian pl:polish pt:portuguese ru:russian sl:slovene "
    "sv:swedish tr:turkish"
)
#: Names of the languages with a Punkt model, by ISO 639-1 code.
PUNKT_LANGUAGES = {code: name for code, _, name in (pair.partition(":") for pair in _PAIRS.split())}
# The mark before the brackets of an image in Markdown, also of one that is a link.
_IMAGE_MARK = re.compile(r"!\[(?<![^\s(\[]!\[)")
# As in `RUN`, but it begins with a literal, which makes the search fast.
_DOTTED = re.compile(r"\.(?:\.+|(?:\s\.){2,})")
_SOLID = re.compile(r"\S*")
_GLUED_QUOTE = re.compile(r"[“”’»«›‹]+(\s*)")
# Those that close before a comma or the like, and not before a word, which they would open.
_GLUED_CLOSING = re.compile(r"[\"')\]}]+(?![\w\s])")


def image_marks(text: str) -> set[int]:
    """Return the offsets of the exclamation marks that begin images in Markdown, and end no sentence."""
    return {match.start() for match in _IMAGE_MARK.finditer(text)}


class Punkt:
    """Fast evaluation of Punkt: only at possible sentence ends, and in simple cases without its tokens."""

    def __init__(self, language: str) -> None:
        name = PUNKT_LANGUAGES[language]
        model, rules = model_of(name), rules_of(name)
        # One pattern per stop, since searching for a literal is several times as fast as for a class.
        after = f"(?={rules.non_word}|\\s+\\S)"
        self._candidate = [re.compile(re.escape(stop) + after) for stop in rules.ends]
        self._closing = re.compile(CLOSING, re.MULTILINE)
        self._marks, self._stops = rules.ends, re.compile(f"{rules.end}+")
        self._non_word = re.compile(rules.non_word)
        # A full stop after any other word ends the sentence.
        self._abbreviations = abbreviations(language)
        first_words = (first for first, _ in model.collocations)
        self._doubtful = self._abbreviations.words.union(model.abbreviations, first_words)
        self._number_breaks = "##number##" not in self._doubtful
        self._decide = functools.lru_cache(maxsize=1 << 16)(model.ends_inside)

    def starts(self, text: str, join_speech: bool) -> list[int]:
        """Return the starts of all sentences except the first."""
        starts = []
        for end, following in pairwise([*self._ends(text), len(text.rstrip())]):
            if text[end].isspace() and text[end + 1].isalnum():
                starts.append(end + 1)
                continue
            begin, closing = skip_space(text, end), None
            if text[begin : begin + 1].isalnum():
                starts.append(begin)
                continue
            if text[begin : begin + 1] in self._marks and self._stops.fullmatch(text, begin, following):
                # A sentence of stops alone ("acting! !!") belongs to the previous one.
                continue
            if begin > end and text[begin] in "«‹":
                # After white space, it opens a quotation, although Punkt treats it as closing.
                pass
            elif closing := self._closing.match(text, begin):
                begin = closing.end()
            elif begin == end and (closing := _GLUED_QUOTE.match(text, begin)):
                # Directly after a full stop, quotation marks close, even those that open in other languages.
                begin = closing.end()
                if begin < len(text) and not closing[1]:
                    continue
            elif join_speech and begin == end and _GLUED_CLOSING.match(text, begin):
                continue
            if join_speech and closing and text[end - 1] in "?!" and text[begin : begin + 1].islower():
                continue
            starts.append(begin)
        return starts

    def _ends(self, text: str) -> list[int]:
        """Return the ends of sentences, before closing quotation marks and brackets."""
        inside = image_marks(text).union(i for m in _DOTTED.finditer(text) for i in range(m.start(), m.end() - 1))
        stops = sorted([match.start() for mark in self._candidate for match in mark.finditer(text)])
        if inside:
            stops = [stop for stop in stops if stop not in inside]
        # Punkt splits words at ASCII white space only.
        spaced = functools.reduce(lambda kept, other: kept.replace(other, " "), "\n\t\r\x0b\x0c", text)
        is_plain = functools.cache(self._is_plain)
        ends: list[int] = []
        word = spaced.rfind(" ", 0, stops[0]) + 1 if stops else 0
        for stop, following in pairwise([*stops, len(text)]):
            space = spaced.rfind(" ", stop, following)
            # Of several stops in one word ("acting!!!", "a.b.c.") only the last can end the sentence.
            if (space > 0 or word >= stop or following == len(text)) and (
                text[stop] != "." or is_plain(text[word:stop]) or self._full_stop_ends(text, word, stop)
            ):
                ends.append(stop + 1)
            if space > 0:
                word = space + 1
        return ends

    def _is_plain(self, word: str) -> bool:
        """Return whether a full stop ends a sentence whatever follows, judged by the word before it."""
        if word.isalpha():
            return len(word) > 1 and word.lower() not in self._doubtful
        return len(word) > 1 and not word.isdecimal() and self._non_word.match(word[-1]) is not None

    def _full_stop_ends(self, text: str, start: int, dot: int) -> bool:
        word, after = text[start:dot], skip_space(text, dot + 1)
        if not word and after > dot + 1:
            return True
        # A full stop belongs to a number ("2. Bundesliga") only before a lower-case word or punctuation.
        if len(word) > 1 and word.isdecimal() and self._number_breaks and text[after].isupper():
            return True
        if self._abbreviations.continues(text, start, dot, after):
            return False
        stop = after + 1
        if after > dot + 1:
            stop = _SOLID.match(text, stop).end()  # type: ignore[union-attr]
        return self._decide(text[start:stop])


_FOLDER = Path(__file__).with_name("punkt_models")

_FIGURES = "##number##"
_NUMERIC = re.compile(r"-?[.,]?\d[\d,.-]*\.?")
_ELLIPSIS = re.compile(r"\.\.+")
_INITIAL = re.compile(r"[^\W\d]\.")
_NEVER_FIRST = frozenset(";:,.!?")


def _any_of(characters: str, negated: str = "") -> str:
    return f"[{negated}{re.escape(''.join(sorted(set(characters))))}]"


@dataclass(frozen=True, slots=True)
class Rules:
    """The punctuation of a language."""

    ends: str = ".?!"
    apart: str = ")\";}]*:@'({[‘’“”«»"
    not_first: str = '("`{[:;&#*@)}]-,'

    @property
    def end(self) -> str:
        """Pattern of a character that can end a sentence."""
        return _any_of(self.ends)

    @property
    def non_word(self) -> str:
        """Pattern of a character that is in no word."""
        return _any_of(self.apart + self.ends.replace(".", ""))

    @property
    def word_start(self) -> str:
        """Pattern of a character that can begin a word."""
        return _any_of(self.not_first, negated="^")


#: Pattern of punctuation of several characters, which is one token.
RUN = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
#: Pattern of closing punctuation after a sentence.
CLOSING = r"[\"')\]}’”«»]+?(?:\s+|(?=--)|$)"

_DANDA = "।॥|"
_RULES = {
    "greek": Rules(ends=".;·!"),
    "malayalam": Rules(ends=f"{_DANDA}.!?", apart=Rules().apart + _DANDA, not_first=Rules().not_first + _DANDA),
}


def rules_of(name: str) -> Rules:
    """Return the punctuation of a language."""
    return _RULES.get(name, Rules())


@dataclass(slots=True)
class _Word:
    text: str
    kind: str
    ends: bool
    short: bool

    @property
    def plain(self) -> str:
        """The kind without a final full stop."""
        return self.kind[:-1] if len(self.kind) > 1 and self.kind.endswith(".") else self.kind

    @property
    def seen(self) -> str:
        """The kind as the model knows it: with the full stop of an abbreviation, without that of a sentence."""
        return self.plain if self.ends else self.kind


class PunktModel:
    """A trained model of a language."""

    def __init__(self, name: str) -> None:
        content = json.loads(gzip.decompress((_FOLDER / f"{name}.json.gz").read_bytes()))
        self.abbreviations = frozenset(content["abbreviations"])
        self.collocations = frozenset((first, second) for first, second in content["collocations"])
        self._starters = frozenset(content["starters"])
        # Words that were seen in lower case. Some were capitalised within sentences, too; others begin sentences in
        # lower case and were never capitalised.
        capital_inside, plain, first = (words.split() for words in content["lower_case"])
        self._lower = frozenset([*capital_inside, *plain, *first])
        self._capital_starts = frozenset([*plain, *first])
        self._lower_starts = frozenset(first)
        rules = rules_of(name)
        self._ends = frozenset(rules.ends)
        stop = rf"\s|$|{rules.non_word}|{RUN}"
        self._token = re.compile(rf"{RUN}|(?={rules.word_start})\S+?(?={stop}|,(?=$|\s|{rules.non_word}|{RUN}))|\S")

    def ends_inside(self, context: str) -> bool:
        """Return whether a sentence ends at a word of a text that isn't the last one."""
        tokens = [self._read(token) for line in context.split("\n") for token in self._token.findall(line)]
        for index, token in enumerate(tokens[:-1]):
            self._decide(token, tokens[index + 1])
            if token.ends:
                return True
        return False

    def _read(self, text: str) -> _Word:
        """Judge a word by itself."""
        kind = text.lower()
        word = _Word(text, _FIGURES if _NUMERIC.fullmatch(kind) else kind, ends=text in self._ends, short=False)
        if not word.ends and _ELLIPSIS.fullmatch(text):
            word.short = True
        elif not word.ends and text.endswith(".") and not text.endswith(".."):
            stem = text[:-1].lower()
            word.short = stem in self.abbreviations or stem.rpartition("-")[2] in self.abbreviations
            word.ends = not word.short
        return word

    def _decide(self, word: _Word, following: _Word) -> None:
        """Judge a word by the one that follows, which has been judged by itself."""
        if not word.text.endswith("."):
            return
        if (word.plain, following.seen) in self.collocations:
            word.ends = False
            return
        is_initial = _INITIAL.fullmatch(word.text) is not None
        starts = self._starts_sentence(following)
        is_capital = following.text[0].isupper()
        if word.short and not is_initial and (starts or (is_capital and following.seen in self._starters)):
            word.ends = True
        elif is_initial or word.plain == _FIGURES:
            never_lower = is_initial and starts is None and is_capital and following.seen not in self._lower
            if starts is False or never_lower:
                word.ends = False

    def _starts_sentence(self, word: _Word) -> bool | None:
        """Return whether the case of a word shows that it begins a sentence, or None if it doesn't tell."""
        if word.text in _NEVER_FIRST:
            return False
        if word.text[0].isupper() and word.seen in self._capital_starts:
            return True
        if word.text[0].islower() and word.seen not in self._lower_starts:
            return False
        return None


#: Models by the names of their languages, and Punkt by their codes (see `PUNKT_LANGUAGES`); each is loaded once.
model_of, punkt_of = functools.cache(PunktModel), functools.cache(Punkt)
