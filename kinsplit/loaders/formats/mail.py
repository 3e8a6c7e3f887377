"""E-mails (`.eml`) and mailboxes (`.mbox`).

The subject is a heading, and every part that holds text follows: text, the HTML read like a page, invitations, and
forwarded messages with their headers below a heading. Of alternatives, the text is read, unless it is empty or the HTML
has more: a table, or twice the words. Sender, recipients and date go into the metadata (`title`, `from`, `to`, `cc`,
`date`). Attachments are documents of their own. Encrypted parts and signatures are left out and counted in a warning.

Each message of a mailbox is a document, as if it were a file of its own.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import email.policy
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from email.message import Message
from typing import cast

from kinsplit.loaders.content import Attachment, Format, LeftOut, Reading, UnreadableError
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.formats import html
from kinsplit.loaders.markup.markdown import escaped, markdown_content

_HEADERS = ("from", "to", "cc", "date")
_DEEPEST_HEADING = 6
_WORD = re.compile(r"=\?([^?\s]{1,75})\?([bBqQ])\?([^?]*)\?=")
_ARMOUR = re.compile(r"^-----BEGIN PGP MESSAGE-----$.*?(?:^-----END PGP MESSAGE-----$|\Z)", re.DOTALL | re.MULTILINE)
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")
# An end of a line that quoted-printable hides, and that got spaces on its way.
_WRAPPED = re.compile(r"=[ \t]+(\r?\n)")
_FILE = re.compile(r"^begin [0-7]{3,4} (\S.*)$", re.MULTILINE)
_MESSAGES = ("message/rfc822", "message/global")
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_MARKED_UP = ("text/html", "text/enriched", "text/richtext")
# The line before a message in a mailbox, which ends with a time and a year.
_POSTMARK = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\d\d:\d\d[^\n]*\n")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def read_mail(data: bytes) -> Reading:
    """Return the text of an e-mail, and its attachments."""
    body = _Body()
    try:
        message = _parsed(data.removeprefix(codecs.BOM_UTF8).lstrip().removeprefix(b">"))
        if not message.keys():
            raise UnreadableError("is not an e-mail: it has no header. Save it again as .eml.")
        body.add(message)
    except RecursionError as error:
        raise UnreadableError("has parts that are nested too deeply. Save the inner message as a file.") from error
    subject = _header(message, "subject")
    metadata = {name: value for name in _HEADERS if (value := _header(message, name))}
    text = "\n\n".join(filter(None, [f"# {subject}" if subject else "", *body.blocks]))
    content = markdown_content(text, subject or None, metadata=metadata)
    return Reading((content,), tuple(body.warnings()), attachments=tuple(body.attachments))


class _Body:
    """Collects the text of an e-mail's parts."""

    def __init__(self, depth: int = 1) -> None:
        self.blocks: list[str] = []
        self.attachments: list[Attachment] = []
        self._told: Counter[str] = Counter()
        self._left_out = LeftOut()
        self._depth = depth  # level of the heading above

    def add(self, part: Message) -> None:
        """Add a part with all parts inside it."""
        kind, inner = part.get_content_type(), part.get_payload()
        if kind in _ENCRYPTED:
            self._left_out.add("encrypted or sealed part")
        elif kind in _MESSAGES:
            self._forward(part)
        elif isinstance(inner, list) and kind == "multipart/alternative":
            self._choose(cast("list[Message]", inner))
        elif isinstance(inner, list) and kind.startswith("message/"):  # a report, whose parts are headers alone
            fields = (
                "\n".join(f"{name}: {_decoded(value)}" for name, value in one.raw_items())
                for one in cast("list[Message]", inner)
            )
            self.blocks += filter(None, map(escaped, fields))
        elif isinstance(inner, list):
            for one in cast("list[Message]", inner):
                self.add(one)
        elif kind in _SIGNATURES:
            self._left_out.add("signature")
        elif kind == "text/calendar":
            self.blocks += map(escaped, _events(self._text(part)))
        elif part.get_content_disposition() == "attachment" or _file_name(part) or not _is_text(kind):
            self.attachments.append(Attachment(_file_name(part), _bytes(part), kind))
        elif block := self._block(part):
            self.blocks.append(block)

    def warnings(self) -> Iterator[str]:
        """Yield what was decided and what was left out."""
        for warning, count in self._told.items():
            yield f"a part {warning}" if count == 1 else f"{count:,} parts: {warning}"
        yield from self._left_out.warnings

    def _forward(self, part: Message) -> None:
        """Add a message inside the message, below a heading."""
        for message in cast("list[Message]", part.get_payload()):
            if _header(part, "content-transfer-encoding").lower() == "base64":
                message = _parsed(_of_base64(message.as_bytes()))
            self._depth += 1
            level = "#" * min(self._depth, _DEEPEST_HEADING)
            stated = [f"{name.title()}: {value}" for name in _HEADERS if (value := _header(message, name))]
            self.blocks += [
                f"{level} {_header(message, 'subject') or 'Forwarded message'}",
                *filter(None, ["\n".join(stated)]),
            ]
            self.add(message)
            self._depth -= 1

    def _choose(self, alternatives: Sequence[Message]) -> None:
        """Add the first of some alternatives that has text, or a later one that has more."""
        best: _Body | None = None
        for one in alternatives:
            if one.get_content_type() == "text/x-amp-html":  # which always comes with HTML
                continue
            body = _Body(self._depth)
            body.add(one)
            self.attachments += body.attachments
            self._told += body._told
            self._left_out += body._left_out
            if one.get_content_type() == "text/calendar":
                self.blocks += body.blocks
            elif best is None or body._exceeds(best):
                best = body
        if best:
            self.blocks += best.blocks

    def _exceeds(self, other: _Body) -> bool:
        own, others = "\n\n".join(self.blocks), "\n\n".join(other.blocks)
        has_table = "\n| --- |" in own and "\n| --- |" not in others
        return has_table or len(own.split()) > 2 * len(others.split())

    def _block(self, part: Message) -> str:
        if part.get_content_type() in _MARKED_UP:
            is_declared = part.get_content_charset() is not None  # else perhaps by the page
            page = html.readable_html(self._text(part)) if is_declared else html.read_page(_bytes(part))
            self._told.update(page.warnings)
            self._left_out += page.left_out
            return page.text
        text, hidden = _ARMOUR.subn("", self._text(part))
        if hidden:
            self._left_out.add("encrypted or sealed part", count=hidden)
        text = self._without_files(text)
        if str(part.get_param("format", "")).lower() == "flowed":
            text = _unflowed(text, delete_space=str(part.get_param("delsp", "")).lower() == "yes")
        return escaped(text.strip("\n"))

    def _without_files(self, text: str) -> str:
        """Return text without files between its lines (uuencode), which become attachments."""
        kept: list[str] = []
        at = 0
        for begin in _FILE.finditer(text):
            end = text.find("\nend\n", begin.end()) if begin.start() >= at else -1
            lines = text[begin.end() + 1 : end].encode().splitlines() if end >= 0 else []
            with suppress(binascii.Error):
                if data := b"".join(map(binascii.a2b_uu, lines)):
                    self.attachments.append(Attachment(begin[1], data))
                    kept.append(text[at : begin.start()])
                    at = end + len("\nend\n")
        return "".join([*kept, text[at:]])

    def _text(self, part: Message) -> str:
        text, warnings = decode(_bytes(part), part.get_content_charset())
        self._told.update(warnings)
        return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_text(kind: str) -> bool:
    return kind.startswith(("text/", "multipart/")) and kind != "text/rtf"


