"""Readers of other libraries, each where its package is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinsplit.errors import LoadError, MissingExtraError
from kinsplit.loaders import discover, load_file
from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats import on_request
from kinsplit.loaders.registry import ON_REQUEST, format_of

_PAGE = """<html><head><title>Trees - A site</title><meta name="author" content="Ann Lee"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/blog">Blog</a></li></ul></nav><main><article><h1>Trees</h1>
<p>A balanced tree has a depth that grows with the logarithm of its size, which makes searching it quick.</p>
<h2>Depth</h2><p>The depth of a tree is the number of steps from its root to the farthest of its leaves.</p>
</article></main><aside>Buy our book now!</aside><footer>All rights reserved</footer></body></html>"""


def read_by(reader: str, path: Path):
    (source,) = discover(path, readers=[reader]).files
    return load_file(source)


def test_a_reader_on_request_is_not_asked_otherwise(tmp_path: Path):
    usual = format_of(Path("a.html"))
    assert usual is not None
    assert usual.reader == "kinsplit"
    assert format_of(Path("a.png")) is None
    for name in ON_REQUEST:
        named = format_of(Path("a.html"), [name])
        assert named is not None
        assert (named.reader, named.name) == (name, "html")


@pytest.mark.parametrize("read", [on_request.read_main_text, on_request.MARKITDOWN[0].read, on_request.DOCLING[0].read])
def test_a_missing_package_is_named_with_its_extra(read, monkeypatch):
    for module in ("trafilatura", "markitdown", "docling", "docling.datamodel.base_models"):
        monkeypatch.setitem(__import__("sys").modules, module, None)

    with pytest.raises(MissingExtraError, match=r"kinsplit\[(trafilatura|markitdown|docling)\]"):
        read(b"")


def test_the_main_text_of_a_page_has_no_navigation(tmp_path: Path):
    pytest.importorskip("trafilatura")
    (tmp_path / "a.html").write_text(_PAGE)

    (document,) = read_by("trafilatura", tmp_path / "a.html").documents

    assert document.text.startswith("# Trees\n\nA balanced tree")
    assert "\n\n## Depth\n\n" in document.text
    assert not any(word in document.text for word in ("Home", "Buy", "rights"))
    assert document.metadata["author"] == "Ann Lee"
    assert document.metadata["title"].startswith("Trees")


def test_a_page_without_main_text_is_read_whole():
    pytest.importorskip("trafilatura")

    reading = on_request.read_main_text(b"<p>x")

    assert reading.contents[0].text == "x"
    assert reading.warnings == ("is read whole, since no main text can be told from the rest",)


def test_markitdown_reads_what_it_is_named_for(tmp_path: Path):
    pytest.importorskip("markitdown")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.msg").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"cut off")

    (document,) = read_by("markitdown", tmp_path / "a.csv").documents

    assert document.text == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert document.metadata["file_type"] == "table"
    with pytest.raises(LoadError, match="markitdown"):
        read_by("markitdown", tmp_path / "b.msg")


def test_a_document_that_docling_saved_is_read_with_its_pages(tmp_path: Path):
    types = pytest.importorskip("docling_core.types.doc")
    made = types.DoclingDocument(name="Trees")
    for number, text in ((1, "First page."), (2, "Second page.")):
        made.add_page(number, types.Size(width=1, height=1))
        box = types.BoundingBox(l=0, t=0, r=1, b=1)
        place = types.ProvenanceItem(page_no=number, bbox=box, charspan=(0, len(text)))
        made.add_text(types.DocItemLabel.PARAGRAPH, text, prov=place)
    (tmp_path / "a.json").write_text(json.dumps(made.export_to_dict()))

    (document,) = read_by("docling", tmp_path / "a.json").documents

    assert document.text == "First page.\n\nSecond page."
    assert document.pages == (0, document.text.index("Second"))
    assert document.metadata["title"] == "Trees"
    with pytest.raises(UnreadableError, match="not a document of docling"):
        on_request.read_json(b"{}")


def test_docling_reads_pages_without_a_model(tmp_path: Path):
    pytest.importorskip("docling.document_converter")
    (tmp_path / "a.html").write_text(_PAGE)

    (document,) = read_by("docling", tmp_path / "a.html").documents

    assert "A balanced tree has a depth" in document.text
