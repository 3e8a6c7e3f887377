from __future__ import annotations

import base64
import re
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.content import Attachment, UnreadableError
from kinsplit.loaders.formats.mail import read_mail, read_mailbox
from tests.loaders.helpers import document_of, load_one


def mail(text: str = "", html: str = "") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Prüfung am\u00a0Montag"
    message["From"] = "Ann <ann@example.org>"
    message["To"] = "bo@example.org, cy@example.org"
    message["Date"] = "Mon, 06 Jan 2020 10:00:00 +0000"
    if text:
        message.set_content(text)
    if html and text:
        message.add_alternative(html, subtype="html")
    elif html:
        message.set_content(html, subtype="html")
    return message


def test_the_subject_is_the_title_and_headers_are_metadata(tmp_path):
    message = mail("Hello\n\n# not a heading\nWörld", "<p>other")
    message.add_attachment(b"1", maintype="application", subtype="pdf", filename="plan.pdf")

    document = document_of(tmp_path / "a.eml", message.as_bytes())

    assert document.text == "# Prüfung am Montag\n\nHello\n\n\\# not a heading\nWörld"
    assert {key: document.metadata[key] for key in ("title", "from", "to", "date", "file_type")} == {
        "title": "Prüfung am Montag",
        "from": "Ann <ann@example.org>",
        "to": "bo@example.org, cy@example.org",
        "date": "Mon, 06 Jan 2020 10:00:00 +0000",
        "file_type": "mail",
    }


def part(kind: str, body: str | bytes, **fields: str) -> bytes:
    """Return a part of an e-mail as it is sent, with an encoding of its own; `_` in a name of a field is `-`."""
    stated = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    data = body.encode() if isinstance(body, str) else body
    return f"Content-Type: {kind}\r\n{stated}\r\n".encode() + data


def parts(*inner: bytes, kind: str = "mixed", between: str = "BOUNDARY") -> bytes:
    lines = b"".join(b"--" + between.encode() + b"\r\n" + one + b"\r\n" for one in inner)
    return part(f"multipart/{kind}; boundary={between}", lines + b"--" + between.encode() + b"--")


def text_of(data: bytes, subject: str = "S") -> str:
    """Return the text below the subject."""
    (content,) = read_mail(f"Subject: {subject}\r\nMIME-Version: 1.0\r\n".encode() + data).contents
    return content.text.partition("\n\n")[2]


def warnings_of(data: bytes) -> tuple[str, ...]:
    return read_mail(b"Subject: S\r\nMIME-Version: 1.0\r\n" + data).warnings


PICTURE = part(
    "image/jpeg; name=boat.jpeg", "/9j/4AAQ", Content_Disposition="inline", Content_Transfer_Encoding="base64"
)


def test_text_after_an_inline_picture_is_kept(tmp_path):
    data = b"Subject: Trip\r\n" + parts(
        part("text/plain", "The boathouse:"), PICTURE, part("text/plain", "It costs 900.")
    )
    path = tmp_path / "a.eml"
    path.write_bytes(data)

    loaded = load_one(path)

    assert [document.text for document in loaded.documents] == ["# Trip\n\nThe boathouse:\n\nIt costs 900."]
    assert loaded.warnings == ("1 picture was left out",)