def _parsed(data: bytes) -> Message:
    return email.message_from_bytes(data, policy=email.policy.compat32)


def _bytes(part: Message) -> bytes:
    """Return the bytes of a part without its transfer encoding."""
    raw, data = part.get_payload(), part.get_payload(decode=True)
    if not isinstance(data, bytes) or not isinstance(raw, str):
        return b""
    encoding = _header(part, "content-transfer-encoding").lower()
    if encoding == "quoted-printable":
        return binascii.a2b_qp(_WRAPPED.sub(r"=\1", raw).encode("utf-8", "surrogateescape"))
    if encoding == "base64" and data.strip() == raw.encode().strip():
        return _of_base64(data)  # which the standard library refuses if its end is missing
    return data


def _of_base64(data: bytes) -> bytes:
    letters = _NO_BASE64.sub(b"", data)
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))


def _file_name(part: Message) -> str:
    name = part.get_filename()
    return _decoded(name) if name else ""


def _header(message: Message, name: str) -> str:
    raw = next((value for stated, value in message.raw_items() if stated.lower() == name), "")
    return _decoded(raw)


def _decoded(value: object) -> str:
    """Return a header on one line, with its encoded words decoded.

    Words of one encoding are joined before, since some programs cut them inside of a character.
    """
    raw = str(value)
    if not raw.isascii():
        raw = decode(raw.encode("utf-8", "surrogateescape")).text
    parts: list[tuple[str, bytes]] = []  # texts without an encoding, and words with theirs
    at = 0
    for word in _WORD.finditer(raw):
        between = raw[at : word.start()]
        if between.strip() or not (parts and parts[-1][0]):
            parts.append(("", between.encode()))
        charset, data = word[1].partition("*")[0].lower(), _of_word(word[2].lower(), word[3])
        if parts[-1][0] == charset:
            parts[-1] = (charset, parts[-1][1] + data)
        else:
            parts.append((charset, data))
        at = word.end()
    parts.append(("", raw[at:].encode()))
    return " ".join("".join(decode(data, charset or None).text for charset, data in parts).split())


