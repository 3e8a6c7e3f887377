"""Rich Text Format (`.rtf`) as plain paragraphs."""

from __future__ import annotations

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import legible
from kinsplit.loaders.formats.markdown import escaped
from kinsplit.loaders.formats.plain_headings import plain_headings
from kinsplit.support.extras import needs


def read(data: bytes) -> Reading:
    """Return the text of an RTF file."""
    with needs("files"):
        from striprtf.striprtf import rtf_to_text

    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnreadableError("is not a valid RTF file: it doesn't begin as such files do. Save it again.")
    text: str = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    lines = (" ".join(line.split()) for line in text.splitlines())
    plain = escaped(legible("\n\n".join(line for line in lines if line)))
    return Reading((Content(plain, headings=plain_headings(plain)),))


FORMAT = Format("rtf", (".rtf",), "plain paragraphs", read)
