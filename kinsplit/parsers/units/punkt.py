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
from operator import sub
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinsplit.text.graphemes import SPACES, among, code_points, is_space, skip_space
from kinsplit.tokenizers.protocol import IntArray

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

    def continues(self, text: str, entry: str, dot: int, after: int) -> bool:
        """Return whether a sentence continues behind the full stop of an entry, and the space at which words end."""
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


@functools.lru_cache(maxsize=1 << 14)
def _entry(word: str) -> str:
    """Return a word as it would be among the abbreviations."""
    return word.lstrip(_BEFORE).lower().replace("’", "'").rpartition("'")[2]  # "l'art." is "art."


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
_IMAGE_MARK = re.compile(r"!(?=\[)(?<![^\s(\[]!)")
# As in `RUN`, but it begins with a literal, which makes the search fast.
_DOTTED = re.compile(r"\.(?:\.+|(?:\s\.){2,})")
# What stands behind a stop: a word behind white space, or one character.
_FOLLOWING = re.compile(r"(\s*)(?:(?<=\s)\S+|\S)")
_GLUED_QUOTE = re.compile(r"[“”’»«›‹]+(\s*)")
# Those that close before a comma or the like, and not before a word, which they would open.
_GLUED_CLOSING = re.compile(r"[\"')\]}]+(?![\w\s])")


def image_marks(text: str) -> set[int]:
    """Return the offsets of the exclamation marks that begin images in Markdown, and end no sentence."""
    return {match.start() for match in _IMAGE_MARK.finditer(text)}


#: From so many stops on, arrays find the ordinary ones faster than each is looked at.
MANY = 100
# Maximum length of the white space behind ordinary ones.
_LONGEST_GAP = 3
# What stands for the white space at which Punkt splits words, among letters.
_SPACE = 1
_SPACES = " \n\t\r\x0b\x0c"
# So many letters at its end tell most words from all doubtful ones.
_TAIL = 4
_HASHES = 65_521


@functools.cache
def _letters() -> IntArray:
    lower = [chr(point).lower().casefold() for point in range(0x531)]
    codes = [ord(letter) if len(letter) == 1 and letter.isalpha() else 0 for letter in lower]
    table = np.array(codes, dtype=np.int64)
    table[list(map(ord, _SPACES))] = _SPACE
    return table


def _letters_of(points: npt.NDArray[np.uint32]) -> IntArray:
    """Return code points as int64: letters of Latin, Greek and Cyrillic in lower case, `_SPACE`, and 0 for others."""
    return _letters().take(points, mode="clip")


def _hashes(tails: IntArray) -> IntArray:
    """Return a hash of each column of int64[4, n], below `_HASHES`."""
    hashes: IntArray = (1 << np.array([33, 22, 11, 0], dtype=np.int64)) @ tails % _HASHES
    return hashes


