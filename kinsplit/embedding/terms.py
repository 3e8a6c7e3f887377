"""The terms of a text: what people write in several ways meets, in questions as in documents.

Documents and questions pass through the same functions here. A text is never changed: only its terms are.
"""

from __future__ import annotations

import itertools
import re
import string
import unicodedata
from collections.abc import Callable
from typing import TypeVar

import regex

_INVISIBLE = re.compile("\u00ad(?:[ \t]*\n[ \t]*)?|[\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")
# Where NFKC would make other words: before exponents and fractions after digits, and marks of trade.
_APART = re.compile(r"(?<=\d)(?=[⁰¹²³⁴-₎¼-¾⅐-⅞])|[™℠]")
_HYPHENS, _APOSTROPHES = re.compile("[\u2010\u2011\u2212]"), re.compile("[\u02bb\u02bc\u2018\u2019]")
_IDEOGRAM = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
_BROKEN_WORD = re.compile(r"(?<![^\W_])([^\W_]++)-[ \t]*+\n[ \t]*+([^\W_]++)")
_BROKEN_LINE = regex.compile(rf"(?<={_IDEOGRAM})[ \t]*+\n[ \t]*+(?={_IDEOGRAM})")
# The first digit stands before what must not precede it, since such patterns are found faster.
_SPACED_NUMBER = re.compile(r"[0-9](?<![0-9.,].)[0-9]{0,2}(?:[ \xa0\u2009\u202f][0-9]{3}(?![0-9]))+")


def compatible(text: str) -> str:
    """Return a text with the usual forms of its characters, which reads the same: `office`, `CO2`, `10 5`, `1/2`."""
    further = [re.sub(r"\D", "", number) for number in _SPACED_NUMBER.findall(text)]
    if "-\n" in text:
        further += map("".join, _BROKEN_WORD.findall(text))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _APART.sub(" ", _INVISIBLE.sub("", text)))
        text = _BROKEN_LINE.sub("", _APOSTROPHES.sub("'", _HYPHENS.sub("-", text)))
    return f"{text}\n{' '.join(further)}" if further else text


# Accents, niqqud and harakat. The breve of й and the marks of Indic and Thai vowels belong to their letters.
_MARKS = re.compile(
    "(?<![иИ])[\u0300-\u036f]+|[\u0300-\u0305\u0307-\u036f]+"
    "|[\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+"
)
_OTHERS = dict(
    zip("øØłŁđĐðÐıħĦŧŦςΣیک٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९", "oOlLdDdDihHtTσσيك" + "0123456789" * 3, strict=True)
)
_OTHERS |= {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "TH"}
_OTHER = re.compile(f"[{''.join(_OTHERS)}]")


def folded(text: str) -> str:
    """Return a text without accents and other marks of its letters: `café` becomes `cafe`, and `Straße` `Strasse`."""
    if text.isascii():
        return text
    plain = _MARKS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", _OTHER.sub(lambda letter: _OTHERS[letter[0]], plain))


