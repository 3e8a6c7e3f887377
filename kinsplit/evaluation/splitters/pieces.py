"""Results of splitters of any library, as text and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers.units.sentences import code_points, is_space
from kinsplit.spans import Span


class ForeignPiece(NamedTuple):
    """A chunk as a foreign splitter reports it.

    Attributes:
        text: Text; None if only offsets are reported.
        start: Reported start; None if there is none.
        end: Reported end; None if there is none.
    """

    text: str | None
    start: int | None = None
    end: int | None = None


_TEXTS = ("page_content", "text")
_STARTS = ("start_char_idx", "start_index", "start", "char_start")
_ENDS = ("end_char_idx", "end_index", "end", "char_end")


def to_pieces(found: object) -> list[ForeignPiece]:
    """Convert the result of a splitter to pieces.

    Args:
        found: Strings, pairs of offsets, or objects with a text or offsets: nodes of LlamaIndex (those with children
            are ignored), documents of LangChain, chunks of chonkie.

    Raises:
        InvalidParameterError: The result is something else.
    """
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        remedy = "Return a list of strings, of (start, end) or of objects that have `start` and `end`."
        raise InvalidParameterError("strategy", "must return a list of chunks", found, remedy)
    return [_to_piece(item) for item in found if not getattr(item, "child_nodes", None)]


def _to_piece(item: Any) -> ForeignPiece:
    if isinstance(item, str):
        return ForeignPiece(item)
    if isinstance(item, tuple | list) and len(item) == 2 and all(_offset(number) is not None for number in item):
        return ForeignPiece(None, *map(_offset, item))
    texts = [text for name in _TEXTS if isinstance(text := getattr(item, name, None), str)]
    text, start, end = texts[0] if texts else None, _first(item, _STARTS), _first(item, _ENDS)
    if text is None and (start is None or end is None):
        remedy = "Return strings, (start, end) or objects that have `text`, or `start` and `end`."
        raise InvalidParameterError("strategy", "must return chunks with a text or offsets", item, remedy)
    if start is not None and end is None and text is not None:
        end = start + len(text)
    return ForeignPiece(text, start, end)


def _first(item: Any, names: Iterable[str]) -> int | None:
    """Return the first available offset of an item, from its attributes or its metadata."""
    metadata = getattr(item, "metadata", None)
    values = metadata if isinstance(metadata, Mapping) else {}
    for name in names:
        number = _offset(getattr(item, name, None))
        if number is None:
            number = _offset(values.get(name))
        if number is not None:
            return number
    return None


def _offset(value: object) -> int | None:
    """Return a value if it is a valid offset: attributes may be methods, and -1 stands for "not found"."""
    return int(value) if hasattr(value, "__index__") and not isinstance(value, bool) and int(value) >= 0 else None


def locate(text: str, pieces: Iterable[ForeignPiece]) -> tuple[list[Span], list[str]]:
    """Locate chunks in their document.

    Reported offsets are used if they give the chunk's text and no earlier chunk has the same span. Any other chunk is
    searched for after the start of the previous one, preferably ending after it; then anywhere; then ignoring white
    space and case, which tokenizers change.

    Args:
        text: Text of the document.
        pieces: Chunks of the document; blank and empty ones are ignored.

    Returns:
        The spans in order, and the texts that don't occur in the document.
    """
    finder, spans, lost = _Finder(text), list[Span](), list[str]()
    for piece in pieces:
        span = finder.find(piece)
        if span is not None:
            spans.append(span)
        elif piece.text and not piece.text.isspace():
            lost.append(piece.text)
    return sorted(span for span in spans if text[span.start : span.end].strip()), lost


class _Finder:
    """Finder of a document's chunks, one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._before = Span(-1, -1)
        self._found: set[Span] = set()

    def find(self, piece: ForeignPiece) -> Span | None:
        given = self._given(piece)
        if given is not None and (piece.text is None or given not in self._found):
            span: Span | None = given
        elif piece.text and not piece.text.isspace():
            span = self._exact(piece.text) or self._squeezed(piece.text)
        else:
            return None
        if span is not None:
            self._before = span
            self._found.add(span)
        return span

    def _given(self, piece: ForeignPiece) -> Span | None:
        if piece.start is None or piece.end is None or not piece.start < piece.end <= len(self._text):
            return None
        is_so = piece.text is None or self._text[piece.start : piece.end] == piece.text
        return Span(piece.start, piece.end) if is_so else None

    def _exact(self, wanted: str) -> Span | None:
        start = _next(self._text, wanted, self._before)
        return None if start < 0 else Span(start, start + len(wanted))

    def _squeezed(self, wanted: str) -> Span | None:
        solid, places = self._solid
        wanted = squeezed(wanted)
        before = Span(*(int(place) for place in np.searchsorted(places, self._before)))
        start = _next(solid, wanted, before if self._found else self._before)
        return None if start < 0 else Span(int(places[start]), int(places[start + len(wanted) - 1]) + 1)

    @cached_property
    def _solid(self) -> tuple[str, np.ndarray[tuple[int], np.dtype[np.intp]]]:
        """The squeezed text, and the offset of each of its characters."""
        return squeezed(self._text), np.flatnonzero(~is_space(code_points(self._text)))


def squeezed(text: str) -> str:
    """Return a text in lower case without white space; a character whose lower case is several is kept."""
    solid = "".join(text.split())
    lower = solid.lower()
    return lower if len(lower) == len(solid) else "".join(c.lower() if len(c.lower()) == 1 else c for c in solid)


def _next(text: str, wanted: str, before: Span) -> int:
    """Return the next offset of a text after the start of a span, preferably ending beyond it; else any, else -1."""
    first = at = text.find(wanted, before.start + 1)
    while 0 <= at <= before.end - len(wanted):
        at = text.find(wanted, at + 1)
    if at >= 0:
        return at
    return first if first >= 0 else text.find(wanted)


class GivenChunks:
    """A splitter that returns existing chunks.

    White space and case are ignored. A chunk belongs to the document of the previous chunk if it occurs there after
    it, otherwise to the next document that holds it. A chunk that no document holds is assigned to the document of
    the previous one, and reported as lost.

    Args:
        chunks: Texts of the chunks, in the order of the documents.
        texts: Texts of the documents.
    """

    def __init__(self, chunks: Sequence[str], texts: Sequence[str]) -> None:
        self._own: dict[str, list[str]] = {}
        solid = [squeezed(text) for text in texts]
        at, behind = 0, 0
        for chunk in chunks:
            if wanted := squeezed(chunk):
                for step in range(len(texts)):
                    number = (at + step) % len(texts)
                    place = solid[number].find(wanted, 0 if step else behind)
                    if place >= 0:
                        at, behind = number, place + 1
                        break
                self._own.setdefault(texts[at], []).append(chunk)

    def __call__(self, text: str) -> list[str]:
        """Return the chunks of a document."""
        return self._own.get(text, [])
