"""Plain text and rich text."""

from __future__ import annotations

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import clean, decode, legible
from kinsplit.loaders.formats.headings import plain_headings
from kinsplit.loaders.formats.markdown import escaped
from kinsplit.support.extras import needs


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


def read_rich_text(data: bytes) -> Reading:
    """Return the text of an RTF file."""
    with needs("files"):
        from striprtf.striprtf import rtf_to_text

    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnreadableError("is not a valid RTF file: it doesn't begin as such files do. Save it again.")
    text: str = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    lines = (" ".join(line.split()) for line in text.splitlines())
    plain = escaped(legible("\n\n".join(line for line in lines if line)))
    return Reading((Content(plain, headings=plain_headings(plain)),))


RICH_TEXT = Format("rtf", (".rtf",), "plain paragraphs", read_rich_text)
