"""BM25 as sparse vectors of term weights, which the store multiplies by the IDF.

What people write in several ways meets in one term, in questions as in documents, since both pass through the same
functions. A text is never changed: only its terms are.

A collection keeps no list of acronyms: a text's own, and the initials of its phrases, are terms of that text alone. A
question with an acronym looks for the initials, and one with a phrase for the acronym.
"""

from __future__ import annotations

import itertools
import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, NamedTuple, Self, TypeVar

import regex

from kinsplit.embedding.protocol import SparseVector, check_texts
from kinsplit.errors import InvalidParameterError, require
from kinsplit.hints import question
from kinsplit.spans import replace_surrogates
from kinsplit.support.extras import needs

_INVISIBLE = re.compile("\u00ad(?:[ \t]*\n[ \t]*)?|[\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")
# Where NFKC would make other words: before exponents and fractions after digits, and marks of trade.
_APART = re.compile(r"([⁰¹²³⁴-₎¼-¾⅐-⅞](?<=\d.))|[™℠]")
_PLAIN = dict(zip("\u2010\u2011\u2212\u02bb\u02bc\u2018\u2019", "---''''", strict=True))
# All ideograms are among these characters, and a text without them is seen in a tenth of the time.
_HIGH = re.compile("[\u2e80-\U0010ffff]")
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
        text = unicodedata.normalize("NFKC", _APART.sub(r" \1", _INVISIBLE.sub("", text)))
        for other, plain in _PLAIN.items():
            text = text.replace(other, plain)
        text = _BROKEN_LINE.sub("", text) if _HIGH.search(text) else text
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
    joint = filter(_JOINT.search, re.findall(r"\w+", token))
    further += [part for word in joint for part in _PART.findall(word) if len(part) > 1]
    further += [part for match in _NUMBERED.finditer(token) for part in match.groups() if part]
    return " ".join((token, *further))


def _sign(match: re.Match[str]) -> str:
    return f"{match[1]}{'plusplus' if match[2] else 'sharp'} " if match[1] else "dotnet"


def _join(chain: str) -> str:
    parts = re.split(r"[-&_.']", chain) if len(chain) <= _LONGEST_JOINED else []
    return "".join(parts) if not "".join(parts).isdigit() or len(parts) >= _FEWEST_NUMBERS else ""


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
# Names whose terms are remembered: those of documents, about 1 kB each.
_MOST_NAMES = 10_000
_Made = TypeVar("_Made")


class Known(dict[str, _Made]):
    """Results of a function by word. Words recur, and a lookup here is faster than `lru_cache`."""

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
        """Return the words of a compatible text, with those of its phrases of stop words."""
        words, kinds = self.read(text)
        return " ".join((words, *self.phrases(text, kinds, question=question)))

    def read(self, text: str) -> tuple[str, str]:
        """Return the words of a compatible text, and the kinds of its tokens, if the language has stop words."""
        tokens = text.split()
        kinds = "".join(map(self._kinds.__getitem__, tokens)) if self._is_stop_word else ""
        return " ".join(map(self._found.__getitem__, tokens)), kinds

    def phrases(self, text: str, kinds: str, *, question: bool = False) -> list[str]:
        """Return the terms of phrases of stop words alone, such as "to be or not to be", "The Who" and "Vitamin A".

        Each two neighbours have one: in runs of five or more, of words with capitals, and in a question without others.
        """
        pattern = _ANY_STOP_PHRASE if question and "0" not in kinds else _STOP_PHRASE
        runs = [run.span() for run in pattern.finditer(kinds)]
        tokens = text.split() if runs else []
        pairs = (pair for start, end in runs for pair in itertools.pairwise(tokens[start:end]))
        return [_STOPPED.format(re.sub(r"\W", "", one + two)) for one, two in pairs]

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
            found.update(content[at : at + size] for size in PHRASES for at in range(len(content) - size + 1))
            content = ""
    return frozenset(found)


def _of_name(letters: str) -> Iterator[str]:
    """Yield the initials of a name with and without its small words."""
    letters = letters.rstrip(string.ascii_lowercase)
    large = "".join(letter for letter in letters if letter.isupper())
    yield from (each.lower() for each in (letters, large) if len(each) in NAMES)


# White space that no term reaches across, neither an acronym nor a phrase: after sentences and at ends of lines.
_BREAK = re.compile(
    r"[ \n](?:(?<=[a-z0-9)\]}][.!?:;]\s)"
    r"|(?<=\n)(?:(?<=[,;:|)\]}\"]\s)|(?<=[a-rt-z]\s)(?=\n)|(?<=[0-9]\s)(?=[a-z0-9])))\s*"
)
_WORD = re.compile(r"\w+")
#: Language without stop words and stemmer.
ANY = "any"
#: Languages whose stop words and stemmers don't need the accents of words.
_UNACCENTED = (None, "english")

