"""Acronyms and the phrases that they may stand for.

A collection keeps no list of acronyms: a text's acronyms and the initials of its phrases depend on that text alone, so
that adding or deleting a document changes no other one. A question with an acronym looks for the initials, and a
question with a phrase looks for the acronym.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import regex

# "OOP", "PDFs", "U.S.", "PS3" and "DoD".
_ACRONYM = r"(?:\p{Lu}{2,6}|\p{Lu}{1,3}\p{Ll}\p{Lu}{1,3}|(?:\p{Lu}\.){2,6}|\p{Lu}{1,5}\d)(?:['’]?s)?(?!\w)"
# Three words in capitals side by side are part of a heading or a sentence in capitals.
_CAPITALS = regex.compile(rf"(?<![\w.]){_ACRONYM}(?:\s+\p{{Lu}}[\p{{Lu}}\d]+(?:['’]?s)?(?!\w))*")
_MOST_SIDE_BY_SIDE = 2
_ACRONYMS = regex.compile(_ACRONYM)
# Words between punctuation, in scripts with capitals. ASCII has its own pattern, for which `re` takes half the time.
_WORDS = r"(?<![{0}])[{0}]++(?:(?:-|[ \t]*+\n[ \t]*+|[ \t]++)[{0}]++)+"
_PHRASE, _ASCII_PHRASE = regex.compile(_WORDS.format(r"\p{Lu}\p{Ll}")), re.compile(_WORDS.format("A-Za-z"))
# Small words inside names, in several languages.
_SMALL = frozenset(
    {
        *("a", "an", "and", "da", "de", "del", "der", "des", "di", "du", "e", "et", "für", "for", "in", "la", "of"),
        *("on", "the", "to", "und", "van", "von", "y"),
    }
)
#: Numbers of words of the phrases whose initials count: of names, and of other runs of content words.
NAMES, PHRASES = range(2, 7), range(3, 5)
# Number of phrases whose initials are kept: those of a document.
_MOST_PHRASES = 4096


class Acronyms(NamedTuple):
    """The acronyms of a text, in lower case and as often as they occur.

    Attributes:
        written: Acronyms that it writes.
        initials: Acronyms that its phrases may have.
    """

    written: list[str]
    initials: list[str]


def acronyms(text: str, is_stop_word: Callable[[str], bool]) -> Acronyms:
    """Find the acronyms of a text.

    Phrases are names, of words that begin with a capital, and runs of three or four words between stop words and
    punctuation: "Object Oriented Programming" and "object-oriented programming".

    Args:
        text: A text in any script; only those with capitals have acronyms.
        is_stop_word: Function that returns whether a word in lower case ends a phrase.
    """
    phrases = (_ASCII_PHRASE if text.isascii() else _PHRASE).findall(text)
    initials = [letters for phrase in phrases for letters in _initials(phrase, is_stop_word)]
    return Acronyms([letters.lower() for letters in _written(text)], initials)


def _written(text: str) -> Iterator[str]:
    for match in _CAPITALS.finditer(text):
        words = match[0].split()
        if len(words) <= _MOST_SIDE_BY_SIDE and all(_ACRONYMS.fullmatch(word) for word in words):
            yield from (word.rstrip("s'’").replace(".", "") for word in words)


# A phrase of a leaf comes again in its parent and in the whole document, which are read next.
@lru_cache(_MOST_PHRASES)
def _initials(phrase: str, is_stop_word: Callable[[str], bool]) -> frozenset[str]:
    """Return the initials of the names and of the runs of content words in a phrase."""
    found: set[str] = set()
    content = name = ""
    # Initials of small words inside a name are in lower case.
    for word in (*phrase.replace("-", " ").split(), ""):
        lower = word.lower()
        if word != lower and lower not in _SMALL:
            name += word[0].upper()
        elif name and lower in _SMALL:
            name += lower[0]
        elif name:
            found.update(_of_name(name))
            name = ""
        if len(word) > 1 and not is_stop_word(lower):
            content += lower[0]
        elif content:
            found.update(content[at : at + size] for size in PHRASES for at in range(len(content) - size + 1))
            content = ""
    return frozenset(found)


def _of_name(letters: str) -> Iterator[str]:
    """Yield the initials of a name with and without its small words."""
    letters = letters.rstrip(string.ascii_lowercase)
    large = "".join(letter for letter in letters if letter.isupper())
    yield from (each.lower() for each in (letters, large) if len(each) in NAMES)
