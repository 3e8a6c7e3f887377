"""Documents as safe HTML, and their marks."""

from __future__ import annotations

import re

import pytest

from kinsplit.server.processes.markdown import Excerpt, render
from kinsplit.server.processes.marks import Mark

COURSE = """# Sums *and* `loops` 😀

A sum costs $5 or **six** dollars &amp; \\*time*.\r
It is $n(n+1)/2$, as [Gauss](https://example.org/gauss) found; see [there](other.md).

$$
\\sum_{i=1}^n i
$$

- one
  - two

| case | b \\| c | cost |
|------|:-------:|-----:|
| best |   no    |    1 |

```python
def total(n):
    return sum(range(n))  # quick
```
"""
HOSTILE = """<script>window.hacked = 1</script> <img src=x onerror="window.hacked = 1">

![a picture](https://evil.example/pixel.png) [run](javascript:window.hacked=1) [data](data:text/html,x) <b>bold</b>
[ref][r] <https://ok.example> <javascript:alert(1)> $\\href{javascript:alert(1)}{x}$ $\\style{color:red}{x}$

[r]: vbscript:x "t"

```html"><script>window.hacked = 1</script>
<script>window.hacked = 1</script>
```
<iframe src="https://evil.example"></iframe><svg onload=alert(1)><style>*{display:none}</style>
"""


def html_of(text: str, *marks: Mark, kind: str = "markdown", **given: object) -> str:
    html = render(Excerpt(kind, text, marks, **given))  # type: ignore[arg-type]
    assert html is not None
    return html


def words(text: str, first: str, last: str, best: bool = True) -> Mark:
    start = text.index(first)
    return Mark(start, text.index(last, start) + len(last), best)


def test_markdown_looks_as_it_should() -> None:
    html = html_of(COURSE)
    assert "<h1>Sums <em>and</em> <code>loops</code> 😀</h1>" in html
    assert "costs $5 or <strong>six</strong> dollars &amp; *time*." in html
    assert '<math display="inline"><mrow><mi>n</mi>' in html
    assert '<math display="block"><mrow><munderover><mo>∑</mo>' in html or "<msubsup><mo>∑</mo>" in html
    link = '<a href="https://example.org/gauss" target="_blank" rel="noopener noreferrer nofollow">Gauss</a>'
    assert link in html
    assert '<a target="_blank" rel="noopener noreferrer nofollow">there</a>' in html
    assert '<th class="center">b | c</th>' in html
    assert '<td class="right">1</td>' in html
    assert '<span class="word">def</span> <span class="name">total</span>' in html
    assert '<span class="comment"># quick</span>' in html


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("six", "dollars", '<strong><mark class="best">six</mark></strong><mark class="best"> dollars</mark>'),
        ("&amp;", "It", '<mark class="best">&amp;</mark>'),
        ("time", "It", '<mark class="best">It</mark> is'),
        ("n(n", "2", '<mark class="best"><math display="inline">'),
        ("two", "two", '<li><mark class="best">two</mark></li>'),
        ("c |", "|", '<mark class="best">b | c</mark>'),
        ("1 |", "1", '<td class="right"><mark class="best">1</mark></td>'),
        ("urn", "su", '<span class="word">ret</span><mark class="best"><span class="word">urn</span></mark>'),
        ("i=1", "n", '<mark class="best"><math display="block">'),
    ],
)
def test_a_hit_is_marked_in_what_is_shown(first: str, last: str, expected: str) -> None:
    html = html_of(COURSE, words(COURSE, first, last))
    assert expected in html
    assert html.replace('<mark class="best">', "").replace("</mark>", "").count("<span") >= html_of(COURSE).count(
        "<span"
    )


def test_nothing_of_a_hostile_document_is_alive() -> None:
    for html in (html_of(HOSTILE), html_of(HOSTILE, Mark(0, len(HOSTILE), True))):
        for tag in ("script", "img", "iframe", "svg", "style", "b>", "maction"):
            assert f"<{tag}" not in html, tag
        assert "&lt;script&gt;" in html
        for scheme in ("javascript:", "data:", "vbscript:"):
            assert f'href="{scheme}' not in html, scheme
        assert 'href="https://ok.example"' in html
        assert '<span class="picture">' in html
        assert "https://evil.example/pixel.png" not in html