class Punkt:
    """Fast evaluation of Punkt: only at possible sentence ends, and in simple cases without its tokens."""

    def __init__(self, language: str) -> None:
        name = PUNKT_LANGUAGES[language]
        model, rules = model_of(name), rules_of(name)
        # One pattern per stop, since searching for a literal is several times as fast as for a class.
        after = f"(?={rules.non_word}|\\s+\\S)"
        self._candidate = [re.compile(re.escape(stop) + after) for stop in rules.ends]
        self._begins = ~among(SPACES.union(rules.ends, CLOSERS, "‹"))
        self._closing = re.compile(CLOSING, re.MULTILINE)
        self._marks, self._stops = rules.ends, re.compile(f"{rules.end}+")
        # A full stop after any other word ends the sentence.
        self._abbreviations = abbreviations(language)
        first_words = (first for first, _ in model.collocations)
        self._doubtful = self._abbreviations.words.union(model.abbreviations, first_words)
        # It does so behind a word that ends with one of these, as no doubtful word, number or initial does.
        punctuation = set(string.punctuation).difference("_.,-", (word[-1] for word in self._doubtful if word))
        self._final = frozenset(punctuation.union(rules.outside_words))
        self._is_final = among(self._final)
        self._number_breaks = "##number##" not in self._doubtful
        self._decide = functools.lru_cache(maxsize=1 << 16)(model.ends_inside)
        self._is_plain = functools.lru_cache(maxsize=1 << 14)(self._is_plain_word)

    def starts(self, text: str, join_speech: bool) -> list[int]:
        """Return the starts of all sentences except the first."""
        stops, starts, doubtful = self._ends(text)
        last = len(text.rstrip())
        for number in doubtful:
            if starts[number] < 0:
                continue
            end = stops[number] + 1
            begin, closing = skip_space(text, end), None
            if text[begin : begin + 1].isalnum():
                starts[number] = begin
                continue
            if text[begin : begin + 1] in self._marks:
                later = (stops[n] + 1 for n in range(number + 1, len(stops)) if starts[n] >= 0)
                if self._stops.fullmatch(text, begin, next(later, last)):
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
            starts[number] = begin
        return [start for start in starts if start > 0]

    def _ends(self, text: str) -> tuple[list[int], list[int], list[int]]:
        """Return stops and the starts behind them, 0 if unknown and -1 if a sentence goes on."""
        stops = sorted([start for mark in self._candidate for start in map(re.Match.start, mark.finditer(text))])
        inside = image_marks(text)
        if 2 in map(sub, stops[1:], stops):  # Otherwise, there is no ellipsis with spaces.
            inside |= {i for m in _DOTTED.finditer(text) for i in range(m.start(), m.end() - 1)}
        if inside:
            stops = [stop for stop in stops if stop not in inside]
        starts = self._ordinary_starts(text, stops)
        # Punkt splits words at ASCII white space only.
        spaced = functools.reduce(lambda kept, other: kept.replace(other, " "), _SPACES[1:], text)
        at, word = [0, *stops, len(text)], 0
        doubtful = [number for number, start in enumerate(starts) if not start]
        for number in doubtful:
            before, stop, following = at[number : number + 3]
            word = spaced.rfind(" ", before, stop) + 1 or word
            # Of several stops in one word ("acting!!!", "a.b.c.") only the last can end the sentence.
            is_last = word == stop or following == len(text) or spaced.find(" ", stop, following) > 0
            is_plain = text[stop] != "." or self._is_plain(text[word:stop])
            if not (is_last and (is_plain or self._full_stop_ends(text, word, stop))):
                starts[number] = -1
        return stops, starts, doubtful

    def _ordinary_starts(self, text: str, stops: list[int]) -> list[int]:
        """Return the starts behind stops that certainly end a sentence, 0 behind the others, which are judged singly.

        An ordinary stop has white space behind it, and no quotation mark or bracket. It is no full stop, or it comes
        behind a space or a plain word (see `_is_plain_word`): the tail of the word is that of no doubtful one.
        """
        if len(stops) < MANY:
            return [0] * len(stops)
        points, at = code_points(text), np.array(stops, dtype=np.int64)
        starts = at + 1
        for _ in range(_LONGEST_GAP):
            starts += is_space(points[starts])
        before = points.take(at + np.arange(-_TAIL, 0)[:, None], mode="clip")
        tail = _letters_of(before)
        tail[0, tail[1] == _SPACE] = _SPACE  # What precedes a word of two letters doesn't matter.
        is_word = (tail > [[0], [0], [_SPACE], [_SPACE]]).all(axis=0) & ~self._doubtful_tails[_hashes(tail)]
        is_marked = self._is_final.take(before[-1], mode="clip") & (tail[-2] != _SPACE)
        ends = (points[at] != ord(".")) | is_word | is_marked | (tail[-1] == _SPACE)
        begins = self._begins.take(points[starts], mode="clip") & (_letters_of(points[at + 1]) == _SPACE)
        return [*np.where(ends & begins & (at >= _TAIL), starts, 0).tolist()]

    @functools.cached_property
    def _doubtful_tails(self) -> npt.NDArray[np.bool_]:
        """Which hashes a doubtful word's tail has."""
        tails = code_points("".join(word.rjust(_TAIL)[-_TAIL:] for word in self._doubtful)).reshape(-1, _TAIL)
        found = np.zeros(_HASHES, dtype=np.bool_)
        found[_hashes(_letters_of(tails.T))] = True
        return found

    def _is_plain_word(self, word: str) -> bool:
        """Return whether a full stop ends a sentence whatever follows, judged by the word before it."""
        if word.isalpha():
            return len(word) > 1 and word.lower() not in self._doubtful
        return len(word) > 1 and word[-1] in self._final

    def _full_stop_ends(self, text: str, start: int, dot: int) -> bool:
        word = text[start:dot]
        # There is one, since no stop at the end of a text is a candidate.
        following: re.Match[str] = _FOLLOWING.match(text, dot + 1)  # type: ignore[assignment]
        after, stop = following.end(1), following.end()
        is_apart = after > dot + 1
        if is_apart and not word:
            return True
        # A full stop belongs to a number ("2. Bundesliga") only before a lower-case word or punctuation.
        if len(word) > 1 and word.isdecimal() and self._number_breaks and text[after].isupper():
            return True
        if is_apart and self._abbreviations.continues(text, _entry(word), dot, after):
            return False
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
    def outside_words(self) -> str:
        """Characters that are in no word."""
        return self.apart + self.ends.replace(".", "")

    @property
    def non_word(self) -> str:
        """Pattern of a character that is in no word."""
        return _any_of(self.outside_words)

    @property
    def word_start(self) -> str:
        """Pattern of a character that can begin a word."""
        return _any_of(self.not_first, negated="^")


#: Pattern of punctuation of several characters, which is one token.
RUN = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
#: Pattern of closing punctuation after a sentence.
CLOSERS = "\"')]}’”«»"
CLOSING = rf"[{re.escape(CLOSERS)}]+?(?:\s+|(?=--)|$)"

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
