"""Offsets as JavaScript counts them: in UTF-16 units, of which a character beyond U+FFFF has two."""

from __future__ import annotations

import bisect
import re

_BEYOND = re.compile("[\U00010000-\U0010ffff]")


class Utf16:
    """Turns offsets in code points of one text into offsets in UTF-16 units.

    One pass over the text, and a binary search per offset. A lone surrogate is one code point and one unit.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._beyond = [] if text.isascii() else [match.start() for match in _BEYOND.finditer(text)]

    def offset(self, code_points: int) -> int:
        """Return the number of UTF-16 units before a code point.

        Args:
            code_points: Offset of the code point, from 0 to the text's length.
        """
        return code_points + bisect.bisect_left(self._beyond, code_points)
