"""What holds for every loader, whatever is in the file."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.chunk import Document
from kinsplit.loaders import load
from kinsplit.parsers import create

from .helpers import pdf
from .office import epub, presentation, saved

_STRATEGY = create("structure", unit="character", chunk_size=60, min_chunk_size=1)
_FRAGMENTS = {
    ".txt": ["word ", "ITEM 1. A\n", "ITEM 1A. B\n", "PART I\n", "\n1.1 C\n\n", "\r", "\ufeff", "\u2028"],
    ".md": ["# ", "---\n", "title: ", "- ", "[", "+++\n", "a = 1\n", "```\n", "\n\n"],
    ".html": [
        "<p>",
        "</p>",
        "<table><tr><td>",
        "<pre>",
        "<!--",
        "-->",
        "<![CDATA[",
        "&amp;",
        "&#0;",
        "<h1>",
        "<b>",
        "</b>",
        "<p style='font-weight: 700'>",
        "<title>",
    ],
    ".c": ["// coding: utf-16\n", "/* coding: unicode_escape */\n", "\\ud800", "int a;\n"],
    ".js": [
        "function f(",
        ") {\n",
        "}\n",
        "class A {\n",
        "m() {",
        "const g = () => ",
        "`",
        "/*",
        "*/",
        "// é😀\r",
        "\r\n",
    ],
    ".py": [
        "# coding: unicode_escape\n",
        "\\ud800",
        "def f(",
        "):\n",
        "    ",
        "class A:\n",
        '"""',
        "\\\n",
        "\f",
        "return 1\n",
    ],
    ".srt": ["1\n", "00:00:01,000 --> 00:00:02,000\n", "00:02 --> 00:01\n", "text\n", "\n\n", "-->", "<v Ann>"],
    ".vtt": [
        "WEBVTT\n\n",
        "00:01.000 --> 00:02.000\n",
        "9:00:00.000 --> 00:01.000\n",
        "text\n",
        "\n",
        "NOTE ",
        "<v Ann>",
    ],
    ".ipynb": ['{"cells": [', '{"source": ["a"]}', '{"cell_type": "code", "outputs": [{}]}', ",", "]}", "null"],
    ".csv": ["a,b\n", "1;2\n", '"', '""', "sep=;\n", ",", "\t", "\r", '\\"', "x"],
    ".eml": [
        "Subject: =?utf-8?B?",
        "?=",
        "\n\n",
        "Content-Type: multipart/mixed; boundary=B\n\n",
        "--B\n",
        "Content-Type: text/html\n\n<p>",
        "Content-Type: message/rfc822\n\n",
        "Content-Disposition: attachment; filename=a.csv\n\n",
        "Content-Transfer-Encoding: base64\n",
    ],
    ".mbox": ["From a Mon 10:00\n", "Subject: a\n", "\n\n", ">From a\n"],
    ".json": ['{"docid": "', '", "text": "', '"}', "[", "]", ","],
    ".jsonl": ['{"docid": "a", "text": "x"}\n', '{"docid": "b", "text": "\\u0000\\ud800"}\n', "\n"],
}


def check(document: Document) -> None:
    """Make sure that everything that counts in the text is inside it, in order, and that chunks are slices of it."""
    text = document.text
    assert "\0" not in text
    text.encode()  # Lone surrogates can't be.
    for offsets in (
        document.pages,
        [moment.at for moment in document.times],
        [part.start for part in document.outline],
    ):
        assert list(offsets) == sorted(offsets)
        assert all(0 <= offset <= len(text) for offset in offsets)
    assert not document.pages or document.pages[0] == 0
    assert all(moment.start <= moment.end for moment in document.times)
    for part in document.outline:
        assert part.start < part.end <= len(text)
        assert part.title.split()[-1] in text[part.start : part.end]
    for before, after in itertools.combinations(document.outline, 2):
        assert after.start >= before.end or after.end <= before.end, "parts lie apart or inside one another"
    for heading in document.headings:
        assert heading.start < heading.end <= len(text) or heading[:3] == (0, 0, 0)
    for before, after in itertools.pairwise(document.headings):
        assert before.end <= after.start
    for chunk in _STRATEGY.chunk(document):
        assert chunk.text == text[chunk.start : chunk.end]


def loaded(suffix: str, data: bytes) -> tuple[Document, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a{suffix}")
        path.write_bytes(data)
        (result,) = load(path)
    told = str(result.error or path)
    assert str(path) in told
    assert "makes the reader" not in told, "only what is not foreseen is told so"
    return result.documents


@pytest.mark.parametrize("suffix", _FRAGMENTS)
@settings(max_examples=30)
@given(data=st.data())
def test_every_file_gives_sound_documents_or_one_error(suffix, data):
    pieces = data.draw(st.lists(st.sampled_from(_FRAGMENTS[suffix]) | st.text(max_size=4), max_size=25))
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"]))
    tail = data.draw(st.sampled_from([b"", b"", b"\xff", b"\0"]))

    for document in loaded(suffix, "".join(pieces).encode(encoding, "replace") + tail):
        check(document)


_LINES = st.lists(st.text("abc .-\u00ad#é", min_size=0, max_size=12), max_size=4)


@settings(max_examples=15)
@given(st.lists(_LINES, min_size=1, max_size=5))
def test_every_page_of_a_pdf_begins_where_the_map_says(pages):
    # The marks tell the pages, and differ by letters, since numbers that count with the pages are left out.
    marked = [[f"{letter * 3}:", *lines] for letter, lines in zip("KLMNO", pages, strict=False)]

    (document,) = loaded(".pdf", pdf(*marked))

    check(document)
    assert [document.text[at:].lstrip()[:4] for at in document.pages] == [lines[0] for lines in marked]


@settings(max_examples=15)
@given(st.lists(st.text("abc #-é\n\v", max_size=12), min_size=1, max_size=5))
def test_every_slide_begins_where_the_map_says(texts):
    slides = presentation(*(f"Slide {number}" for number in range(len(texts))))
    for slide, text in zip(slides.slides, texts, strict=True):
        slide.placeholders[1].text_frame.text = text

    (document,) = loaded(".pptx", saved(slides))

    check(document)
    assert [document.text[at:].split("\n")[0] for at in document.pages] == [f"## Slide {n}" for n in range(len(texts))]


def test_a_book_and_a_file_of_rows_are_sound():
    (book,) = loaded(".epub", epub({"a.xhtml": "<p>a&#0;</p>", "b.xhtml": "<h1>\ufffe</h1>"}, ["a.xhtml", "b.xhtml"]))
    check(book)
