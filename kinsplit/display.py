"""Names and messages as a line of a report, log or error shows them."""

from __future__ import annotations

import unicodedata

# Control and format characters, surrogates, and the ends of lines and paragraphs.
_ACTIVE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# They join the letters of words and the parts of emoji, and change nothing beyond.
_JOINERS = frozenset("\u200c\u200d")


def inline(text: str) -> str:
    r"""Return a text that comes from elsewhere, such as a file's name, so that it is a part of one line and no more.

    What would end the line, turn the direction of writing, hide or act on a terminal becomes an escape as Python writes
    it: a line feed `\n`, U+202E `\u202e`.
    """
    if text.isprintable():
        return text
    return "".join(repr(letter)[1:-1] if _is_active(letter) else letter for letter in text)


def _is_active(letter: str) -> bool:
    return unicodedata.category(letter) in _ACTIVE and letter not in _JOINERS
