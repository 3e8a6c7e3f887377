"""Plain text, rich text and e-mail.

E-mails (`.eml`): the subject as a heading, then the text, or else the HTML read like a page. Subject, sender,
recipients and date go into the metadata (`title`, `from`, `to`, `date`). Attachments are left out and named in a
warning.
"""

from __future__ import annotations

import email.policy
from email.message import EmailMessage
from typing import cast

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import clean, decode, legible
from kinsplit.loaders.formats.headings import plain_headings
from kinsplit.loaders.formats.html import readable_html
from kinsplit.loaders.formats.markdown import escaped, markdown_content
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


_HEADERS = ("from", "to", "date")


def read_mail(data: bytes) -> Reading:
    """Return the text of an e-mail."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    if not message.keys():
        raise UnreadableError("is not an e-mail: it has no header. Save it again as .eml.")
    subject = _header(message, "subject")
    body = message.get_body(("plain", "html"))
    text = ""
    warnings: tuple[str, ...] = ()
    if body is not None:
        payload = cast(bytes, body.get_payload(decode=True) or b"")
        text, warnings = decode(payload, body.get_content_charset())
        html = body.get_content_subtype() == "html"
        text = readable_html(text).text if html else escaped("\n".join(text.splitlines()).strip("\n"))
    names = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    if names:
        what = "1 attachment was" if len(names) == 1 else f"{len(names):,} attachments were"
        warnings = (*warnings, f"{what} left out: {', '.join(map(str, names))}")
    metadata = {name: value for name in _HEADERS if (value := _header(message, name))}
    blocks = [f"# {subject}" if subject else "", text]
    return Reading((markdown_content("\n\n".join(filter(None, blocks)), subject or None, metadata=metadata),), warnings)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, AttributeError, TypeError):  # which the standard library raises for malformed ones
        return ""


MAIL = Format("mail", (".eml",), "the subject as a heading, and the text", read_mail)