# Kinds of terms besides words.
_TERMS = "forms+parts+acronyms+grams+names+short"
# Digits around an acronym tell its terms from words, and keep stemmers off them.
_WRITTEN, _INITIALS, _UNSTEMMED = "8{}8", "9{}9", "5{}5"
# Weight of an acronym as a word in small letters, or in capitals for emphasis: "sql", and "LIST" for "list".
_AS_WORD = 0.5
# An acronym of so few letters is the stem of other words, as "OOP" of "Oops". So it is no stem in questions, and words
# of so few letters have a term without stemming.
_FEW_LETTERS = 3
_SHORT_WORD = re.compile(rf"(?<![^\W_])[A-Za-z]{{2,{_FEW_LETTERS}}}(?![^\W_])")
# Weight of each of the two terms of a word with accents, and least weight of a name's word among a document's own.
_WITH_MARKS, _NAME = 0.5, 4.0
# A word of a course's name is a term of its own, so that it is as frequent as the course is large.
_COURSE, _OF_COURSE = 0x6E616D65, 1.0
# A word in lower case may be an acronym if it is this short, in a question of so few words, such as "what is oop".
_SHORT, _FEW_WORDS = range(3, 5), 2


class Bm25Embedder:
    """BM25 with stop words and a stemmer, in Qdrant Edge's implementation.

    A run without whitespace or punctuation is one term, whatever its length. In scripts without spaces between words,
    and in Korean, overlapping groups of characters are terms.

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

        language = None if language == ANY else language
        known = sorted(name.lower() for name in vars(qe.Language) if name[0].isupper())
        remedy = f"Take {ANY!r} for words as they are, or one of: {', '.join(known)}."
        if language is not None and language not in known:
            remedy = question("bm25", language, known) + remedy
            raise InvalidParameterError("language", "must name a known language or be None", language, remedy)
        remedy = "Leave it out for the default of 256."
        require(average_length > 0, "average_length", "must be positive", average_length, remedy)
        self.language, self.average_length = language, float(average_length)
        # Without a language, neither stop words nor a stemmer.
        without: Any = {"stopwords": qe.StopwordsSet(), "stemmer": qe.DisabledStemmer()} if language is None else {}
        words = qe.TokenizerType.Word
        config = qe.Bm25Config(avg_len=self.average_length, tokenizer=words, language=language, **without)
        self._model = qe.Bm25(config)
        # Without a list of stop words, only names are phrases.
        self._is_stop_word = Known(lambda word: language is None or not self._asked([word])).__getitem__
        self._short_terms = Known(self._short).__getitem__
        self._terms = Terms(self._is_stop_word if language else None, keeps_marks=language not in _UNACCENTED)
        #: `words` of a name, which is remembered: those of documents recur with each question.
        self.words_of_name = lru_cache(_MOST_NAMES)(self.words)

    def __reduce__(self) -> tuple[Callable[..., Bm25Embedder], tuple[str | None, float]]:
        return _made_once, (self.language, self.average_length)

    @classmethod
    def of(cls, fingerprint: str) -> Self:
        """Return the embedder with a fingerprint, as recorded in a store's schema.

        Raises:
            InvalidParameterError: It is not a fingerprint of BM25.
        """
        with suppress(ValueError):
            kind, language, length, parts = fingerprint.split(":")
            if (kind, parts) == ("bm25", _TERMS):
                return cls(language, float(length))
        remedy = "Ask the collection for dense vectors only, or open it with the version of kinsplit that made it."
        raise InvalidParameterError("sparse", "must be BM25 of a known language", fingerprint, remedy)

    @property
    def fingerprint(self) -> str:
        """Language, average length and kinds of terms, which determine every vector."""
        return f"bm25:{self.language or ANY}:{self.average_length:g}:{_TERMS}"

    def embed(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return the term weights of each text, none for one without terms; sentences that some share are read once."""
        texts, read = check_texts(texts), cache(self._read)
        made = {text: self._embed(text, read) for text in dict.fromkeys(texts)}
        return [made[text] for text in texts]

    def embed_query(self, text: str) -> SparseVector:
        """Return weight 1 for each term of a query, and less for an acronym as a word."""
        text = compatible(replace_surrogates(text))
        words = self._asked([self._terms.of(text, question=True)])
        words |= self._asked([self._terms.twice(text)], _WITH_MARKS)
        found = acronyms(text, self._is_stop_word)
        content = [word.lower() for word in _WORD.findall(text) if not self._is_stop_word(word.lower())]
        likely = [word for word in content if len(word) in _SHORT] if len(content) <= _FEW_WORDS else []
        terms = _marked(_WRITTEN, (*found.written, *found.initials)) + _marked(_INITIALS, (*found.written, *likely))
        words |= self._asked(found.written, _AS_WORD)
        courses = {term ^ _COURSE: weight for term, weight in words.items()}
        short = [letters for letters in found.written if len(letters) <= _FEW_LETTERS]
        for stem in self._asked(short):
            words.pop(stem, None)
        return _sparse(words | self._asked(_marked(_UNSTEMMED, short), _AS_WORD) | courses | self._asked(terms))

    def alone(self, text: str) -> list[tuple[frozenset[int], set[int]]]:
        """Return each word of a question with all terms for it, and the words of phrases with those of acronyms."""
        text = compatible(replace_surrogates(text))
        written, initials = acronyms(text, self._is_stop_word)
        every = _WORD.findall(text)
        terms = {word: {word} for word in self.words(text)}
        for letters in {*written, *(word.lower() for word in every if len(word) in _SHORT)}:
            further = self._asked(mark.format(letters) for mark in (_WRITTEN, _INITIALS, _UNSTEMMED))
            for word in terms.keys() & self._asked([letters]).keys():
                terms[word].update(further)
        first = "".join(word[0] for word in every).lower()
        places = ((x, at) for x in initials for at in range(len(first)) if first.startswith(x, at))
        phrases = ((self.words(" ".join(every[at : at + len(x)])), _WRITTEN.format(x)) for x, at in places)
        known = [(words, {*self._asked([term])}) for words, term in phrases if len(words) > 1 and words <= terms.keys()]
        return [*((frozenset({word}), own) for word, own in terms.items()), *known]

    def _asked(self, words: Iterable[str], weight: float = 1.0) -> dict[int, float]:
        return dict.fromkeys(self._model.embed_query(" ".join(words)).indices, weight)

    def with_names(
        self, vector: SparseVector, name: str, title: str, course: str, *, is_document: bool
    ) -> SparseVector:
        """Return the term weights of a chunk of any level with those of the names of its document.

        The words of a whole document's names weigh 4, nearly twice as much as one that comes all the time.

        Args:
            vector: Weights of the text.
            name: Name of the document's file, for a whole document alone.
            title: Its title, of which only the words that the text lacks count; for a whole document alone.
            course: Names of what holds the document, such as its course. For other chunks, too, each of its words has a
                term, which weighs less than once in the text. IDF leaves next to nothing if most documents share it.
            is_document: Whether it is a whole document.
        """
        if not course and not is_document:
            return vector
        weights = dict(zip(vector.indices, vector.values, strict=True))
        if is_document:
            weights = dict.fromkeys(self._embed(title).indices, _NAME) | weights
            weights |= {term: max(_NAME, weights.get(term, 0.0)) for term in self._embed(name).indices}
        weights |= dict.fromkeys((term ^ _COURSE for term in self.words(course)), _NAME if is_document else _OF_COURSE)
        return _sparse(weights)

    def words(self, text: str) -> frozenset[int]:
        """Return the terms of a text's words, without those of acronyms."""
        return frozenset(self._asked([self._terms.of(compatible(replace_surrogates(text)))]))

    def _embed(self, text: str, read: Callable[[str], tuple[str, str, str, str]] | None = None) -> SparseVector:
        text = compatible(text)
        words, kinds, terms, short = zip(*map(read or self._read, _BREAK.split(text)), strict=True)
        phrases = self._terms.phrases(text, "".join(kinds))
        # Apart, since the weights of words fall with the length of the text.
        parts = (*words, *phrases), terms, (*short, *map(self._short_terms, phrases))
        found = [self._model.embed_document(" ".join(part)) for part in parts]
        return _sparse({i: weight for part in found for i, weight in zip(part.indices, part.values, strict=True)})

    def _read(self, text: str) -> tuple[str, str, str, str]:
        """Return a compatible text's words, the kinds of its tokens, and the terms of acronyms and of short words."""
        words, kinds = self._terms.read(text)
        found = acronyms(text, self._is_stop_word)
        terms = _marked(_WRITTEN, found.written) + _marked(_INITIALS, found.initials)
        return words, kinds, " ".join(terms), " ".join(filter(None, map(self._short_terms, words.split())))

    def _short(self, word: str) -> str:
        found = [each for short in _SHORT_WORD.findall(word) if not self._is_stop_word(each := short.lower())]
        return " ".join(_marked(_UNSTEMMED, found))


@lru_cache
def _made_once(language: str | None, average_length: float) -> Bm25Embedder:
    """Return an embedder that was pickled, made anew once per process: its model can't be pickled."""
    return Bm25Embedder(language, average_length)


def _marked(mark: str, letters: Iterable[str]) -> list[str]:
    return [mark.format(each) for each in letters]


def _sparse(weights: dict[int, float]) -> SparseVector:
    return SparseVector(tuple(weights), tuple(weights.values()))
