"""A page is read as a browser shows it: what is shown once and in its form, what is hidden not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.formats.html import read

from .test_markdown_writer import SPANS, table


def text_of(html: str) -> str:
    return read(html.encode()).contents[0].text


def warnings_of(html: str) -> tuple[str, ...]:
    return read(html.encode()).warnings


def fraction(above: str, below: str) -> str:
    return f"<mfrac><mn>{above}</mn><mn>{below}</mn></mfrac>"


_TEX = "<annotation encoding='application/x-tex'>{}</annotation>"
_SQUARE = "<msup><mi>a</mi><mn>2</mn></msup>"
_KATEX = (
    "<span class='katex'><span class='katex-mathml'><math><semantics><mrow><mi>a</mi></mrow>"
    f"{_TEX.format('a^2')}</semantics></math></span><span class='katex-html' aria-hidden='true'>a2</span></span>"
)
_WIKIPEDIA = (
    "<span class='mwe-math-element'><span class='mwe-math-mathml-inline' style='display: none;'><math><semantics>"
    f"{_SQUARE}{_TEX.format('{a^{2}}')}</semantics></math></span>"
    "<img class='mwe-math-fallback-image-inline' alt='{a^{2}}' aria-hidden='true'></span>"
)
_MATHJAX_2 = (
    "<span class='MathJax_Preview'>a2</span><span class='MathJax'><nobr aria-hidden='true'>a2</nobr>"
    f"<span class='MJX_Assistive_MathML'><math>{_SQUARE}</math></span></span><script type='math/tex'>a^2</script>"
)
_MATHJAX_3 = (
    "<mjx-container><mjx-math aria-hidden='true'>a2</mjx-math>"
    f"<mjx-assistive-mml><math>{_SQUARE}</math></mjx-assistive-mml></mjx-container>"
)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("1<span>,</span>000 of 10<b>5</b>", "1,000 of 105"),
        ("It is 10<sup>-3</sup> m, 100<sup>2</sup>=10000. Note.<sup>12</sup>", "It is 10^-3 m, 100^2=10000. Note.[12]"),
        ("3 x 10<sup>8</sup> m, 5 m<sup>2</sup>, H<sub>2</sub>O", "3 x 10^8 m, 5 m^2, H2O"),
        ("x<sup>2 </sup>y<sub> i </sub>z", "x^2 y_i z"),
        ("2<sup>2<sup>n</sup></sup>", "2^(2^n)"),
        ("the 1<sup>st</sup>, 25<sup>1</sup> euros", "the 1st, 25[1] euros"),
        ("so 5 m<a href='#n'><sup>2</sup></a> x<sup><a href='p.html#n'>a</a></sup>", "so 5 m[2] x[a]"),
        ("Claim.<sup class='reference'><a href='#n'>[1]</a></sup>", "Claim.[1]"),
        ("word<a role='doc-noteref' href='#n'>3</a>", "word[3]"),
        (
            "<a class='reference' href='#'>Moon</a>, <a class='footnote-ref' href='#x'>A long story</a>",
            "Moon, A long story",
        ),
        ("<del>$20</del>$15 <s>old</s>", "~~$20~~$15 ~~old~~"),
        ("<span style='text-decoration:line-through'>20</span>15", "~~20~~15"),
        ("<q>So <q>it</q> is</q>", "“So “it” is”"),
        (
            "<abbr title='World Health Organization'>WHO</abbr>, <abbr title='x'>WHO</abbr>",
            "WHO (World Health Organization), WHO",
        ),
        ("<abbr title='2021-03-01'>2 years ago</abbr> <abbr title='etc.'>etc.</abbr>", "2 years ago etc."),
        ("<data value=99>ninety</data> <time datetime='2020'>now</time>", "ninety now"),
        ("Hy&shy;phen<wbr>ated", "Hyphenated"),
        ("one<br/>two</br>three<span/>", "one\ntwo\nthree"),
        ("one<br> <br>two<br>three", "one\n\ntwo\nthree"),
        ("a<!-- no --!>b", "ab"),
        ("a<!-- <h1>no</h1> -->b<!--[if mso]><h1>no</h1><![endif]-->", "ab"),
        ("<span title='a > b'>x</span><a href=\"a>b\">y</a>", "xy"),
        ("<span style='white-space: pre-line'>one\ntwo</span>", "one\ntwo"),
        ("<b>a<div>b</b>c</div>", "a\n\nbc"),
        ("<ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rt>きょう</rt></ruby>", "東京(とうきょう)"),
        ("<ruby>行<rt>い</ruby>った", "行(い)った"),
        ("<ruby>食<rt>た</rt>べ<rt></rt>物<rt>もの</rt></ruby> <ruby>強<rt>・</rt></ruby>", "食べ物(たべもの) 強"),
    ],
)
def test_a_line_is_read_as_it_is_shown(html, text):
    assert text_of(f"<p>{html}</p>") == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (f"x = <math>{fraction('1', '2')}</math>", "x = 1/2"),
        (f"<math><mi>π</mi>{_SQUARE}</math>", "πa^2"),
        (f"<math><semantics>{fraction('a', 'b')}{_TEX.format(chr(92) + 'frac{a}{b}')}</semantics></math>", "a/b"),
        (_KATEX, "a^2"),
        (_WIKIPEDIA, "a^2"),
        (_MATHJAX_2, "a^2"),
        (_MATHJAX_3, "a^2"),
        ("<script type='math/tex'>b^2</script>", "b^2"),
        (f"<math>{_SQUARE}</math> <script type='math/tex'>b^2</script>", "a^2 b^2"),
        ("<math alttext='E=mc^2'></math>", "E=mc^2"),
        ("<math><mi>a</mi><p>after", "a\n\nafter"),
        ("<span class='katex'><span class='katex-html' aria-hidden='true'>x</span></span>", "x"),
    ],
)
def test_a_formula_is_written_once(html, text):
    assert text_of(html) == text
    assert warnings_of(html) == ()


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (
            "<mfrac><mrow><mo>-</mo><mi>b</mi><mo>±</mo><msqrt><mi>c</mi><mo>-</mo><mn>4</mn></msqrt></mrow><mi>a</mi></mfrac>",
            "(-b±√(c-4))/a",
        ),
        (
            "<mi>sin</mi><mo>&#x2061;</mo><mi>x</mi><mo>+</mo>\n<mi>cos</mi><mo>(</mo><mi>y</mi><mo>)</mo>",
            "sin x+cos(y)",
        ),
        (
            "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>",
            "∑_(i=1)^n i",
        ),
        (
            "<mo>[</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable><mo>]</mo>",
            "[1, 2; 3]",
        ),
        ("<msup><mi>f</mi><mo>′</mo></msup><mover><mi>x</mi><mo>¯</mo></mover>", "f′x̄"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot><mfenced open='['><mi>a</mi><mi>b</mi></mfenced>", "3√x[a,b)"),
        ("<mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac>", "n choose k"),
        ("<mmultiscripts><mi>C</mi><mn>2</mn><none/><mprescripts/><none/><mn>14</mn></mmultiscripts>", "^14C_2"),
        ("<mn>5</mn><mtext> if </mtext><mi>x</mi><mphantom><mi>y</mi></mphantom>", "5 if x"),
        ("<msup><mn>10</mn></msup>", "10"),
    ],
)
def test_a_formula_is_one_line(formula, text):
    assert text_of(f"<math>{formula}</math>") == text


@given(
    st.lists(
        st.sampled_from(["mrow", "msup", "msub", "mfrac", "msqrt", "mi", "mmultiscripts", "semantics", "/"]),
        max_size=40,
    )
)
def test_no_formula_makes_it_fail(tags):
    marks = "".join("</x>" if tag == "/" else f"<{tag}>7" for tag in tags)

    text_of(f"<math>{marks}</math>")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p hidden>no<p>yes", "yes"),
        ("<p style='color: red; DISPLAY:none'>no</p>yes", "yes"),
        ("<div style='visibility: hidden'>no<p>no</div>yes", "yes"),
        ("<p hidden=until-found>yes", "yes"),
        ("<div style='display:none'><ix:header><ix:hidden>no</ix:hidden></ix:header></div><ix:nonFraction>yes", "yes"),
        ("<template>no</template><template shadowrootmode=open>yes</template>", "yes"),
        ("<span>$19.99</span><span aria-hidden=true><span>$</span>19<i>.</i>99</span> yes", "$19.99 yes"),
        ("<span aria-hidden=true>yes</span>", "yes"),
        ("115 <i aria-hidden=true>15</i> yes <option>yes</option>", "115 15 yes yes"),
        ("<div hidden><p><math><mi>no</mi></math></div>yes", "yes"),
        ("<h2>yes<a class='headerlink' href='#t'>¶</a></h2>", "## yes"),
        ("<h2><a href='#t' class=anchor><svg><path/></svg></a>yes <a href='#t'>#</a></h2>", "## yes"),
        ("<h2><a href='#t'>yes</a></h2>", "## yes"),
        ("<h2>yes<span class='mw-editsection'>[edit]</span></h2>", "## yes"),
        ("<dl><dt>yes<a class='headerlink' href='#t'>¶</a></dt></dl>", "yes"),
        ("<iframe srcdoc='&lt;h2&gt;yes&lt;/h2&gt;'>no</iframe>", "## yes"),
        ("<img alt=yes><noscript><img alt=yes></noscript>", "yes"),
    ],
)
def test_what_is_hidden_stays_out_and_all_else_remains(html, text):
    assert text_of(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<select><option>red<option selected>blue</select>", "blue"),
        ("<select><option>red<option>blue</select>", "red"),
        ("<select multiple><option selected>red<option>blue</select>", "☒ red ☐ blue"),
        ("<ul><li><input type=checkbox checked>Done<li><input type=checkbox> Open</ul>", "- ☒ Done\n- ☐ Open"),
        ("Name <input value='Ann'><input type=hidden value=no><input type=password value=no>", "Name Ann"),
        ("<button>One</button><button>Two</button><input type=submit value=Send>", "One Two Send"),
        ("<textarea>one\ntwo</textarea>", "one\ntwo"),
    ],
)
def test_forms_have_their_values(html, text):
    assert text_of(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<ol start=3><li>three</ol>", "3. three"),
        ("<ol><li value=7>seven<li>eight</ol>", "7. seven\n8. eight"),
        ("<ol type=a><li>a</ol><ol style='list-style-type: upper-roman'><li>b</ol>", "a. a\n\nI. b"),
        ("<ol reversed><li>a<li>b<p>c</p></ol><ol reversed start=9><li>a<li>b</ol>", "2. a\n1. b\n   c\n\n9. a\n8. b"),
        ("<ol start=x><li value=->a</ol>", "1. a"),
        ("<dl><dt>Kite</dt><dd>A toy.<dt>Mast<dd><p>One.<p>Two.</dl>x", "Kite\n: A toy.\nMast\n: One.\n  Two.\n\nx"),
        ("<dt>Kite<dd>A toy.", "Kite\n\nA toy."),
    ],
)
def test_lists_have_the_numbers_that_are_shown(html, text):
    assert text_of(html) == text


@pytest.mark.parametrize(
    "html",
    [
        "<div class='highlight-python notranslate'><div class=highlight><pre>if x:\n    y</pre></div></div>",
        "<div class='highlight highlight-source-python'><pre>if x:\n    y</pre></div>",
        "<pre class='brush: python'>if x:\n    y</pre>",
        "<pre data-lang=python><span class=lineno>1 </span>if x:\n<span class=lineno>2 </span>    y</pre>",
        "<pre><code class='language-python'>if x:\n    y</code></pre>",
        "<table><tr><td class=linenos><pre>9\n10</pre><td class=code><pre class=lang-python>if x:\n    y</pre></table>",
    ],
)
def test_code_has_its_language_and_no_numbers_of_lines(html):
    assert text_of(html) == "```python\nif x:\n    y\n```"


def test_code_in_a_table_of_lines_keeps_its_indentation():
    html = (
        "<table class='highlight js-file-line-container'><tr><td data-line-number=1><td>if x:</tr>"
        "<tr><td class=blob-num>2<td>    y</tr></table>"
    )

    assert text_of(html) == "```\nif x:\n    y\n```"


@pytest.mark.parametrize(
    ("html", "rows"),
    [
        ("<tr><td>North<td>1<tfoot><tr><td>sum<td>1<tbody><tr><td>South<td>2", ["North 1", "South 2", "sum 1"]),
        ("<tr><td rowspan=0>a<td>b<tr><td>c<tbody><tr><td>d<td>e", ["a b", " c", "d e"]),
        ("<tr><td data-sort=5000>5k<td>a<tr><td>6k<td style='display:none'>no<td>b", ["5k a", "6k b"]),
        ("<tr><td><div>a</td></div><td>b<tr><td>c<td>d", ["a b", "c d"]),
        ("<tr><td>a<table><tr><td>k<td>v<tr><td>l<td>w</table><td>b<tr><td>c<td>d", ["a k v; l w|b", "c d"]),
        ("<tr><td><h3>a</h3><td><ul><li>b<li>c</ul><tr><td>d<br>e<td>f", ["a|b; c", "d e|f"]),
        ("<tr><td>a<td><pre>x = 1</pre><tr><td>b<td>c", ["a|x = 1", "b c"]),
    ],
)
def test_rows_keep_their_values_in_columns(html, rows):
    written = [line.strip("|").strip() for line in text_of(f"<table>{html}</table>").split("\n") if "---" not in line]

    assert written == [(row if "|" in row else row.replace(" ", "|")).replace("|", " | ").strip() for row in rows]


@given(SPANS)
def test_spans_of_html_are_those_of_the_writer(spans):
    rows = [[(f"v{row}.{at}", *span) for at, span in enumerate(cells)] for row, cells in enumerate(spans)]
    html = "".join(
        "<tr>" + "".join(f"<td colspan={columns} rowspan='{lines}'>{text}" for text, columns, lines in cells)
        for cells in rows
    )

    assert text_of(f"<table>{html}</table>") == table(*rows)


def test_layout_tables_become_paragraphs():
    html = "<table><tr><td><p>It opens in May.</p><p>Bring oars.</p><br><br>Parking.<ul><li>one</ul></td></table>"

    assert text_of(html) == "It opens in May.\n\nBring oars.\n\nParking.\n\n- one"
    page = "<tr><td colspan=2><h1>Site</h1><tr><td>Menu<td><p>One.<p>Two.<tr><td colspan=2>Foot"
    assert text_of(f"<table>{page}</table>") == "# Site\n\nMenu\n\nOne.\n\nTwo.\n\nFoot"
    assert text_of("<table role=presentation><tr><td>One<td>Two<tr><td>Three</table>") == "One Two\n\nThree"


def test_drawings_show_their_labels():
    assert (
        text_of("a<svg><title>Sales</title><path>no</path><text>North</text><text>12</text></svg>b")
        == "a Sales North 12 b"
    )


@pytest.mark.parametrize(
    ("html", "warnings"),
    [
        (
            "<img src=x><img src='data:image/png;base64,AAAA' alt=''><img alt=Boat>",
            ("2 pictures without a text were left out",),
        ),
        ("<img src=x width=1 height=1>", ()),
        ("<svg><path/></svg><a href=x><svg><path/></svg></a>", ("1 drawing without a text was left out",)),
        ("<p hidden>x<div style='display:none'>y<script>z</script></div>", ("2 hidden passages were left out",)),
        ("<p hidden></p><script>x</script>", ()),
        ("<select><option>a<option>b<option>c</select>", ("2 options that are not chosen were left out",)),
        ("<video>Film</video><iframe src=x></iframe>", ("1 video was left out", "1 embedded page was left out")),
    ],
)
def test_what_is_left_out_is_counted(html, warnings):
    assert warnings_of(html) == warnings


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<div>",
            "<b>",
            "<p><b>",
            "1<sup>2</sup>",
            "<sup>x",
            "<del>x",
            "<ruby>a<rt>b",
            "<span hidden>x",
            "<math><mrow>",
        ),
        *("<svg><p>", "<td rowspan=60000 colspan=1000>x", "<table><tr><td>x", "<ul><li>x", "<dl><dt>x<dd>y"),
        *("<select><option>x", "<h1><a href='#'>"),
    ],
)
def test_hostile_pages_take_linear_time(unit):
    assert len(text_of(f"<table><tr>{unit * 3_000}</x>yes")) < 40 * 3_000 * len(unit)
