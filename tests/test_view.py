"""Views of chunks, passages and results: complete, escaped, and without anything that runs or loads."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

import kinsplit
from kinsplit import Document, Index, InvalidParameterError, Passage, create_strategy, show, split
from tests.evaluation.hostile import hostile

TEXT = """# Owls & larks

Owls hunt at night. They hear a mouse under snow. Larks <b>sing</b> at dawn.

## Feathers

| bird | feathers |
|---|---|
| owl | *soft* |

```python
def sing(): return "dawn"  # loud
```
"""
HOSTILE = (
    "# Title <script>hacked=1</script>\n\n<img src=x onerror=hacked=1> "
    "![p](http://e.org/p.png) [l](javascript:hacked=1) "
    '[d](data:text/html,x) [r](other.md) [ok](https://e.org/?a="b) '
    "<http://e.org/%3Cscript%3E>\n\n"
    "<iframe src=http://e.org></iframe>\n\n```</code><script>\n<b onclick=x>\n```\n\n"
    '|<script>|\n|---|\n|"onload=|\n\nEnd \x00\x1b\ud800.'
)


class Elements(HTMLParser):
    """Elements of an output, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    texts = {"a.md": TEXT, "b.md": HOSTILE, "c.txt": "Gulls & rooks. <i>Wrens</i> nest."}
    with Index("memory:", embedder="hash") as index:
        index.add([Document(name, text) for name, text in texts.items()])
        return index.search("owls hunt title gulls", top_k=3)


def flow(html: str) -> str:
    """Return the text of the document in a drawing."""
    html = re.sub(r"<style>.*?</style>|<b class=\"no\".*?</b>|<p .*?</p>", "", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize(
    ("strategy", "parameters"),
    [
        ("sentence", {"chunk_size": 12, "chunk_overlap": 6}),
        ("hierarchical", {"parent_size": 120, "child_size": 40}),
        ("token", {"chunk_size": 8, "stride": 4}),
        ("multigranular", {"chunk_sizes": (8, 16)}),
    ],
)
def test_a_drawing_is_the_document_with_each_boundary_once(strategy: str, parameters: dict) -> None:
    chunks = create_strategy(strategy, **parameters).chunk(TEXT)
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    html = show(chunks, TEXT)._repr_html_()

    assert flow(html) == TEXT
    assert re.findall(r'class="no"[^>]*>(\d+)<', html) == [str(chunk.index + 1) for chunk in leaves]
    assert html.count(">Parent ") == len(chunks) - len(leaves)
    assert ('overlap">' in html) == any(chunk.overlap for chunk in leaves)
    for chunk in chunks:
        assert f"id {chunk.id}\n" in html
        assert chunk.prev_id is None or f"previous {chunk.prev_id}" in html


def test_a_drawing_in_a_terminal_shows_overlap_and_parents() -> None:
    text = "Owls hunt. Larks sing. Gulls dive."
    drawn = str(show(split(text, chunk_size=4, chunk_overlap=2, unit="word"), Document("a.md", text)))
    assert drawn == "2 chunks, 11 characters of overlap\n[1] Owls hunt.\n[2] «Larks sing.» Gulls dive."
    family = split(text, "hierarchical", parent_size=24, child_size=12)
    drawn = repr(show(family, text))
    assert drawn.splitlines()[1:3] == ["Parent 1/2, level 1 [0:22]", "[1] Owls hunt."]
    console = Console(width=40, force_terminal=True, color_system="standard", file=StringIO())
    console.print(show(family, text))
    assert re.search("\x1b\\[[0-9;]*mOwls hunt.\x1b", console.file.getvalue())


def test_hostile_texts_stay_texts(passages: list[Passage]) -> None:
    chunks = split(HOSTILE, "hierarchical", parent_size=120, child_size=40)
    views = [show(passages), show(chunks), show(chunks, HOSTILE), *passages, *chunks, hostile()]
    for view in views:
        for tag, attributes in Elements(view._repr_html_()).found:
            assert tag not in {"script", "img", "iframe", "link", "object", "svg", "input"}
            assert {name for name in attributes if name.startswith("on")} == set()
            assert re.fullmatch(r"(https?:.*)?", attributes.get("href") or "")
            assert "src" not in attributes
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", view._repr_html_())
    for view in (show(passages), show(chunks), show(chunks, HOSTILE)):
        assert "\x1b" not in str(view)


def test_a_passage_is_rendered_and_its_hits_are_marked_in_the_source(passages: list[Passage]) -> None:
    by_source = {passage.source_id: passage for passage in passages}
    markdown, text = by_source["a.md"]._repr_html_(), by_source["c.txt"]._repr_html_()

    for piece in (
        "<h1>Owls &amp; larks</h1>",
        "<em>soft</em>",
        '<span class="k">def</span>',
        "&lt;b&gt;sing&lt;/b&gt;",
    ):
        assert piece in markdown
    assert "a.md [0:" in markdown
    assert "Gulls &amp; rooks. &lt;i&gt;Wrens" in text
    assert show(passages)._repr_html_().count('class="card"') == len(passages)


def test_the_hits_in_a_passage_are_marked() -> None:
    with Index(
        "memory:", embedder="hash", strategy=create_strategy("sentence", chunk_size=6, chunk_overlap=0)
    ) as index:
        index.add([Document("a.txt", "Owls hunt at night. Larks sing at dawn. Gulls dive for fish.")])
        (passage,) = index.search("larks sing dawn", top_k=1, candidates=1, window=1)

    assert re.findall("<mark>(.*?)</mark>", passage._repr_html_()) == ["Larks sing at dawn."]


def test_one_chunk_or_passage_is_shown_alone(passages: list[Passage]) -> None:
    (chunk,) = split("Owls hunt.")
    assert str(show(chunk)) == "[1/1] [0:10]\nOwls hunt."
    assert show(chunk)._repr_html_() == chunk._repr_html_()
    assert str(show(passages[0])).startswith(f"[1] {passages[0].citation}")
    assert str(show([])) == ""


def test_bad_input_is_refused_at_once(passages: list[Passage]) -> None:
    chunks = split(TEXT, chunk_size=12)
    other = create_strategy("sentence").chunk(Document("other.md", TEXT))
    for wrong, message in (
        (lambda: show([*chunks, passages[0]]), "items"),
        (lambda: show(["text"]), "items.*str"),
        (lambda: show(passages, TEXT), "text.*chunks only"),
        (lambda: show([*chunks, *other], TEXT), "one document"),
        (lambda: show(chunks, TEXT[5:]), "text.*chunk 0"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            wrong()


def test_results_show_the_conclusion_and_the_headline_first() -> None:
    results = hostile()
    html = results._repr_html_()
    tables = re.findall(r"<table>.*?</table>", html, re.DOTALL)

    assert html.index("<table>") < html.index("<details>")
    assert results.setting.headline in unescape(tables[0])
    assert len(re.findall('<th scope="col">', tables[0])) <= 3


def test_show_is_public() -> None:
    assert kinsplit.show is show