@pytest.mark.parametrize(
    ("plain", "page", "text"),
    [
        ("", "<p>The regatta is on 14 May.", "The regatta is on 14 May."),
        ("The regatta.", "<p>The <b>regatta</b>.", "The regatta."),
        (
            "Use a browser.",
            "<p>The regatta is on 14 May at noon.",
            "The regatta is on 14 May at noon.",
        ),
        ("a b 1 2", "<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    ],
)
def test_of_alternatives_the_one_with_more_is_read(plain, page, text):
    html = parts(part("text/html", page), PICTURE, kind="related", between="INNER")
    amp = part("text/x-amp-html", f"<html amp>{page} {page} {page}")

    assert text_of(parts(part("text/plain", plain), amp, html, kind="alternative")) == text


def test_a_forwarded_message_is_below_its_headers():
    forwarded = b"Subject: =?utf-8?q?Caf=C3=A9?=\r\nFrom: Cy <cy@x.org>\r\n" + part("text/plain", "Inner text.")
    twice = b"From: bo@example.org\r\n" + parts(part("message/rfc822", forwarded), between="TWICE")

    assert text_of(parts(part("text/plain", "See below."), part("message/rfc822", twice))) == (
        "See below.\n\n## Forwarded message\n\nFrom: bo@example.org\n\n### Café\n\nFrom: Cy <cy@x.org>\n\nInner text."
    )


def test_a_forwarded_message_may_be_packed():
    packed = part(
        "message/rfc822", base64.encodebytes(b"Subject: In\r\n\r\nInside."), Content_Transfer_Encoding="base64"
    )

    assert text_of(parts(packed)) == "## In\n\nInside."


def test_reports_of_delivery_are_text():
    report = part("message/delivery-status", "Reporting-MTA: dns;x\r\n\r\nAction: failed\r\nStatus: 5.1.1")

    assert text_of(parts(part("text/plain", "Undelivered."), report, kind="report")) == (
        "Undelivered.\n\nReporting-MTA: dns;x\n\nAction: failed\nStatus: 5.1.1"
    )


INVITATION = """BEGIN:VCALENDAR
BEGIN:VTIMEZONE
TZID:Europe/Berlin
END:VTIMEZONE
BEGIN:VEVENT
SUMMARY:Budget\\, second
  reading
DTSTART;TZID=Europe/Berlin:20240501T100000
DTEND:20240501T093000Z
ORGANIZER;CN="Ann: chair":mailto:ann@example.org
ATTENDEE:MAILTO:bo@example.org
DESCRIPTION:# Agenda\\n1. Roof
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
END:VCALENDAR"""


def test_an_invitation_is_read_beside_its_text():
    assert text_of(parts(part("text/plain", "Invited."), part("text/calendar", INVITATION), kind="alternative")) == (
        "Event: Budget, second reading\nStart: 2024-05-01 10:00 (Europe/Berlin)\nEnd: 2024-05-01 09:30 UTC\n"
        "Organizer: Ann: chair <ann@example.org>\nAttendee: bo@example.org\nDescription: # Agenda\n1. Roof\n\nInvited."
    )


@pytest.mark.parametrize(
    ("data", "text", "warning"),
    [
        (parts(part("application/pgp-encrypted", "Version: 1"), kind="encrypted"), "", "encrypted or sealed part"),
        (part("application/pkcs7-mime; smime-type=enveloped-data", "MIAG"), "", "encrypted or sealed part"),
        (
            part("text/plain", "Hi.\n-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\nBye."),
            "Hi.\n\nBye.",
            "encrypted or sealed part",
        ),
        (parts(part("text/plain", "Hi."), part("application/pgp-signature", "iQ"), kind="signed"), "Hi.", "signature"),
    ],
)
def test_what_only_a_key_opens_is_left_out_with_a_warning(data, text, warning):
    assert text_of(data) == text
    assert warnings_of(data) == (f"1 {warning} was left out",)


@pytest.mark.parametrize(
    ("encoding", "body", "text"),
    [
        ("quoted-printable", "Gr=C3=BC=C3=9Fe =\r\nund = \t\r\nmehr, 100=% =XY", "Grüße und mehr, 100=% =XY"),
        ("base64", base64.b64encode("Grüße aus Köln".encode())[:-1].decode(), "Grüße aus Köln"),
        ("base64", base64.b64encode("Grüße aus Köln".encode())[:-3].decode(), "Grüße aus Kö"),
        ("8bit", "Grüße", "Grüße"),
        ("no-such", "Grüße", "Grüße"),
        ("x-uuencode", "begin 644 a\n#0V%T\n`\nend\n", "Cat"),
    ],
)
def test_transfer_encodings_are_read_with_their_faults(encoding, body, text):
    kind = "text/plain; charset=utf-8"

    assert text_of(part(kind, body, Content_Transfer_Encoding=encoding)) == text


def test_flowed_lines_are_joined():
    body = "A line that \r\ngoes on.\r\n> quoted \r\n> text\r\n>> deeper \r\nshallow\r\n-- \r\nAnn"
    flowed = 'text/plain; format="flowed"'

    assert text_of(part(flowed, body)) == "A line that goes on.\n> quoted text\n>> deeper \nshallow\n-- \nAnn"
    assert text_of(part(f"{flowed}; delsp=yes", "漢 \r\n字")) == "漢字"
    assert text_of(part("text/plain", "kept \r\nas is")) == "kept \nas is"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (part("text/plain; charset=ISO-2022-JP", b"\x1b$BL@F|\x1b(B"), "明日"),
        (part("text/html; charset=gb2312", "<p>朱镕基".encode("gb18030")), "朱镕基"),
        (part("text/html", '<meta charset="windows-1255"><p>שלום'.encode("cp1255")), "שלום"),
        (part("text/plain; charset=us-ascii", "größer".encode()), "größer"),
    ],
)
def test_the_declared_charset_of_a_part_decides(data, text):
    assert text_of(data) == text
    assert warnings_of(data) == ()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("=?utf-8?B?44GC44E=?=\r\n =?utf-8?B?hA==?=", "あい"),
        ("=?ISO-2022-JP?B?GyRCMnE1RBsoQg==?=", "会議"),
        ("=?gb2312?B?1Oyfab7J?=", "造焛旧"),
        ("Re: =?utf-8?Q?caf=C3=A9_au_lait?= (2)", "Re: café au lait (2)"),
        ("=?utf-8*de?Q?Gr=C3=BC=C3=9Fe an alle?=", "Grüße an alle"),
        ("Grüße, roh", "Grüße, roh"),
        ("=?no-such?Q?a?= =?utf-8?B?not base64?", "a =?utf-8?B?not base64?"),
    ],
)
def test_encoded_headers_are_decoded(raw, shown):
    assert read_mail(f"Subject: {raw}\r\n\r\nx".encode()).contents[0].title == shown


