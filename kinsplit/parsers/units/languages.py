"""The language of a text: by its script, by common words, and by n-grams of bytes.

The n-grams and their frequencies are the most telling tenth of py3langid's; `ngrams/NOTICE` names their source and
licence. The frequencies of the others are part of those that they end with.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import regex

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers.units.punkt import PUNKT_LANGUAGES

_ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it "
    "iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt "
    "my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl "
    "sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo "
    "za zh zu"
)
#: Languages that can be named, as ISO 639-1 codes.
LANGUAGES = frozenset(_ISO_639_1.split())
#: Detected language of a text in a language without a model of Punkt.
OTHER = "und"

#: A language is believed from this probability on.
CONFIDENCE = 0.9
#: A language is detected from this number of letters on, in different words.
FEWEST_LETTERS = 200
# Code points of the beginning, of the middle and of the end of a text.
_SAMPLE = 200
# Longer ones are data, such as Base64.
_LONGEST_WORD = 40
# Languages that n-grams can't distinguish, such as Croatian and Bosnian, share the probability.
_LIKELIEST = 3
_NO_LANGUAGE = "zxx"

# The language of Punkt that is most frequent in a script.
_NAMES = {"en": "Latin", "ru": "Cyrillic", "el": "Greek", "ml": "Malayalam"}
_SCRIPTS = {language: regex.compile(rf"\p{{{name}}}") for language, name in _NAMES.items()}
# Their scripts are those of many languages.
_SHARED = frozenset({"en", "ru"})
# Norwegian has several codes, of which the last is the general one.
_CODES = {name: code for code, name in PUNKT_LANGUAGES.items()}

# Words so frequent only in English that no model has to be loaded to detect it.
_ENGLISH = "the of and that with this which from have has been were they their when but you your what would are"
_ENGLISH_WORDS = frozenset(_ENGLISH.split())
_WORD = re.compile(r"\w+")
_OTHERS = re.compile(r"[^\x00-\x7f]+")
_FEWEST_ENGLISH_WORDS = 6
_ENGLISH_SHARE = 0.08


def check_language(language: str) -> str:
    """Return a language unchanged, or raise InvalidParameterError unless it is "auto" or an ISO 639-1 code."""
    if language != "auto" and language not in LANGUAGES:
        code = _CODES.get(language.lower()) or language[:2].lower()
        meant = f"Did you mean {code!r}? " if code in LANGUAGES else ""
        remedy = f"{meant}Supported languages: {', '.join(sorted(LANGUAGES))}."
        raise InvalidParameterError("language", 'must be "auto" or an ISO 639-1 code', language, remedy)
    return language


def detect_language(text: str) -> str:
    """Return the language of a text if Punkt has a model of it, and `OTHER` if it doesn't.

    The script decides where it can. In Latin and Cyrillic letters, a language is believed that has a probability of at
    least 0.9, judged by different words with at least 200 letters, since repeated ones prove nothing.
    A text that is too short or too unlike any language, such as a list of names, counts as English or Russian.
    """
    return _language_of(_sample(text))


# Besides the sentences of a text, those of its parts may be asked for, in its language.
@functools.lru_cache(maxsize=256)
def _language_of(sample: str) -> str:
    if is_surely_english(sample):
        return "en"
    usual = _usual_language(sample)
    if usual not in _SHARED:
        return usual
    likely: defaultdict[str, float] = defaultdict(float)
    for language, probability in _rank(sample).items():
        likely[_CODES.get(PUNKT_LANGUAGES.get(language, ""), OTHER)] += probability
    language = max(likely, key=likely.__getitem__, default=usual)
    return language if likely[language] >= CONFIDENCE else usual


def rank_languages(text: str) -> dict[str, float]:
    """Return the probabilities of a text's likeliest languages by ISO 639-1 code; none if it has too few words."""
    sample = _sample(text)
    return {"en": 1.0} if is_surely_english(sample) else _rank(sample)


def _sample(text: str) -> str:
    middle = (len(text) - _SAMPLE) // 2
    return text if len(text) <= 3 * _SAMPLE else text[:_SAMPLE] + text[middle : middle + _SAMPLE] + text[-_SAMPLE:]


