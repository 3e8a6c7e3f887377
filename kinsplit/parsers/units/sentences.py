"""Sentences of a text, offline, in a given or detected language.

Punkt (Kiss & Strunk 2006, *Unsupervised Multilingual Sentence Boundary Detection*) handles the languages for which it
has a model, with some added abbreviations; sentencex handles all others. In every language, a blank line ends a
sentence, and so do the full stops of scripts without spaces after them. In scripts without spaces between words, lines
aren't wrapped at spaces, so each line break ends a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers.units.punkt import PUNKT_LANGUAGES, image_marks, punkt_of
from kinsplit.parsers.units.segment import Units, as_units
from kinsplit.support.extras import needs
from kinsplit.text.graphemes import grapheme_floor, trimmed, with_line_feeds
from kinsplit.tokenizers import replace_surrogates

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
#: Supported languages. sentencex has rules for all of them, in many cases those of a related language.
LANGUAGES = frozenset(_ISO_639_1.split())

_LINE = re.compile(r"\n\s*")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_UNSPACED_STOP = re.compile(r"[。！？｡．؟।॥۔]+[\"'”’»」』）)\]]*\s*")
_ONLY_STOPS = re.compile(r"[\s.?!]+")
_SAMPLE = 200
_FEWEST_LETTERS = 200
_PIECE = 1000
_WINDOW = 4_000
# Words so frequent only in English that no model has to be loaded to detect it.
_ENGLISH_WORD = re.compile(
    r"\b(?:the|of|and|that|with|this|which|from|have|has|been|were|they|their|when|but|you|your|what|would|are)\b",
    re.IGNORECASE,
)
_FEWEST_ENGLISH_WORDS = 6
_ENGLISH_SHARE = 0.08


def check_language(language: str) -> str:
    """Return a valid language unchanged.

    Args:
        language: "auto" or an ISO 639-1 code.

    Raises:
        InvalidParameterError: The language is neither.
    """
    if language != "auto" and language not in LANGUAGES:
        remedy = f"Supported languages: {', '.join(sorted(LANGUAGES))}."
        raise InvalidParameterError("language", 'must be "auto" or an ISO 639-1 code', language, remedy)
    return language


def sentences(text: str, language: str = "auto", *, join_speech: bool = True) -> Units:
    """Return the sentences of a text.

    Args:
        text: The text.
        language: ISO 639-1 code, or "auto" to detect it from samples of the text. A text with fewer than 200 letters is
            treated as English, whose rules also suit other alphabets.
        join_speech: Whether a quoted question or exclamation and the lower-case words after it are one sentence
            (`"Is it?" she asked.`). Punkt itself splits them.

    Returns:
        Spans of the sentences, without the white space between them.
    """
    if language == "auto":
        language = detect_language(text)
    lines = with_line_feeds(text)
    line_end = _LINE if language in _UNSPACED_LANGUAGES else _BLANK_LINE
    certain = [m.end() for m in line_end.finditer(lines)]
    if not text.isascii():
        certain = sorted({*certain, *(m.end() for m in _UNSPACED_STOP.finditer(text))})
    if language in PUNKT_LANGUAGES:
        starts = [0, *punkt_of(language).starts(text, join_speech)]
    else:
        inside = {mark + 1 for mark in image_marks(text)}
        starts = [0, *(start for start in _sentencex_starts(text, language, certain) if start not in inside)]
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
    """Return the ISO 639-1 code of a text's language, detected from its beginning, middle and end.

    Args:
        text: The text; with fewer than 200 letters, it is treated as English.
    """
    middle = (len(text) - _SAMPLE) // 2
    sample = text if len(text) <= 3 * _SAMPLE else text[:_SAMPLE] + text[middle : middle + _SAMPLE] + text[-_SAMPLE:]
    if sum(map(str.isalpha, sample)) < _FEWEST_LETTERS:
        return "en"
    if is_surely_english(sample):
        return "en"
    import py3langid  # Here, since its model takes longer to load than all other modules.

    code = str(py3langid.classify(sample.encode("utf-8", "replace").decode())[0])
    return "en" if code == "zxx" else code  # for "no language"


def is_surely_english(sample: str) -> bool:
    """Return whether a text has many common English words and no letters outside ASCII."""
    found = len(_ENGLISH_WORD.findall(sample))
    if found < _FEWEST_ENGLISH_WORDS or found < _ENGLISH_SHARE * len(sample.split()):
        return False
    return all(character.isascii() or not character.isalpha() for character in sample)


def _sentencex_starts(text: str, language: str, certain: list[int]) -> Iterator[int]:
    # Rust requires valid Unicode; one-to-one replacement keeps the offsets.
    valid = replace_surrogates(text)
    # Without white space between sentences, sentencex takes quadratic time, so it gets the text in pieces that end
    # at certain sentence ends.
    start = 0
    for end in [*certain, len(text)]:
        if end - start >= _PIECE or end == len(text):
            yield from _starts_between(valid, language, start, end)
            start = end


def _starts_between(text: str, language: str, start: int, end: int) -> Iterator[int]:
    """Yield the starts of the sentences in a range, which is read in windows."""
    with needs("languages"):
        import sentencex

    is_first = True
    while start < end:
        stop = min(end, start + _WINDOW)
        found = [start + int(s["start_index"]) for s in sentencex.get_sentence_boundaries(language, text[start:stop])]
        yield from found if is_first else found[1:]
        # The next window begins with the last sentence, which this window may have cut.
        start, is_first = (found[-1] if len(found) > 1 and stop < end else stop), False
