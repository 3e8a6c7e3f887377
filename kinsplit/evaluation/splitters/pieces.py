"""Results of splitters of any library, as text and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kinsplit.errors import InvalidParameterError


class Piece(NamedTuple):
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


def to_pieces(found: object) -> list[Piece]:
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


def _to_piece(item: Any) -> Piece:
    if isinstance(item, str):
        return Piece(item)
    if isinstance(item, tuple | list) and len(item) == 2 and all(_offset(number) is not None for number in item):
        return Piece(None, *map(_offset, item))
    texts = [text for name in _TEXTS if isinstance(text := getattr(item, name, None), str)]
    text, start, end = texts[0] if texts else None, _first(item, _STARTS), _first(item, _ENDS)
    if text is None and (start is None or end is None):
        remedy = "Return strings, (start, end) or objects that have `text`, or `start` and `end`."
        raise InvalidParameterError("strategy", "must return chunks with a text or offsets", item, remedy)
    if start is not None and end is None and text is not None:
        end = start + len(text)
    return Piece(text, start, end)


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
