"""BM25 as sparse vectors of term weights, which the store multiplies by the IDF.

A collection keeps no list of acronyms: a text's acronyms and the initials of its phrases depend on that text alone, so
that adding or deleting a document changes no other one. A question with an acronym looks for the initials, and a
question with a phrase looks for the acronym.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, Self

import regex

from kinsplit.embedding.protocol import SparseVector, check_texts
from kinsplit.embedding.terms import Known, Terms, compatible
from kinsplit.errors import InvalidParameterError, require
from kinsplit.spans import replace_surrogates
from kinsplit.support.extras import needs

# "OOP", "PDFs", "U.S.", "PS3" and "DoD".
_ACRONYM = r"(?:\p{Lu}{2,6}|\p{Lu}{1,3}\p{Ll}\p{Lu}{1,3}|(?:\p{Lu}\.){2,6}|\p{Lu}{1,5}\d)(?:['’]?s)?(?!\w)"
# Three words in capitals side by side are part of a heading or a sentence in capitals.
_CAPITALS = regex.compile(rf"(?<![\w.]){_ACRONYM}(?:\s+\p{{Lu}}[\p{{Lu}}\d]+(?:['’]?s)?(?!\w))*")
_MOST_SIDE_BY_SIDE = 2
_ONLY_ACRONYM = regex.compile(_ACRONYM)
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
    """The acronyms of a text, in lower case and as often as they occur."""

    written: list[str]
    initials: list[str]


def acronyms(text: str, is_stop_word: Callable[[str], bool]) -> Acronyms:
    """Find the acronyms of a text, and the phrases that they may stand for.

    Phrases are names, of words that begin with a capital, and runs of three or four words between stop words and
    punctuation: "Object Oriented Programming" and "object-oriented programming". Only scripts with capitals have
    acronyms.
    """
    phrases = (_ASCII_PHRASE if text.isascii() else _PHRASE).findall(text)
    initials = [letters for phrase in phrases for letters in _initials(phrase, is_stop_word)]
    return Acronyms([letters.lower() for letters in _written(text)], initials)


def _written(text: str) -> Iterator[str]:
    for match in _CAPITALS.finditer(text):
        words = match[0].split()
        if len(words) <= _MOST_SIDE_BY_SIDE and all(_ONLY_ACRONYM.fullmatch(word) for word in words):
            yield from (word.rstrip("s'’").replace(".", "") for word in words)


# A phrase of a leaf comes again in its parent and in the whole document, which are read next.
@lru_cache(_MOST_PHRASES)
def _initials(phrase: str, is_stop_word: Callable[[str], bool]) -> frozenset[str]:
    """Return the initials of the names and of the runs of content words in a phrase."""
    words = phrase.replace("-", " ").split()
    if len(words) < PHRASES.start and phrase.islower():
        return frozenset()
    found: set[str] = set()
    content = name = ""
    # Initials of small words inside a name are in lower case.
    for word in (*words, ""):
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
            if len(content) >= PHRASES.start:
                found.update(content[at : at + size] for size in PHRASES for at in range(len(content) - size + 1))
            content = ""
    return frozenset(found)


def _of_name(letters: str) -> Iterator[str]:
    """Yield the initials of a name with and without its small words."""
    letters = letters.rstrip(string.ascii_lowercase)
    large = "".join(letter for letter in letters if letter.isupper())
    yield from (each.lower() for each in (letters, large) if len(each) in NAMES)


_WORD = re.compile(r"\w+")
#: Language without stop words and stemmer.
ANY = "any"
#: Languages whose stop words and stemmers don't need the accents of words.
_UNACCENTED = (None, "english")

# Kinds of terms besides words: those of `kinsplit.embedding.terms`, and acronyms.
_TERMS = "forms+parts+acronyms+grams"
# Digits around an acronym tell its terms from words, and keep stemmers off them.
_WRITTEN, _INITIALS = "8{}8", "9{}9"
# Weight of an acronym's letters as a word: "OOP" is the stem of "Oops", too.
_AS_WORD = 0.5
# Weight of each of the two terms of a word with accents.
_WITH_MARKS = 0.5
# A word in lower case may be an acronym if it is this short, in a question of so few words, such as "what is oop".
_SHORT, _FEW_WORDS = range(3, 5), 2


class Bm25Embedder:
    """BM25 with stop words and a stemmer, in Qdrant Edge's implementation.

    What people write in several ways is found under each (see `kinsplit.embedding.terms`): with or without accents, in
    any form of Unicode, joined or in parts. A run without whitespace or punctuation is one term, whatever its length,
    such as a file of hexadecimal digits. In scripts without spaces between words, and in Korean, overlapping groups of
    characters are terms.

    Acronyms meet their long forms: "OOP" in a question finds "object-oriented programming" in a text, and the other way
    round (see `kinsplit.embedding.sparse`). Terms of their own serve this, so the weights of words stay as they are.

    Args:
        language: English name of a language, such as "german", for its stop words and its stemmer. None or "any" uses
            words unchanged, for mixed or other languages.
        average_length: Expected length of a document in terms, without stop words. Qdrant's default of 256 serves
            as long as all documents are about equally long; another value scales every score by the same factor.

    Raises:
        InvalidParameterError: An unknown language, or a length that is not positive.
    """

    def __init__(self, language: str | None = "english", average_length: float = 256.0) -> None:
        with needs("search"):
            import qdrant_edge as qe

        if language == ANY:
            language = None
        known = sorted(name.lower() for name in vars(qe.Language) if name[0].isupper())
        remedy = f"Take {ANY!r} for words as they are, or one of: {', '.join(known)}."
        ok = language is None or language in known
        require(ok, "language", "must name a known language or be None", language, remedy)
        remedy = "Leave it out for the default of 256."
        require(average_length > 0, "average_length", "must be positive", average_length, remedy)
        self.language, self.average_length = language, float(average_length)
        # Without a language, neither stop words nor a stemmer.
        without: Any = {"stopwords": qe.StopwordsSet(), "stemmer": qe.DisabledStemmer()} if language is None else {}
        words = qe.TokenizerType.Word
        config = qe.Bm25Config(avg_len=self.average_length, tokenizer=words, language=language, **without)
        self._model = qe.Bm25(config)
        self._is_stop_word = Known(self._ends_phrase).__getitem__
        self._terms = Terms(self._is_stop_word if language else None, keeps_marks=language not in _UNACCENTED)

    @classmethod
    def of(cls, fingerprint: str) -> Self:
        """Return the embedder with a fingerprint, as recorded in a store's schema.

        Raises:
            InvalidParameterError: It is not a fingerprint of BM25.
        """
        kind, _, settings = fingerprint.partition(":")
        language, _, rest = settings.partition(":")
        length, _, parts = rest.partition(":")
        with suppress(ValueError):
            if kind == "bm25" and parts == _TERMS:
                return cls(language, float(length))
        remedy = "Ask the collection for dense vectors only, or open it with the version of kinsplit that made it."
        raise InvalidParameterError("sparse", "must be BM25 of a known language", fingerprint, remedy)

    @property
    def fingerprint(self) -> str:
        """Language, average length and kinds of terms, which determine every vector."""
        return f"bm25:{self.language or ANY}:{self.average_length:g}:{_TERMS}"

    def embed(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return the term weights of each text; a text without terms gets an empty vector."""
        return [self._embed(text) for text in check_texts(texts)]

    def embed_query(self, text: str) -> SparseVector:
        """Return weight 1 for each term of a query, and less for an acronym as a word."""
        text = compatible(replace_surrogates(text))
        words = _weights(self._model.embed_query(self._terms.of(text, question=True)))
        words |= dict.fromkeys(self._model.embed_query(self._terms.twice(text)).indices, _WITH_MARKS)
        found = acronyms(text, self._is_stop_word)
        as_words = self._model.embed_query(" ".join(found.written)).indices
        content = [word.lower() for word in _WORD.findall(text) if not self._is_stop_word(word.lower())]
        short = [word for word in content if len(word) in _SHORT] if len(content) <= _FEW_WORDS else []
        terms = _marked(_WRITTEN, (*found.written, *found.initials)) + _marked(_INITIALS, (*found.written, *short))
        return _sparse(words | dict.fromkeys(as_words, _AS_WORD) | _weights(self._model.embed_query(" ".join(terms))))

    def words(self, text: str) -> frozenset[int]:
        """Return the terms of a text's words, without those of acronyms."""
        return frozenset(self._model.embed_query(self._terms.of(compatible(replace_surrogates(text)))).indices)

    def _ends_phrase(self, word: str) -> bool:
        # Without a list of stop words, only names are phrases.
        return self.language is None or not self._model.embed_query(word).indices

    def _embed(self, text: str) -> SparseVector:
        text = compatible(text)
        words = _weights(self._model.embed_document(self._terms.of(text)))
        found = acronyms(text, self._is_stop_word)
        terms = _marked(_WRITTEN, found.written) + _marked(_INITIALS, found.initials)
        # On their own, since the weights of words fall with the length of the text.
        return _sparse(words | _weights(self._model.embed_document(" ".join(terms))))


def _marked(mark: str, letters: Iterable[str]) -> list[str]:
    return [mark.format(each) for each in letters]


def _weights(vector: Any) -> dict[int, float]:
    return dict(zip(vector.indices, vector.values, strict=True))


def _sparse(weights: dict[int, float]) -> SparseVector:
    return SparseVector(tuple(weights), tuple(weights.values()))