_LONGEST_JOINED = 64
# `C++`, `C#` and `.NET` are words of their own.
_SIGNED = re.compile(r"(?<!\w)([A-Za-z])(?:(\+\+)|#)(?![^\W\d_])|(?<!\w)\.NET(?!\w)", re.IGNORECASE)
_GROUPED = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?:,\d{2,3})*,\d{3}|(?:[.']\d{3}){2,}|(?:\.\d{3})++(?=,\d\d?(?!\d)))(?!\d)"
)
# Names of several parts are found without what joins them: `Wi-Fi`, `R&D`, `get_user_by_id`, `Node.js`, `O'Brien`.
_JOINED = re.compile(
    r"(?<![^\W_])[^\W_]++(?:[-&_][^\W_]++)+|(?<![^\W_])[^\W\d_]++(?:\.[^\W\d_]{1,4}(?![^\W_]))+"
    r"|(?<![^\W_])[A-Z]'[A-Z][^\W_]++"
)
_FEWEST_NUMBERS = 4  # parts of an ISBN or a telephone number; ranges and dates have fewer
# Parts of names in camel case, and of words with a number.
_JOINT = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NUMBERED = re.compile(r"(?<![^\W_])(?:([^\W\d_]{2,})(\d{1,4})|(\d{1,4})([^\W\d_]{2,3}))(?![^\W_])")


def spelt(token: str) -> str:
    """Return a token without white space with the further terms under which it is found.

    A name counts as a whole and by its parts, whatever joins these: `isSubset`, `merge_sort`, `Wi-Fi`, `iPhone15`.
    """
    if token.isalpha() and not _JOINT.search(token):
        return token
    token = _GROUPED.sub(lambda number: re.sub(r"\D", "", number[0]), _SIGNED.sub(_sign, token))
    further = [name for match in _JOINED.finditer(token) if (name := _join(match[0]))]
    further += [part for word in re.findall(r"\w+", token) if _JOINT.search(word) for part in _parts(word)]
    further += [part for match in _NUMBERED.finditer(token) for part in match.groups() if part]
    return " ".join((token, *further))


def _sign(match: re.Match[str]) -> str:
    return f"{match[1]}{'plusplus' if match[2] else 'sharp'} " if match[1] else "dotnet"


def _join(chain: str) -> str:
    parts = re.split(r"[-&_.']", chain) if len(chain) <= _LONGEST_JOINED else []
    return "".join(parts) if not "".join(parts).isdigit() or len(parts) >= _FEWEST_NUMBERS else ""


def _parts(name: str) -> list[str]:
    return [part for part in _PART.findall(name) if len(part) > 1]


# Runs of scripts written without spaces between words, or with endings at them as in Korean: those whose characters
# are syllables or words, with the marks that all of them share; alphabets; and pictures.
_RUN = regex.compile(
    r"(?P<syllables>[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\u30fc\uff70\u3099\u309a\uff9e\uff9f]++)"
    r"|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]++|(?P<picture>(?![©®])\p{Extended_Pictographic}|\p{Regional_Indicator}{2})"
)
# Digits around a term tell it from words, and keep stemmers off it; its letters, some of which no tokenizer takes for
# parts of a word, are written as numbers.
_GRAM = "7{}7"


def with_grams(text: str) -> str:
    """Return a text whose runs of scripts without spaces between words are replaced by overlapping terms.

    Chinese, Japanese and Korean have a term for each character and each two, as in Lucene's CJK analyzer; Thai, Lao,
    Khmer and Burmese have one for each three. Emoji are terms.
    """
    return text if text.isascii() else _RUN.sub(_grams, text)


def _grams(run: regex.Match[str]) -> str:
    letters = run[0]
    sizes = (1, 2) if run["syllables"] else (len(letters),) if run["picture"] else (3,)
    found = [letters[i : i + size] for size in sizes for i in range(len(letters) - size + 1)] or [letters]
    return f" {' '.join(_GRAM.format(gram.encode('utf-16-be').hex()) for gram in found)} "


# Tokens that are remembered: about the vocabulary of a language.
_MOST_TOKENS, _LONGEST_TOKEN = 50_000, 40
_Made = TypeVar("_Made")


class Known(dict[str, _Made]):
    """What a function makes of words, which come again and again; faster than `lru_cache`."""

    def __init__(self, make: Callable[[str], _Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, word: str) -> _Made:
        made = self._make(word)
        if len(word) <= _LONGEST_TOKEN:
            if len(self) >= _MOST_TOKENS:
                self.clear()
            self[word] = made
        return made


# Of each word: `0`, or `1` for a stop word, `2` for one with a capital, and `3` for "A", as in "Vitamin A".
_STOP_PHRASE, _ANY_STOP_PHRASE = re.compile(r"[123]{5,}|2{2,}|03"), re.compile(r"[123]{2,}")
_STOPPED = "6{}6"


class Terms:
    """The terms of texts in a language, as words for a tokenizer.

    Args:
        is_stop_word: Whether a word in lower case is a stop word; None if the language has none.
        keeps_marks: Whether stop words and stems depend on accents, so that a word with them has two terms.
    """

    def __init__(self, is_stop_word: Callable[[str], bool] | None, *, keeps_marks: bool) -> None:
        self._is_stop_word, self._keeps_marks = is_stop_word, keeps_marks
        self._found, self._kinds = Known(self._terms), Known(self._kind)

    def of(self, text: str, *, question: bool = False) -> str:
        """Return the words of a compatible text.

        Phrases of stop words alone, such as "to be or not to be", "The Who" and "Vitamin A", have terms for each two
        neighbours: in runs of five or more, of words with capitals, and in a question without other words.
        """
        tokens = text.split()
        words = " ".join(map(self._found.__getitem__, tokens))
        if self._is_stop_word is None:
            return words
        kinds = "".join(map(self._kinds.__getitem__, tokens))
        pattern = _ANY_STOP_PHRASE if question and "0" not in kinds else _STOP_PHRASE
        phrases = [tokens[run.start() : run.end()] for run in pattern.finditer(kinds)]
        pairs = (re.sub(r"\W", "", one + two) for run in phrases for one, two in itertools.pairwise(run))
        return " ".join((words, *map(_STOPPED.format, pairs)))

    def twice(self, text: str) -> str:
        """Return the words of a compatible text that have two terms, with marks and without, as both of these."""
        return " ".join(f"{token} {plain}" for token in text.split() if (plain := self._unmarked(token)))

    def _terms(self, token: str) -> str:
        words = spelt(token)
        if not token.isascii():
            words = with_grams(f"{words} {self._unmarked(words)}" if self._keeps_marks else folded(words))
        return words

    def _unmarked(self, token: str) -> str:
        """Return a token that keeps its marks without these, or nothing if it has none or is a stop word."""
        plain = folded(token) if self._keeps_marks else token
        is_stop_word = plain != token and self._is_stop_word is not None and self._is_stop_word(token.lower())
        return "" if plain == token or is_stop_word else plain

    def _kind(self, token: str) -> str:
        word = token.strip(string.punctuation)
        if not word[:1].isalpha() or not self._is_stop_word or not self._is_stop_word(word.lower()):
            return "0"
        return "3" if word == "A" else "2" if word[0].isupper() else "1"