def _rank(sample: str) -> dict[str, float]:
    # Some scripts have no spaces.
    words = (word for word in sample.split() if len(word) <= _LONGEST_WORD or not word.isascii())
    read = " ".join(dict.fromkeys(words))
    if sum(map(str.isalpha, read)) < FEWEST_LETTERS:
        return {}
    likeliest = Counter(_ngrams().probabilities(read)).most_common(_LIKELIEST)
    return {language: p for language, p in likeliest if language != _NO_LANGUAGE}


class _NGrams:
    """Frequencies of n-grams of bytes in each language."""

    def __init__(self) -> None:
        with np.load(Path(__file__).with_name("ngrams") / "ngrams.npz") as content:
            self._languages: list[str] = content["languages"].tolist()
            ngrams = content["ngrams"]
            # uint8[ngrams, languages], logarithms of the frequencies in steps of the scale, each row from its least;
            # and float32[languages], those of the languages.
            self._weights, self._scale, self._prior = content["weights"], content["scale"], content["prior"]
        # Eight bytes are read as a number whose highest byte is the last one, so that those that end with an n-gram are
        # a range of numbers, which contains the ranges of longer n-grams with that end.
        lengths = np.char.str_len(ngrams)
        widths = np.left_shift(np.uint64(1), (8 * (8 - lengths)).astype(np.uint64))
        starts = ngrams.astype("S8").view("<u8") * widths
        self._bounds = np.sort(np.concatenate([starts, starts + widths]))
        # int64[bounds], number of the longest n-gram from each bound to the next; -1 if there is none.
        self._longest = np.full(len(self._bounds), -1, dtype=np.int64)
        firsts, ends = np.searchsorted(self._bounds, [starts, starts + widths])
        for length in np.unique(lengths):
            numbers = np.flatnonzero(lengths == length)
            steps = np.zeros(len(self._bounds), dtype=np.int64)
            steps[firsts[numbers]] = numbers + 1
            steps[ends[numbers]] -= numbers + 1
            inside = np.cumsum(steps) - 1
            self._longest = np.where(inside < 0, self._longest, inside)

    def probabilities(self, text: str) -> dict[str, float]:
        """Return the probability of each language."""
        data = unicodedata.normalize("NFC", text.lower() if text.isupper() else text).encode(errors="surrogatepass")
        eights = np.ndarray(len(data), "<u8", bytes(7) + data, strides=(1,))
        found = self._longest[np.searchsorted(self._bounds, eights, side="right") - 1]
        numbers, counts = np.unique(found[found >= 0], return_counts=True)
        scores = np.log1p(counts.astype(np.float32)) @ self._weights[numbers] * self._scale + self._prior
        # Neighbouring n-grams depend on each other, so their number proves less than it seems to.
        scores /= np.sqrt(len(data))
        likely = np.exp(scores - scores.max())
        joined: defaultdict[str, float] = defaultdict(float)  # Some languages are written in two scripts.
        for language, part in zip(self._languages, (likely / likely.sum()).tolist(), strict=True):
            joined[language] += part
        return joined


_ngrams = functools.cache(_NGrams)


def _usual_language(sample: str) -> str:
    """Return the most frequent language of Punkt in the script of most letters, or `OTHER`."""
    letters = 0 if sample.isascii() else sum(map(str.isalpha, sample))
    if not letters:
        return "en"
    others = "".join(_OTHERS.findall(sample))
    counts = {language: len(script.findall(others)) for language, script in _SCRIPTS.items()}
    counts["en"] += letters - sum(map(str.isalpha, others))
    usual = max(counts, key=counts.__getitem__)
    return usual if 2 * counts[usual] >= letters else OTHER


def is_surely_english(sample: str) -> bool:
    """Return whether a text has many common English words and no letters outside ASCII."""
    if any(map(str.isalpha, "".join(_OTHERS.findall(sample)))):
        return False
    found = sum(map(_ENGLISH_WORDS.__contains__, _WORD.findall(sample.lower())))
    return found >= _FEWEST_ENGLISH_WORDS and found >= _ENGLISH_SHARE * len(sample.split())
