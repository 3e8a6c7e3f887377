from __future__ import annotations

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.epub import read
from tests.loaders.office import epub, zipped

_PAGE = '<?xml version="1.0"?><!DOCTYPE html><html><head><title>x</title></head><body>{}</body></html>'
CHAPTERS = {
    "two.xhtml": _PAGE.format("<h1>Down the hole</h1><p>Alice fell&nbsp;&#8212; slowly.</p>"),
    "one.xhtml": _PAGE.format("<h1>The pool</h1><ul><li>tears</li></ul>"),
    "ad.xhtml": _PAGE.format("<p>Buy more</p>"),
}


def test_chapters_come_in_reading_order_and_nothing_else():
    content = read(epub(CHAPTERS, ["two.xhtml", "one.xhtml"], title=" Alice ")).contents[0]

    assert content.text == "# Down the hole\n\nAlice fell — slowly.\n\n# The pool\n\n- tears"
    assert content.title == "Alice"


def test_a_missing_chapter_is_a_warning_and_the_rest_goes_on():
    data = epub({name: text for name, text in CHAPTERS.items() if name != "ad.xhtml"}, ["two.xhtml", "one.xhtml"])
    reading = read(data.replace(b"book/one.xhtml", b"book/One.xhtml"))

    assert reading.contents[0].text.startswith("# Down the hole")
    assert "one.xhtml" in reading.warnings[0]


def test_a_protected_book_is_refused():
    listed = '<encryption><CipherReference URI="book/two.xhtml"/></encryption>'
    fonts = '<encryption><CipherReference URI="book/serif.otf"/></encryption>'

    with pytest.raises(UnreadableError, match="DRM"):
        read(epub(CHAPTERS, ["two.xhtml"], **{"META-INF___encryption__xml": listed}))
    assert read(epub(CHAPTERS, ["two.xhtml"], **{"META-INF___encryption__xml": fonts})).contents[0].text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        zipped({"hello.txt": "x"}),
        zipped({"META-INF/container.xml": "<container/>"}),
        zipped({"META-INF/container.xml": "<cont"}),
        epub(CHAPTERS, []),
        epub(CHAPTERS, ["two.xhtml"], attributes='linear="no"'),
    ],
)
def test_what_is_no_book_is_refused(data):
    with pytest.raises(UnreadableError, match=r"is (broken or )?not a valid e-book|is broken at"):
        read(data)
