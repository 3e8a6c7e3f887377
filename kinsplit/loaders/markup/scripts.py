"""Superscripts, subscripts and marks of notes on one line, so that no digit joins the number beside it.

| shown | written |
|---|---|
| 10⁵, x raised to n+1, a decimal exponent | `10^5`, `x^(n+1)`, `10^-3` |
| the number of a note, raised behind a word, a full stop or an amount | `word[1]`, `Stop.[12]`, `25%[3]` |
| ordinals, fractions | `1st`, `22nd`, `2 1/2` |
| H₂O, indices | `H2O`, `x_i`, `log_(10)2` |

Only what is raised tells an exponent from a note. Behind a short word it is an exponent (`m^2`), behind a longer one a
note, unless the word is a unit of length.
"""

from __future__ import annotations

import re
from typing import Literal

Script = Literal["superscript", "subscript", "mark"]

_LONGEST = 40  # characters; what is longer is small print rather than a script
_WINDOW = 60  # characters before a script that tell what it is
# Operands that need no brackets next to an operator.
_SINGLE = re.compile(r"[-+\u2212\u2013]?\w+(?:[.,]\d+)?[-+\u2212\u2013]?|\([^()]*\)|.?", re.DOTALL)
_ORDINAL = re.compile(r"st|nd|rd|th|er|ère|ere|re|nde|ème|eme|os|as", re.IGNORECASE)
_NOTES = re.compile(r"\d{1,3}(?:[,;\u2013-] ?\d{1,3})*|[a-z](?:, ?[a-z])*|\(\d{1,2}\)")
_SLASHES = ("/_", "\u2044_")  # before the subscript of a fraction
_POWERED = re.compile(r"feet|foot|inch(?:es)?|(?:mile|yard|met(?:er|re))s?|sinh|cosh|tanh", re.IGNORECASE)
_LAST_WORD = re.compile(r"[^\W\d_]{1,20}\Z")
_AMOUNT = re.compile(r"(?:\d[,.\u202f ']\d{3}|[%‰€$£¥])\Z")
_NUCLIDE = re.compile(r"[A-Z][a-z]?(?![^\W\d_])")


def written(text: str, kind: Script, before: str, after: str) -> str:
    """Return a script as it stands between the text before and after it."""
    text = " ".join(text.split())
    before = before[-_WINDOW:]
    if not text:
        return ""
    if kind == "mark":
        return text if text[0] in "[(" else f"[{text}]"
    if len(text) > _LONGEST:
        return f" {text} "
    return _subscript(text, before, after) if kind == "subscript" else _superscript(text, before, after)


def bracketed(text: str) -> str:
    """Return a part of a formula in brackets if it needs them beside an operator."""
    return text if _SINGLE.fullmatch(text) else f"({text})"


def _superscript(text: str, before: str, after: str) -> str:
    if not any(map(str.isalnum, text)) and not set(text) & set("+-\u2212\u2013"):
        return text  # an asterisk, a trademark, a degree
    if before[-1:].isdecimal() and _ORDINAL.fullmatch(text):
        return text
    if text.isdecimal() and after in _SLASHES and not before[-1:].isalpha():
        return f" {text}" if before[-1:].isdecimal() else text
    if _NOTES.fullmatch(text) and _is_note(text, before, after):
        return text if text[0] == "(" else f"[{text}]"
    if not before or before[-1].isspace():
        return f"^{text}" if _NUCLIDE.match(after) else text
    return f"^{_apart(text, after)}"


def _is_note(text: str, before: str, after: str) -> bool:
    if not before or before[-1].isspace():
        return not text[0].isalpha() and not (before and _NUCLIDE.match(after))
    if word := _LAST_WORD.search(before):
        return (len(word[0]) > 3 or word[0] > "\u2e80") and not _POWERED.fullmatch(word[0])
    if before[-1].isdecimal() and not text.isdecimal():
        return text[0] == "("
    if before[-1].isdecimal():
        # Nobody raises to the first power, and hardly anybody a number with separated thousands.
        return bool(_AMOUNT.search(before)) or (text == "1" and not re.search(r"(?:\b|_)(?:2|10)\Z", before))
    return before[-1] not in ")]}|" or not before.strip()


def _subscript(text: str, before: str, after: str) -> str:
    if text.isdecimal() and before[-1:] in {"/", "\u2044"} and before[-2:-1].isdecimal():
        return text
    if before[-1:].isalpha() and text.isdecimal() and not after[:1].isdecimal():
        return text
    return f"_{_apart(text, after)}" if before and not before[-1].isspace() else text


def _apart(text: str, after: str) -> str:
    """Return a script in brackets if the text after it would continue it."""
    last, first = text[-1], after[:1]
    joined = (last.isdecimal() and first.isdecimal()) or (last.isalpha() and first.isalpha())
    return f"({text})" if joined else bracketed(text)
