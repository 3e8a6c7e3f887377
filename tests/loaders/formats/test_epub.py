from __future__ import annotations

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.epub import read
from tests.loaders.office import changed, epub, zipped

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
        epub({}, []),
        epub({}, ["two.xhtml"]),
    ],
)
def test_what_is_no_book_is_refused(data):
    with pytest.raises(UnreadableError, match=r"is (broken or )?not a valid e-book|is broken at"):
        read(data)


def text_of(data: bytes) -> str:
    return read(data).contents[0].text


def headings_of(data: bytes) -> list[tuple[int, str]]:
    content = read(data).contents[0]
    assert all(content.text[one.start : one.end] for one in content.headings if one.level)
    return [(one.level, one.title) for one in content.headings]


def packaged(pages: dict[str, str], manifest: str, spine: str) -> bytes:
    """Return an e-book with a package file of its own."""
    package = f"""<package xmlns="http://www.idpf.org/2007/opf"><manifest>{manifest}</manifest><spine>{spine}</spine></package>"""
    return changed(epub(pages, []), {"book/content.opf": package})


def test_notes_outside_the_reading_order_come_last():
    pages = {"notes.xhtml": _PAGE.format("<p>The note.</p>"), "one.xhtml": _PAGE.format("<p>Text.</p>")}
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in pages)
    data = packaged(pages, items, '<itemref idref="notes.xhtml" linear="no"/><itemref idref="one.xhtml"/>')

    assert text_of(data) == "Text.\n\nThe note."


def test_a_book_without_an_order_is_read_in_that_of_its_manifest():
    assert (
        text_of(epub({"b.xhtml": _PAGE.format("<p>One</p>"), "a.xhtml": _PAGE.format("<p>Two</p>")}, []))
        == "One\n\nTwo"
    )


def test_a_mark_of_a_note_and_readings_stay_apart_from_the_words():
    page = _PAGE.format(
        "<p>It sank<a epub:type='noteref' href='#n'>1</a> in <ruby>東京<rt>とうきょう</rt></ruby>.</p>"
        "<aside epub:type='footnote' id='n'><p>1. Slowly.</p></aside>"
    )

    assert text_of(epub({"a.xhtml": page}, ["a.xhtml"])) == "It sank[1] in 東京(とうきょう).\n\n1. Slowly."


_NAV = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>
<nav epub:type="toc"><ol><li><a href="a.xhtml">Part <b>one</b></a>
<ol><li><a href="b%20b.xhtml#x">The pool</a></li></ol></li></ol></nav></body></html>"""
_NCX = """<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>
<navPoint><navLabel><text>Part one</text></navLabel><content src="a.xhtml"/>
<navPoint><navLabel><text>The pool</text></navLabel><content src="b%20b.xhtml#x"/></navPoint>
</navPoint></navMap></ncx>"""


@pytest.mark.parametrize(
    ("name", "contents", "kind"),
    [("nav.xhtml", _NAV, 'application/xhtml+xml" properties="nav'), ("toc.ncx", _NCX, "application/x-dtbncx+xml")],
)
def test_the_table_of_contents_names_chapters_without_headings(name, contents, kind):
    pages = {
        "a.xhtml": _PAGE.format("<p>PART<br/>One</p><p>Text.</p>"),
        "b b.xhtml": _PAGE.format("<p>She swam.</p>"),
        "c.xhtml": _PAGE.format("<h2>Tears</h2><p>More.</p>"),
    }
    items = "".join(f'<item id="{page[0]}" href="{page}" media-type="application/xhtml+xml"/>' for page in pages)
    items += f'<item id="n" href="{name}" media-type="{kind}"/>'
    data = packaged(pages | {name: contents}, items, "".join(f'<itemref idref="{page[0]}"/>' for page in pages))

    assert headings_of(data) == [(1, "Part one"), (2, "The pool"), (2, "Tears")]
    assert text_of(data) == "PART\nOne\n\nText.\n\n## The pool\n\nShe swam.\n\n## Tears\n\nMore."


def test_what_is_left_out_of_a_book_is_counted_once():
    listed = '<encryption><CipherReference URI="book/two.xhtml"/></encryption>'
    pages = {
        name: _PAGE.format("<p>Text<img src='a.png'/></p>")
        for name in ("one.xhtml", "two.xhtml", "three.xhtml", "x.xhtml")
    }
    data = epub(pages, ["one.xhtml", "two.xhtml", "three.xhtml"], **{"META-INF___encryption__xml": listed})

    assert read(data).warnings == (
        "1 page beside the reading order was left out",
        "2 pictures without a text were left out",
        "1 encrypted chapter was left out",
    )
    assert text_of(data) == "Text\n\nText"


def test_a_chapter_that_is_a_drawing_or_has_a_page_to_fall_back_to_is_read():
    pages = {
        "a.svg": "<svg xmlns='http://www.w3.org/2000/svg'><text>Map</text></svg>",
        "b.xhtml": _PAGE.format("<p>Text.</p>"),
    }
    items = (
        '<item id="a" href="a.svg" media-type="image/svg+xml"/>'
        '<item id="b" href="b.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="p" href="b.pdf" media-type="application/pdf" fallback="b"/>'
        '<item id="q" href="q.pdf" media-type="application/pdf" fallback="q"/>'
    )
    data = packaged(pages, items, "".join(f'<itemref idref="{name}"/>' for name in "apqz"))

    assert text_of(data) == "Map\n\nText."
    assert read(data).warnings == ("2 chapters in formats other than HTML were left out",)
