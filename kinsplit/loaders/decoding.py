"""Decoding of bytes by the rules in the package docstring."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

# UTF-32 first: its little-endian mark begins with the one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings with a mark or with zeros are recognised before any guess; as guesses for short texts they are always wrong.
_NEVER_GUESSED = ["utf_7", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"]
# Escapes of text in ASCII rather than encodings: they would change the text.
_ESCAPES = frozenset({"unicode-escape", "raw-unicode-escape", "utf-7"})
#: Bullets and arrows of Symbol and Wingdings by code point.
SYMBOLS = str.maketrans({"\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf0e0": "→", "\uf0df": "←"})
_WINDOWS = re.compile("[\x80\x82-\x84\x86-\x8c\x8e\x91-\x9c\x9e\x9f]")  # U+0085 is a line end.
_REFUSED = re.compile("[\0\ud800-\udfff]")


class Decoded(NamedTuple):
    """A text and the decisions that were made to decode it."""

    text: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Return the text of a file's bytes without a byte order mark, and warnings of decisions except plain UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_marked(data[len(mark) :], encoding)
    if utf16 := _unmarked_utf16(data):
        return Decoded(data.decode(utf16), (f"has no byte order mark; read as {utf16} by its zero bytes",))
    if (text := _try(data, "utf-8")) is not None:
        return Decoded(text)
    if declared and (meant := _declared(declared)) and (text := _try(data, meant)) is not None:
        return Decoded(text, (f"is not UTF-8; read as {declared}, which the file declares",))
    guess = _guess(data)
    if guess is not None:
        return Decoded(data.decode(guess, "replace"), (f"is not UTF-8; read as {guess}, the best guess",))
    warning = "is in no known encoding; read as UTF-8 with U+FFFD for every invalid sequence"
    return Decoded(data.decode("utf-8", "replace"), (warning,))


def clean(text: str) -> Decoded:
    """Replace NUL and lone surrogates by U+FFFD, one for one, and count them in a warning."""
    cleaned, count = _REFUSED.subn("\ufffd", text)
    warnings = (f"{count:,} NUL or lone surrogate code points were replaced by U+FFFD",) if count else ()
    return Decoded(cleaned, warnings)


def legible(text: str) -> str:
    """Replace code points that no font shows by what they stand for, one for one.

    Bullets and arrows of symbol fonts, which Word writes as private-use code points, become those of Unicode; and
    control characters that are quotation marks and dashes of Windows-1252, misread as Latin-1, become these.
    """
    if any(chr(symbol) in text for symbol in SYMBOLS):
        text = text.translate(SYMBOLS)
    return _WINDOWS.sub(lambda match: match[0].encode("latin-1").decode("cp1252"), text)


def _decode_marked(data: bytes, encoding: str) -> Decoded:
    warning = f"read as {encoding} by its byte order mark"
    if (text := _try(data, encoding)) is not None:
        return Decoded(text, () if encoding == "utf-8" else (warning,))
    return Decoded(data.decode(encoding, "replace"), (f"{warning}, with U+FFFD for every invalid sequence",))


def _unmarked_utf16(data: bytes) -> str | None:
    # Latin text in UTF-16 is also valid UTF-8 with many NULs: only the pattern of the zeros distinguishes them.
    if len(data) % 2 or b"\0" not in data:
        return None
    half = len(data) // 2
    even, odd = data[::2].count(0), data[1::2].count(0)
    for encoding, mostly, hardly in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if mostly > 0.4 * half and hardly < 0.02 * half and _try(data, encoding) is not None:
            return encoding
    return None


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (LookupError, ValueError):  # no such text encoding, or not this one
        return None


def _declared(encoding: str) -> str | None:
    """Return the encoding that a declaration means, or None if it can't be right."""
    try:
        name = codecs.lookup(encoding).name
        # The declaration was found by its ASCII letters, so it can't be UTF-16 or EBCDIC.
        possible = name not in _ESCAPES and b"coding 1".decode(name) == "coding 1"
    except (LookupError, ValueError):
        return None
    # As in browsers: a file that declares Latin-1 or ASCII and isn't UTF-8 is Windows-1252.
    return ("cp1252" if name in {"iso8859-1", "ascii"} else encoding) if possible else None


def _guess(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    matches = from_bytes(data, cp_exclusion=_NEVER_GUESSED)
    best = matches.best()
    if best is None:
        return None
    equals = [m for m in matches if (m.chaos, m.coherence) == (best.chaos, best.coherence)]
    return "cp1252" if any("cp1252" in m.could_be_from_charset for m in equals) else best.encoding
