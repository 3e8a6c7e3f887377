"""Offsets as JavaScript counts them: in UTF-16 units, of which a character beyond U+FFFF has two."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence

from kinsplit.server.models.base import TextRange
from kinsplit.spans import Span, stretches

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


class Places:
    """Finds spans of a document in a text of an answer.

    Args:
        spans: The slices that the text was joined from, in document order.
        text: The text.
    """

    def __init__(self, spans: Sequence[Span], text: str) -> None:
        self._stretches = stretches(spans, text) or ()
        self._units = Utf16(text)

    def find(self, spans: Iterable[Span]) -> list[TextRange]:
        """Return where spans lie in the text, without what of them is not in it."""
        return [self._range(start, end) for span in spans for start, end in self._inside(span)]

    def _inside(self, span: Span) -> Iterator[tuple[int, int]]:
        for at, (start, end) in self._stretches:
            first, last = max(start, span.start), min(end, span.end)
            if first < last:
                yield at + first - start, at + last - start

    def _range(self, start: int, end: int) -> TextRange:
        return TextRange(start=start, end=end, utf16_start=self._units.offset(start), utf16_end=self._units.offset(end))