def test_attachments_are_documents_of_their_own(tmp_path):
    message = mail("Hello")
    message.add_attachment(b"bird,count\nheron,3", maintype="text", subtype="csv", filename="birds.csv")
    message.add_attachment(b"Notes.", maintype="text", subtype="plain", filename="../no/tes.txt")
    message.add_attachment(b"More notes.", maintype="text", subtype="plain", filename="tes.txt")
    message.add_attachment(b"diff", maintype="text", subtype="x-diff", filename="fix.patch")
    message.add_attachment(b"# Title", maintype="text", subtype="markdown")
    message.add_attachment(b"{", maintype="application", subtype="json", filename="broken.ipynb")
    message.add_attachment(b"\0", maintype="application", subtype="zip", filename="a.zip")
    message.add_attachment(
        b'{"docid": "r", "text": "Row."}', maintype="application", subtype="json", filename="r.jsonl"
    )
    path = tmp_path / "a.eml"
    path.write_bytes(message.as_bytes())

    loaded = load_one(path)

    own = f"{tmp_path.name}/a.eml"
    read = {one.id.removeprefix(own): (one.text[:11], one.metadata["file_type"]) for one in loaded.documents}
    assert read == {
        "": ("# Prüfung a", "mail"),
        "/birds.csv": ("| bird | co", "table"),
        "/tes.txt": ("Notes.", "text"),
        "/tes (2).txt": ("More notes.", "text"),
        "/fix.patch": ("diff", "text"),
        "/attachment.md": ("# Title", "markdown"),
        "/r.jsonl#r": ("Row.", "json"),
    }
    assert {document.metadata["file_path"] for document in loaded.documents} == {own}
    broken, left_out = loaded.warnings
    assert broken.startswith("broken.ipynb: was left out, since it is not a notebook")
    assert left_out == "1 attachment (a.zip) was left out"