@pytest.mark.parametrize(
    ("text", "header", "expected"),
    [
        ("return 1\n```\n\nAfter *it*.", "", "<em>it</em>"),
        ("x = 1\n```\n\nText\n\n```python\ny = 2\n```\n", "", '<span class="number">2</span>'),
        ("```\nx = *1*\n", "", "x = *1*"),
        ("| 1 | 2 |\n| 3 | 4 |\n", "| a | b |\n|---|---|", "<th>a</th>"),
        ("| 1 | 2 |\n| 3 | 4 |\n", "Prices", "<td>3</td>"),
        ("$x$ and \\(y\\) for $5 and $6", "", "for $5 and $6"),
        ("$\\frac{$ broken", "", "broken"),
        ("---\ntitle: x\n---\n\n# T", "", "<pre><code>title: x</code></pre>"),
    ],
)
def test_a_text_may_begin_anywhere(text: str, header: str, expected: str) -> None:
    assert expected in html_of(text, header=header)
    (*_, last) = re.finditer(r"\w+", text)
    assert "<mark>" in html_of(text, Mark(last.start(), last.end()), header=header)


def test_code_is_highlighted_by_its_files_name_and_marked_exactly() -> None:
    text = "\n\nfn main() {\r\n    // 😀 <b>\n}\n"
    html = html_of(text, words(text, "// 😀", "<b>"), kind="code", name="a.rs")
    assert '<span class="word">fn</span>' in html
    assert '<mark class="best"><span class="comment">// 😀 &lt;b&gt;' in html
    assert html.startswith("<pre><code>\n\n<span")
    assert (
        html_of("a <b>", Mark(0, 1), kind="code", name="a.unknown")
        == "<pre><code><mark>a</mark> &lt;b&gt;</code></pre>"
    )


def test_a_text_that_a_library_fails_at_gives_nothing() -> None:
    assert render(Excerpt("markdown", "\ud800")) is None
    formula = render(Excerpt("markdown", f"${'{' * 900}x{'}' * 900}$"))
    assert formula is not None
    assert "<mi>x</mi>" in formula


@pytest.mark.parametrize(
    "source",
    [
        r"The weight \(w\) decays.",
        r"The weight \\(w\\) decays.",
        r"The weight \\[w\\] decays.",
        "The weight $w$ decays.",
        "The weight $`w`$ decays.",
        "The weight $$w$$ decays.",
        "```math\nw\n```",
        "$$\nw\n$$",
        "\\[\nw\n\\]",
        "\\\\[\nw\n\\\\]",
        "Text\n\\begin{equation}\nw\n\\end{equation}",
        "\\begin{align*}\nw\n\\end{align*}",
    ],
)
def test_a_formula_in_any_usual_marks_is_set(source: str) -> None:
    html = html_of(source)
    assert html.count("<math") == 1
    assert "<mi>w</mi>" in html
    assert not set(re.sub("<[^>]+>", "", html)) & set("$`\\[](){}")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<a name='decay'></a>\n\n## Decay\n\nText.", "<h2>Decay</h2>\n<p>Text.</p>\n"),
        (":::::: challenge\n\n## Try it\n\n::::::", "<h2>Try it</h2>\n"),
        ("::: {.note #one}\nHi.\n:::\nAfter", "<p>Hi.</p>\n<p>After</p>\n"),
        ("## Title {#title}\n\nText\n{: .note}", "<h2>Title </h2>\n<p>Text</p>\n"),
        ("<!-- for\nteachers -->Text<a id=x></a>.", "<p>Text.</p>\n"),
        ("```\n::: note\n```", "<pre><code>::: note</code></pre>"),
        ("    ::: note", "<pre><code>::: note</code></pre>"),
        ("Ratios a ::: b, {x} and <b>", "<p>Ratios a ::: b, {x} and &lt;b&gt;</p>\n"),
        (r"C:\\(x", "<p>C:\\(x</p>\n"),
    ],
)
def test_what_a_site_does_not_show_is_left_out(source: str, expected: str) -> None:
    assert html_of(source) == expected
