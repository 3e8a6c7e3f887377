"""Plain text, unchanged, with the headings of filings and of numbered sections."""

from __future__ import annotations

from kinsplit.loaders.content import Content, Format, Reading
from kinsplit.loaders.decoding import clean, decode
from kinsplit.loaders.formats.plain_headings import plain_headings


def read(data: bytes) -> Reading:
    """Return the text of a plain text file."""
    text, warnings = decode(data)
    return Reading((Content(text, headings=plain_headings(clean(text).text)),), warnings)


FORMAT = Format("text", (".txt", ".text", ".log", ".rst"), "plain text, as it is", read)
