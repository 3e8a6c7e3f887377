"""Punkt's models and its decision whether a full stop ends a sentence.

Kiss & Strunk (2006) decide in two passes over the words around a full stop: the first looks at each word by itself, the
second at the word that follows. The models are those of NLTK's data package punkt_tab; `punkt_models/NOTICE` names
their source and licence. Of the letter case in which a word was seen, they keep what the second pass asks.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).with_name("punkt_models")

_NUMBER = "##number##"
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
    """A word beside a full stop."""

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
        self._ends = frozenset(rules_of(name).ends)
        rules = rules_of(name)
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
        word = _Word(text, _NUMBER if _NUMERIC.fullmatch(kind) else kind, ends=text in self._ends, short=False)
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
        elif is_initial or word.plain == _NUMBER:
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


@functools.cache
def model_of(name: str) -> PunktModel:
    """Return the model of a language; each is loaded once."""
    return PunktModel(name)
