"""Sentence boundaries by the rules of Unicode, for texts in any language (Unicode Standard Annex #29, section 5).

The annex asks to tailor its rules to the kind of text. Here, the end of a line is a space, since lines are wrapped; a
word of a single letter with a full stop is an abbreviation (`T. Shevchenko`), and so is one in Latin letters that a
letter of any script follows without a space (`Inc.公司`); a bracket or quotation mark that opens directly behind a stop
begins the next sentence (`so.[1]`); and the marks of Tibetan and Thai, which to Unicode are punctuation only, end
sentences, too.
"""

from __future__ import annotations

import regex

# Shads of Tibetan; angkhankhu and khomut of Thai.
_OTHERS = r"\u0f0d-\u0f12\u0e5a\u0e5b"
#: Members of a character class: the marks that end a sentence, except full stops.
TERMINALS = rf"\p{{SB=STerm}}{_OTHERS}"

_EXTEND = r"[\p{SB=Extend}\p{SB=Format}]*+"  # SB5: they belong to the character before them
_CLOSE = r"(?:[\p{SB=Close}--[\p{Ps}\p{Pi}]]|\p{Pi}(?!\w))"  # some languages close with “, others open with it
_SPACE = r"\p{SB=Sp}\p{SB=Sep}\r\n"
# SB9 to SB11: closing marks and spaces go with the sentence before them.
_STOP = regex.compile(
    rf"(?V1)(?:(?P<dot>\p{{SB=ATerm}})|[{TERMINALS}]){_EXTEND}"
    rf"(?P<closing>(?:{_CLOSE}{_EXTEND})*+)(?P<space>(?:[{_SPACE}]{_EXTEND})*+)"
)
# SB8a: the sentence goes on at another stop, or at a comma, a colon or a dash.
_NEXT_STOP = regex.compile(rf"[\p{{SB=ATerm}}{TERMINALS}]")
_CONTINUATION = regex.compile(r"\p{SB=SContinue}")
# An item of a list or of a dialogue that begins a line.
_ITEM = regex.compile(r"[-*+•‣·–—]")
# SB6 to SB8: it goes on behind a full stop inside a number or a word, or before a word in lower case.
_NUMBER = regex.compile(r"\p{SB=Numeric}")
_CASED = regex.compile(r"[\p{SB=Upper}\p{SB=Lower}]")
_LOWER = regex.compile(
    rf"[^\p{{SB=OLetter}}\p{{SB=Upper}}\p{{SB=Lower}}\p{{SB=ATerm}}{TERMINALS}]*+\p{{SB=Lower}}",
)
_LETTER = regex.compile(r"\p{L}")
_PART = regex.compile(r"[\p{L}\p{M}\p{N}\p{S}]")  # of a word or of a unit, such as °C
_MARK = regex.compile(r"[\p{SB=Extend}\p{SB=Format}]")


def starts(text: str) -> list[int]:
    """Return the starts of all sentences except the first, in linear time."""
    found = []
    for stop in _STOP.finditer(text):
        end = stop.end()
        if end == len(text) or _NEXT_STOP.match(text, end):
            continue
        if not ("\n" in stop["space"] and _ITEM.match(text, end)):
            if _CONTINUATION.match(text, end):
                continue
            if stop["dot"] and _goes_on(text, stop.start(), end, inside=not (stop["closing"] or stop["space"])):
                continue
        found.append(end)
    return found


def _goes_on(text: str, dot: int, end: int, *, inside: bool) -> bool:
    """Return whether a sentence goes on behind a full stop."""
    letter = dot - 1
    while letter > 0 and _MARK.match(text, letter):
        letter -= 1
    if dot and _LETTER.match(text, letter) and not (letter and _PART.match(text, letter - 1)):
        return True
    if inside and _NUMBER.match(text, end):
        return True
    if inside and dot and _LETTER.match(text, end) and _CASED.match(text, letter):
        return True
    return _LOWER.match(text, end) is not None
