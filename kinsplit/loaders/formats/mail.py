"""E-mails (`.eml`): the subject as a heading, then the text, or else the HTML read like a page.

Subject, sender, recipients and date go into the metadata (`title`, `from`, `to`, `date`). Attachments are left out and
named in a warning.
"""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import cast

from kinsplit.loaders.content import Format, Reading, UnreadableError
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.formats.html import readable_html
from kinsplit.loaders.formats.markdown import escaped, markdown_content

_HEADERS = ("from", "to", "date")


def read(data: bytes) -> Reading:
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


FORMAT = Format("mail", (".eml",), "the subject as a heading, and the text", read)
