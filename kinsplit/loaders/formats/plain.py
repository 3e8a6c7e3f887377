"""Plain text and logs."""

from __future__ import annotations

from kinsplit.loaders.content import Content, Format, Reading
from kinsplit.loaders.decoding import clean, decode
from kinsplit.loaders.markup.headings import plain_headings


def read_text(data: bytes) -> Reading:
    """Return the text of a plain text file."""
    text, warnings = decode(data)
    return Reading((Content(text, headings=plain_headings(clean(text).text)),), warnings)


TEXT = Format("text", (".txt", ".text", ".rst"), "plain text, as it is", read_text)


def read_log(data: bytes) -> Reading:
    """Return the text of a log."""
    text, warnings = decode(data)
    return Reading((Content(text, kind="records"),), warnings)


LOG = Format("text", (".log",), "plain text, as it is", read_log)