def _of_word(form: str, text: str) -> bytes:
    if form == "q":
        return binascii.a2b_qp(text.encode(), header=True)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return text.encode()


def _unflowed(text: str, *, delete_space: bool) -> str:
    """Return text whose long lines were wrapped with a space at the end of each line (RFC 3676)."""
    lines: list[list[str]] = []  # with what is joined in each
    before, flows = 0, False
    for line in text.split("\n"):
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content.removeprefix(" ")
        if flows and depth == before and content != "-- ":
            lines[-1][-1] = lines[-1][-1][:-1] if delete_space else lines[-1][-1]
            lines[-1].append(content)
        else:
            lines.append([">" * depth + (" " if depth else ""), content])
        before, flows = depth, content.endswith(" ") and content != "-- "
    return "\n".join(map("".join, lines))


def read_mailbox(data: bytes) -> Reading:
    """Return the messages of a mailbox, as attachments to nothing."""
    marks = list(_POSTMARK.finditer(data))
    if not marks or marks[0].start():
        raise UnreadableError("is not a mailbox: its first line doesn't begin with 'From '. Export it again as mbox.")
    ends = [*(mark.start() for mark in marks[1:]), len(data)]
    messages = (_QUOTED_FROM.sub(rb"\1", data[mark.end() : end]) for mark, end in zip(marks, ends, strict=True))
    return Reading((), attachments=tuple(Attachment(f"{n}.eml", one) for n, one in enumerate(messages, 1)))


_EVENTS = ("VEVENT", "VTODO")
_SHOWN = {
    "SUMMARY": "Event",
    "DTSTART": "Start",
    "DTEND": "End",
    "DUE": "Due",
    "LOCATION": "Location",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "Attendee",
    "STATUS": "Status",
    "RRULE": "Repeats",
    "DESCRIPTION": "Description",
}
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d*(Z?))?")
_LINE = re.compile(r"([A-Za-z-]+)((?:;[^:\"]*(?:\"[^\"]*\"[^:\"]*)*)?):(.*)")
_PARAMETER = re.compile(r";(TZID|CN)=(?:\"([^\"]*)|([^;:\"]*))", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([nN,;\\])")


def _events(source: str) -> Iterator[str]:
    """Yield the text of each event and task of a calendar."""
    block: list[str] = []
    around: list[str] = []
    for line in re.sub(r"\n[ \t]", "", source).split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        name, value = match[1].upper(), match[3].strip()
        if name == "BEGIN":
            around.append(value.upper())
        elif name == "END" and around:
            if around.pop() in _EVENTS and block:
                yield "\n".join(block)
                block = []
        elif around and around[-1] in _EVENTS and value and name in _SHOWN:
            block.append(f"{_SHOWN[name]}: {_event_value(value, match[2])}")
    if block:
        yield "\n".join(block)


def _event_value(value: str, parameters: str) -> str:
    """Return a value as a calendar shows it: times in their zone, people by their names."""
    stated = {name.upper(): quoted or bare for name, quoted, bare in _PARAMETER.findall(parameters)}
    if time := _TIME.fullmatch(value):
        year, month, day, hour, minute, utc = time.groups()
        zone = " UTC" if utc else f" ({stated['TZID']})" if "TZID" in stated else ""
        return f"{year}-{month}-{day}" + (f" {hour}:{minute}{zone}" if hour else "")
    text = _ESCAPED.sub(lambda escape: "\n" if escape[1] in "nN" else escape[1], value)
    address = text[7:] if text[:7].lower() == "mailto:" else text
    return f"{stated['CN']} <{address}>" if stated.get("CN") and address != text else address


MAIL = Format("mail", (".eml",), "the subject as a heading, and the text; attachments as documents", read_mail)
MAILBOX = Format("mail", (".mbox",), "each message as a document, with its attachments", read_mailbox)
