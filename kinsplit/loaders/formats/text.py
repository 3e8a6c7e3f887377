"""Plain text, unchanged."""

from __future__ import annotations

from kinsplit.loaders.content import Content, Format, Reading
from kinsplit.loaders.decoding import decode


def read(data: bytes) -> Reading:
    """Return the text of a plain text file."""
    text, warnings = decode(data)
    return Reading((Content(text),), warnings)


FORMAT = Format("text", (".txt", ".text", ".log", ".rst"), "plain text, as it is", read)
