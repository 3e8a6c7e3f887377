"""Text -> sentences, offline, in the language chosen or detected.

Punkt (Kiss & Strunk 2006, *Unsupervised Multilingual Sentence Boundary Detection*) decides in the 19 languages it has
a model for, but for some abbreviations that it doesn't know; sentencex decides in all others. On top of both, in every
language: a blank line ends a sentence, and so do the full stops of scripts that put no space after them. Where words
aren't spaced, lines aren't wrapped at spaces either, so there the end of any line ends a sentence.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers.abbreviations import abbreviations
from kinsplit.parsers.segment import Units, as_units, grapheme_floor, skip_space, trimmed, with_line_feeds
from kinsplit.tokenizers import replace_surrogates

if TYPE_CHECKING:
    from punkt import LanguageVars

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

#: Languages written without spaces between words.
_UNSPACED_LANGUAGES = frozenset({"ja", "km", "lo", "my", "th", "wuu", "yue", "zh"})  # two of them only detected

_ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it "
    "iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt "
    "my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl "
    "sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo "
    "za zh zu"
)
#: Languages that can be asked for. sentencex has rules for them all, for many those of a relative.
LANGUAGES = frozenset(_ISO_639_1.split())

_LINE = re.compile(r"\n\s*")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_UNSPACED_STOP = re.compile(r"[。！？｡．؟।॥۔]+[\"'”’»」』）)\]]*\s*")
_GLUED_QUOTE = re.compile(r"[“”’»«›‹]+(\s*)")
_ONLY_STOPS = re.compile(r"[\s.?!]+")
_SAMPLE = 200
_FEWEST_LETTERS = 200
_PIECE = 1000


def check_language(language: str) -> str:
    """Return the language if it names one.

    Args:
        language: "auto" or an ISO 639-1 code.

    Raises:
        InvalidParameterError: It is neither.
    """
    if language != "auto" and language not in LANGUAGES:
        remedy = f"Known: {', '.join(sorted(LANGUAGES))}."
        raise InvalidParameterError("language", 'must be "auto" or a code of ISO 639-1', language, remedy)
    return language


def sentences(text: str, language: str = "auto", *, join_speech: bool = True) -> Units:
    """Return the sentences of a text.

    Args:
        text: The text.
        language: ISO 639-1 code, or "auto" to detect it from samples of the text; a text of fewer than 200 letters
            is taken for English, whose rules serve other alphabets too.
        join_speech: Whether a question or exclamation in quotes or brackets belongs to the words in lower case behind
            it (`"Is it?" she asked.`). Punkt itself ends a sentence between them.

    Returns:
        The sentences' spans without the white space between them.
    """
    if language == "auto":
        language = detect_language(text)
    lines = with_line_feeds(text)
    line_end = _LINE if language in _UNSPACED_LANGUAGES else _BLANK_LINE
    certain = [m.end() for m in line_end.finditer(lines)]
    if not text.isascii():
        certain = sorted({*certain, *(m.end() for m in _UNSPACED_STOP.finditer(text))})
    if language in PUNKT_LANGUAGES:
        starts = [0, *_punkt(language).starts(text, join_speech)]
    else:
        starts = [0, *_sentencex_starts(text, language, certain)]
    if certain:
        starts = sorted({*starts, *certain})
    if not text.isascii():
        starts = [
            s for s in starts if not 0 < s < len(text) or text[s - 1].isspace() or grapheme_floor(text, s, 0) == s
        ]
    return _between(text, starts)


def _between(text: str, starts: list[int]) -> Units:
    spans: list[tuple[int, int]] = []
    for cut in pairwise([*starts, len(text)]):
        start, end = trimmed(text, *cut)
        if start == end:
            continue
        if spans and not text[start].isalnum() and _ONLY_STOPS.fullmatch(text, start, end):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return as_units(spans)


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, judged by its beginning, middle and end.

    Args:
        text: The text; with fewer than 200 letters it is taken for English.
    """
    middle = (len(text) - _SAMPLE) // 2
    sample = text if len(text) <= 3 * _SAMPLE else text[:_SAMPLE] + text[middle : middle + _SAMPLE] + text[-_SAMPLE:]
    if sum(map(str.isalpha, sample)) < _FEWEST_LETTERS:
        return "en"
    import py3langid

    code = str(py3langid.classify(sample.encode("utf-8", "replace").decode())[0])
    return "en" if code == "zxx" else code  # for "no language"


def _sentencex_starts(text: str, language: str, certain: list[int]) -> Iterator[int]:
    import sentencex

    # Rust wants valid Unicode; one character for one keeps the offsets.
    valid = replace_surrogates(text)
    # Where no white space stands between sentences it takes quadratic time, so it gets the text in pieces, each of
    # which ends where a sentence is certain to.
    start = 0
    for end in [*certain, len(text)]:
        if end - start >= _PIECE or end == len(text):
            for sentence in sentencex.get_sentence_boundaries(language, valid[start:end]):
                yield start + int(sentence["start_index"])
            start = end


@functools.cache
def _punkt(language: str) -> _Punkt:
    return _Punkt(language)


class _Punkt:
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
        starts, total = [], len(text)
        for end, following in pairwise([*self._ends(text), len(text.rstrip())]):
            begin, closing = end, None
            while begin < total and text[begin].isspace():
                begin += 1
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
