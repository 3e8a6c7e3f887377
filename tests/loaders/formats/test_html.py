from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.formats.html import read
from kinsplit.loaders.formats.transcript import VTT
from tests.loaders.helpers import document_of, load_one


def text_of(html: str) -> str:
    return read(html.encode("utf-8", "surrogatepass")).contents[0].text


def test_headings_paragraphs_and_title(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(
        "<!doctype html><html><head><title>A &amp; B\n page</title><style>p{}</style>"
        "<script>var x='<p>no</p>'</script></head><body><h1>Top</h1><p>First   part\nof &lt;1&gt;&nbsp;caf&eacute;.</p>"
        "<h2>Sub <em>head</em>ing</h2>Bare text</body>"
    )

    (document,) = load_one(path).documents

    assert document.text == "# Top\n\nFirst part of <1> café.\n\n## Sub heading\n\nBare text"
    assert document.metadata["title"] == "A & B page"
    assert document.metadata["file_type"] == "html"


def test_the_first_h1_is_the_title_where_there_is_none():
    assert read(b"<h2>No</h2><h1>Yes <b>it</b> is</h1><h1>No</h1>").contents[0].title == "Yes it is"


def test_text_in_any_element_is_kept():
    html = "<div>one<section>two<article>three</article></section>four</div><x-y>five</x-y><aside>six"

    assert text_of(html) == "one\n\ntwo\n\nthree\n\nfour\n\nfive\n\nsix"


def test_lists_nest_and_number():
    html = "<p>Do:<ul><li>one<li>two<ol><li>a</li><li>b<p>more b</p></ol></li><li><p>three<br>lines</p></ul><p>end"

    assert text_of(html) == "Do:\n\n- one\n- two\n  1. a\n  2. b\n     more b\n- three\n  lines\n\nend"


def test_tables_become_pipe_tables_without_empty_rows_and_columns():
    html = (
        "<table><caption>Sales</caption><tr><th colspan=2>Year<th>A|B</tr><tr><td> <td><td></tr>"
        "<tr><td>2011<td><td><p>1</p><p>2</p></table>"
    )

    assert text_of(html) == "Sales\n\n| Year | A\\|B |\n| --- | --- |\n| 2011 | 1 2 |"


def test_a_header_is_as_wide_as_the_table():
    assert text_of("<table><tr><td>a</tr><tr><td>b<td>c</table>") == "| a |  |\n| --- | --- |\n| b | c |"


def test_layout_tables_are_read_as_blocks():
    html = (
        "<table><tr><td>Menu<td>Home</tr><tr><td>intro<h2>Title</h2><p>Body</p>"
        "<table><tr><td>k<td>v<tr><td>a<td>1</table>tail</td></tr><tr><td>Foot</table>after"
    )

    assert text_of(html) == (
        "Menu Home\n\nintro\n\n## Title\n\nBody\n\n| k | v |\n| --- | --- |\n| a | 1 |\n\ntail\n\nFoot\n\nafter"
    )


def test_a_list_in_a_cell_does_not_leak_into_the_page():
    html = "<ul><li>x<table><tr><td><ul><li>a<li>b</td><td>c</tr><tr><td>d<td>e</table><li>y</ul>"

    assert text_of(html) == "- x\n\n| a; b | c |\n| --- | --- |\n| d | e |\n\n- y"


def test_pre_becomes_a_fence_that_nothing_inside_closes():
    html = '<pre><code class="language-python">\r\nif x:\r\n    print("```")\n</code></pre><p>after'

    assert text_of(html) == '````python\nif x:\n    print("```")\n````\n\nafter'


def test_blocks_inside_pre_are_lines():
    assert text_of("<pre><div>a  b</div><div>c</div>d<br>e</pre>") == "```\na  b\nc\nd\ne\n```"


def test_text_that_looks_like_a_fence_or_heading_is_escaped():
    assert text_of("<p># not</p><p>``` no<br>---</p><p>#1 is fine</p>") == "\\# not\n\n\\``` no\n\\---\n\n#1 is fine"


@pytest.mark.parametrize(
    "html",
    [
        "<svg><path>no</path><style>no</style></svg>yes",
        "<script>no",
        "<svg><style>no</style><p>yes",
        "<svg><svg>no</svg>no</svg></svg>yes",
        "<template><p>no</p></template>yes",
        "<title>the title<p>yes",
        "<![if IE]>yes<![endif]><![weird[x]]>",
        "yes<!-- no -->",
    ],
)
def test_hidden_and_broken_markup(html):
    text = text_of(html)

    assert "no" not in text
    assert ("yes" in html) == (text == "yes")


def test_only_the_page_has_a_title_not_its_drawings():
    assert read(b"<body><svg><title>icon</title></svg><p>x").contents[0].title is None


def test_a_declared_charset_is_used_when_it_is_not_utf8():
    hebrew = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1255"><p>שלום'
    reading = read(hebrew.encode("cp1255"))

    assert reading.contents[0].text == "שלום"
    assert reading.warnings == ()


TAGS = ["p", "div", "h1", "h3", "ul", "ol", "li", "table", "tr", "td", "th", "pre", "code", "b", "br", "section", "x-y"]
TAGS += [
    "sup",
    "sub",
    "dl",
    "dt",
    "dd",
    "a",
    "span",
    "q",
    "tbody",
    "tfoot",
    "thead",
    "caption",
    "del",
    "abbr",
    "button",
]
HIDDEN = ["svg", "script", "style", "template", "title"]
BROKEN = ["<", "<!", "<![", "&", "&#", "<!--", "-->"]


def marks(tags: list[str]) -> list[str]:
    return [f"<{tag}>" for tag in tags] + [f"</{tag}>" for tag in tags]


@given(st.lists(st.sampled_from(marks(TAGS + HIDDEN) + BROKEN) | st.text(max_size=5), max_size=40))
def test_no_markup_makes_it_fail(parts):
    text_of("".join(parts))


@given(st.lists(st.sampled_from([*marks(TAGS), "word"]), max_size=60))
def test_no_word_is_lost(parts):
    html = " ".join(f"w{n}x" if part == "word" else part for n, part in enumerate(parts))

    assert sorted(re.findall(r"w\d+x", text_of(html))) == sorted(re.findall(r"w\d+x", html))


def test_wide_spans_and_deep_nesting_stay_small():
    wide = "<table>" + "<tr>" + "<td colspan=1000>a" * 300 + "<tr><td>b" * 3000 + "</table>"
    deep = "<ul><li>x" * 3000

    assert len(text_of(wide)) < 20 * len(wide)
    assert len(text_of(deep)) < 10 * len(deep)


@pytest.mark.parametrize("start", ["<div ", "<!--", "<!-- <b>", "</p ", "<", "&"])
def test_what_never_ends_stays_text(start):
    text = text_of("<p>before</p>" + start * 20_000 + "after")

    assert text.startswith("before\n\n")
    assert text.endswith("after")


def test_lines_that_end_with_cr_alone_are_lines(tmp_path):
    page = "<h1>T</h1>\r<pre>a\rb</pre>\r<p>one\rtwo"
    ends = {name: page.replace("\r", end) for name, end in (("cr", "\r"), ("crlf", "\r\n"), ("lf", "\n"))}
    texts = {document_of(tmp_path / f"{name}.html", data).text for name, data in ends.items()}

    assert len(texts) == 1
    assert "a\nb" in texts.pop()


@pytest.mark.parametrize("make", [read, lambda data: VTT.read(b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + data)])
@pytest.mark.parametrize(
    ("number", "shown"),
    [("9" * 5_000, "\ufffd"), (f"{'0' * 5_000}65", "A"), ("0" * 5_000, "\ufffd"), ("x" + "9" * 5_000, "\ufffd")],
)
def test_a_numeric_reference_of_very_many_digits_costs_one_character(make, number, shown):
    assert make(f"<b title='&#{number};'>a</b>&#{number};b &#65;".encode()).contents[0].text == f"a{shown}b A"