def test_attachments_of_attachments_are_read_to_a_depth(tmp_path):
    data = b"Subject: inmost\r\n\r\nx"
    for _ in range(12):
        data = b"Subject: outer\r\n" + parts(
            part(
                'application/octet-stream; name="in.eml"', base64.encodebytes(data), Content_Transfer_Encoding="base64"
            )
        )
    path = tmp_path / "a.eml"
    path.write_bytes(data)

    loaded = load_one(path)

    assert len(loaded.documents) == 9
    assert loaded.warnings[-1].endswith("1 attachment (in.eml) was left out")


def test_files_between_the_lines_are_attachments():
    reading = read_mail(b"Subject: S\n\nSee:\nbegin 644 a.txt\n#0V%T\n`\nend\nBye.\nbegin 644 b\nnever ends")

    assert reading.contents[0].text == "# S\n\nSee:\nBye.\nbegin 644 b\nnever ends"
    assert reading.attachments == (Attachment("a.txt", b"Cat"),)


def test_each_message_of_a_mailbox_is_a_document(tmp_path):
    mark = "From ann@example.org Mon Jan  1 10:00:00 2024\n"
    second = (b"Subject: two\n" + parts(part("text/plain; name=n.txt", "Note."))).decode()
    (tmp_path / "a.mbox").write_text(
        f"{mark}Subject: one\n\nFrom here on.\n\nFrom there, too.\n>From quoted\n\n{mark}{second}\n\n", newline=""
    )

    documents = load_one(tmp_path / "a.mbox").documents

    assert [(document.id.partition("a.mbox/")[2], document.text) for document in documents] == [
        ("1.eml", "# one\n\nFrom here on.\n\nFrom there, too.\nFrom quoted"),
        ("2.eml", "# two"),
        ("2.eml/n.txt", "Note."),
    ]
    with pytest.raises(UnreadableError, match="is not a mailbox"):
        read_mailbox(b"Subject: one\n\ntext")


def test_parts_that_are_nested_too_deeply_are_told():
    outer = "".join(f"Content-Type: multipart/mixed; boundary=B{level}\n\n--B{level}\n" for level in range(3000))

    with pytest.raises(UnreadableError, match="nested too deeply"):
        read_mail(f"Subject: S\n{outer}".encode())


_TREES = st.recursive(
    st.integers(0, 99).map(lambda number: part("text/plain", f"w{number}x")) | st.just(PICTURE),
    lambda inner: (
        st.builds(
            lambda children, number: parts(*children, between=f"B{number}"),
            st.lists(inner, min_size=1, max_size=3),
            st.integers(0, 10**9),
        )
        | inner.map(lambda one: part("message/rfc822", b"Subject: in\r\n" + one))
    ),
    max_leaves=8,
)


@given(_TREES)
def test_no_text_of_any_part_is_lost(tree):
    assert re.findall(r"w\d+x", text_of(tree)) == re.findall(r"w\d+x", tree.decode())


_PIECES = [
    *(b"--B\n", b"--B--\n", b"Content-Type: multipart/mixed; boundary=B\n\n", b"Content-Type: message/rfc822\n\n"),
    *(b"Content-Transfer-Encoding: base64\n", b"=?utf-8?B?", b"?=", b"text\n", b"\xff\n", b"\n", b"begin 644 a\n"),
]


@given(st.lists(st.sampled_from(_PIECES), max_size=20))
def test_no_message_makes_it_fail(pieces):
    assert read_mail(b"Subject: S\n" + b"".join(pieces)).contents
