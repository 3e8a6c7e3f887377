"""Foreign text made safe for reports, logs, errors and terminals."""

from __future__ import annotations

import unicodedata

# Control and format characters, surrogates, and the ends of lines and paragraphs.
_ACTIVE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Joiners within words and emoji sequences; harmless elsewhere.
_JOINERS = frozenset("\u200c\u200d")
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\ufffd")


def inline(text: str) -> str:
    r"""Escape a text of foreign origin, such as a file name, so that it stays within one line.

    Characters that would end the line, change the direction of writing, hide text or control a terminal become Python
    escapes: a line feed `\n`, U+202E `\u202e`.
    """
    if text.isprintable():
        return text
    return "".join(repr(letter)[1:-1] if _is_active(letter) else letter for letter in text)


def visible(text: str) -> str:
    """Replace control characters except tab and line feed, each by one character."""
    return text.translate(_CONTROLS)


def _is_active(letter: str) -> bool:
    return unicodedata.category(letter) in _ACTIVE and letter not in _JOINERS
