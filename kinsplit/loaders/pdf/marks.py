"""Raised and lowered characters of a PDF page: `10^5`, not `105`, and `word[1]` for the mark of a note."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Noncharacters around raised and lowered characters, until the page's notes are known.
RAISED, LOWERED = ("\ufdd0", "\ufdd1"), ("\ufdd2", "\ufdd3")
_RAISED, _LOWERED = (re.compile(f"{first}([^{first}{last}]*){last}") for first, last in (RAISED, LOWERED))
_ANY = re.compile("[\ufdd0-\ufdd3]")
_FIRST = re.compile(f"\\s*\\W?{RAISED[0]}([^{RAISED[1]}]*){RAISED[1]}")
_NOTE = re.compile(r"\d{1,3}(?:[,–-]\d{1,3})*")
_POWER = re.compile(r"[-+−–]?(?:\d+|[^\W\d_])")
_SIGN = re.compile(r"[\d+−–-]|[^\W\d_]")
_UNIT = re.compile(r"(?<![^\W\d_])(?:[kmcdµ]?m|km|in|ft|yd|mi|s|g|kg|cm|mm|dm)\Z")
_MOST = 8  # characters that may be raised


def is_mark(text: str) -> bool:
    """Return whether a raised text may be a power or the mark of a note."""
    return len(text) <= _MOST and not any(map(str.isspace, text)) and _SIGN.match(text) is not None


def resolved(texts: Iterable[str]) -> list[str]:
    """Return the texts of a page with `^` before powers, and brackets around the marks of notes.

    Digits after a number are a note's mark if a line of the page begins with the same raised digits.
    """
    texts = list(texts)
    if not any(map(_ANY.search, texts)):
        return texts
    notes = {match[1] for text in texts if (match := _FIRST.match(text))}
    return [_resolved(text, notes) if _ANY.search(text) else text for text in texts]


def _resolved(text: str, notes: set[str]) -> str:
    def raised(match: re.Match[str]) -> str:
        inner, before, after = match[1], text[max(0, match.start() - 20) : match.start()], text[match.end() :][:1]
        if _NOTE.fullmatch(inner):
            if not before.strip():
                return f"[{inner}] " if after.strip() else f"[{inner}]"
            if after in {"/", "⁄"} and before[-1:].isdigit():
                return f" {inner}"
            if after and (after.isalnum() or after in "+-−*/=<>|"):
                is_note = inner in notes
            elif before[-1:].isdigit() or not before[-1:].isalpha():
                is_note = inner in notes or before[-1:] in ".,;:!?\"”’»'"
            else:
                is_note = inner in notes or not (_UNIT.search(before) or not before[-2:-1].isalpha())
            return f"[{inner}]" if is_note else f"^{inner}"
        if before[-1:].isalnum() or before[-1:] in {")", "]", "}"}:
            if _POWER.fullmatch(inner):
                return f"^{inner}"
            return f"^({inner})" if any(map(str.isdigit, inner)) else inner
        return inner

    def lowered(match: re.Match[str]) -> str:
        joins = match[1][:1].isdigit() and text[: match.start()][-1:].isdigit()
        return f"_{match[1]}" if joins else match[1]

    text = _LOWERED.sub(lowered, text)
    return _ANY.sub("", _RAISED.sub(raised, text))
