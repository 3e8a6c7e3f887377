from __future__ import annotations

from email.message import EmailMessage

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.plain import read_mail
from tests.loaders.helpers import document_of


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
    assert read_mail(message.as_bytes()).warnings == ("1 attachment was left out: plan.pdf",)


def test_html_is_read_where_there_is_no_text():
    assert read_mail(mail(html="<h2>News</h2><ul><li>one").as_bytes()).contents[0].text.endswith("## News\n\n- one")


@pytest.mark.parametrize(
    "data",
    [
        b"Subject: =?bad?x?=\nFrom: <<<>>@\nDate: never\n\nbody \xff",
        b"From: a\nContent-Type: text/plain; charset=no-such\n\nbody",
        b"From: a\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nbody",
    ],
)
def test_malformed_mails_are_read_as_far_as_possible(data: bytes):
    assert read_mail(data).contents[0].text.rpartition("\n")[2].startswith("body")


def test_what_is_no_mail_is_told():
    with pytest.raises(UnreadableError, match="has no header"):
        read_mail(b"")
