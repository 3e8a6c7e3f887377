"""Where a document's spans lie in a text that was joined from slices of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kinsplit.chunk import Span, stretches
from kinsplit.server.models.base import TextRange
from kinsplit.server.offsets import Utf16


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
