"""Headings, paragraphs, fences, lists and tables."""

from __future__ import annotations

import pytest
from hypothesis import given

from kinsplit.text.blocks import blocks, parts, sections
from tests.generators import texts


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in blocks(text)]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.depth, block.title) for block in blocks(text) if block.kind == "heading"]


def paths(text: str) -> list[str]:
    return [" > ".join(section.path) for section in sections(text)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# One", (1, "One")),
        ("###### Six", (6, "Six")),
        ("  ## Two ##  ", (2, "Two")),
        ("# a # b ###", (1, "a # b")),
        ("# C#", (1, "C#")),
        ("#\ttab", (1, "tab")),
        ("#", (1, "")),
        ("## ##", (2, "")),
        ("# *emphasis* `code`", (1, "*emphasis* `code`")),
        ("= Wiki =", (1, "Wiki")),
        ("== Two ==", (2, "Two")),
        ("==Tight==", (2, "Tight")),
        ("=== a == b ===", (3, "a == b")),
        ("<h1>HTML</h1>", (1, "HTML")),
        ("<H2 class='x' id=y>Upper</H2 >", (2, "Upper")),
        ("<h3>A &amp; <b>b</b> <a href='#'>c</a></h3>", (3, "A & b c")),
    ],
)
def test_a_line_that_is_a_heading(line: str, expected: tuple[int, str]) -> None:
    assert headings(line) == headings(f"before\n{line}\nafter") == headings(f"{line}\r\n\r\nafter\r\n") == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "#hashtag",
        "####### seven",
        "\\# escaped",
        "    # indented code",
        "\t# indented code",
        "> # quoted",
        "text # not a heading",
        "=x=",
        "==",
        "a == b",
        "<h7>none</h7>",
        "<header>none</header>",
        "<h1>never closed",
        "<!-- comment -->",
        "# " + "long " * 100,
    ],
)
def test_a_line_that_is_no_heading(text: str) -> None:
    assert headings(text) == []
    assert kinds(text) == [("paragraph", text.strip())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title\n=====", [(1, "Title")]),
        ("Title\n---", [(2, "Title")]),
        ("Over\ntwo lines\n---\n", [(2, "Over two lines")]),
        ("CR LF\r\n===\r\ntext\r\n", [(1, "CR LF")]),
        ("\n---\n", []),
        ("text\n\n---\n\ntext", []),
        ("text\n***\ntext", []),
        ("text\n- - -\ntext", []),
        ("- item\n---\n", []),
        ("# ATX\n---\n", [(1, "ATX")]),
        ("===\n", []),
        ("word " * 100 + "\n---\n", []),
    ],
)
def test_underlined_headings_and_thematic_breaks(text: str, expected: list[tuple[int, str]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("fence", "inside"),
    [
        ("```", "# no"),
        ("~~~", "# no"),
        ("```python", "# no\n\n\n## no"),
        ("~~~", "```\n# no"),
        ("```", "~~~\n# no"),
        ("````", "```\n# no\n```"),
        ("   ```", "# no"),
        ("```", "Title\n==="),
        ("```", "<h1>no</h1>\n| a |\n|---|"),
    ],
)
def test_nothing_inside_a_fence_is_read(fence: str, inside: str) -> None:
    mark = fence.strip().rstrip("python")
    block = f"{fence}\n{inside}\n{mark}"
    assert kinds(f"before\n{block}\n# Yes") == [("paragraph", "before"), ("fence", block.strip()), ("heading", "# Yes")]


def test_a_fence_that_is_never_closed_reaches_the_end() -> None:
    text = "text\n\n```\n# no\n\n~~~\n\nstill code"
    assert kinds(text) == [("paragraph", "text"), ("fence", text[6:])]


def test_inline_code_opens_no_fence() -> None:
    assert kinds("``` a ``` b\n# Yes") == [("paragraph", "``` a ``` b"), ("heading", "# Yes")]


@pytest.mark.parametrize(
    "block",
    [
        "- one\n- two",
        "* one\n* two\n* three",
        "+ one",
        "1. one\n2. two\n10) ten",
        "- one\n  - nested\n    - deeper\n- two",
        "- one\ngoes on lazily\n- two",
        "- one\n\n- two\n\n\n- three",
        "- one\n\n  its second paragraph\n\n- two",
        "- one\n\n      code of the item\n\n- two",
        "-\n- after an empty item",
    ],
)
def test_a_list_is_one_block(block: str) -> None:
    assert kinds(f"before\n\n{block}\n\nafter") == [("paragraph", "before"), ("list", block), ("paragraph", "after")]


@pytest.mark.parametrize("end", ["# Heading", "```\ncode\n```", "***"])
def test_a_list_ends_before_other_blocks(end: str) -> None:
    assert kinds(f"- one\n- two\n{end}")[0] == ("list", "- one\n- two")


def test_a_number_in_running_text_begins_no_list() -> None:
    assert kinds("It happened in\n1986. That was a year.") == [("paragraph", "It happened in\n1986. That was a year.")]


@pytest.mark.parametrize(
    ("block", "header"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|"),
        ("a | b\n--|:-:\n1 | 2\n3 | 4", "a | b\n--|:-:"),
        ("|a|\n|-|", "|a|\n|-|"),
        ("| a |\r\n|---|\r\n| 1 |", "| a |\r\n|---|"),
    ],
)
def test_a_table_is_one_block_with_its_header(block: str, header: str) -> None:
    text = f"before\n\n{block}\n\nafter"
    found = blocks(text)
    assert kinds(text) == [("paragraph", "before"), ("table", block), ("paragraph", "after")]
    assert found[1].title == header


@pytest.mark.parametrize("text", ["a | b\nc | d", "| a |\n\n|---|", "a\n---|", "x || y"])
def test_bars_alone_make_no_table(text: str) -> None:
    assert "table" not in dict(kinds(text))


def test_html_headings_are_found_in_the_middle_of_a_line() -> None:
    text = "<p>one</p><h2 id='x'>Two</h2><p>three</p>\n<h3\n id=4>Four\nfive</h3> six"
    assert kinds(text) == [
        ("paragraph", "<p>one</p>"),
        ("heading", "<h2 id='x'>Two</h2>"),
        ("paragraph", "<p>three</p>"),
        ("heading", "<h3\n id=4>Four\nfive</h3>"),
        ("paragraph", "six"),
    ]
    assert paths(text) == ["", "Two", "Two > Four five"]


@pytest.mark.parametrize(
    "raw",
    [
        "<pre>\n<h1>no</h1>\n\n# no\n</pre>",
        "<pre><h1>no</h1></pre>",
        "<script>x = '<h1>no</h1>';</script>",
        "<SCRIPT type='a'>\nx = '<h1>no</h1>';\n</SCRIPT>",
        "<style>\n# no\n</style>",
        "<p>a <pre>x <h1>no</h1></pre>",
        "<textarea>\n\n<h1>no</h1></textarea>",
        "<!-- <h1>no</h1> -->",
        "<p>a</p><!--\n\n<h1>no</h1>\n\n# no\n--><p>b</p>",
    ],
)
@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_nothing_inside_raw_html_is_a_heading(raw: str, between: str) -> None:
    assert headings(f"<h1>Yes</h1>\n{raw}{between}<h2>Too</h2>") == [(1, "Yes"), (2, "Too")]


@pytest.mark.parametrize("tag", ["pre", "script", "style", "textarea"])
def test_raw_html_that_is_never_closed_hides_nothing_below(tag: str) -> None:
    assert headings(f"<{tag}>\ntext\n\n# Yes") == [(1, "Yes")]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("<h2 id='a>b'>Big</h2>", "Big"),
        ('<h2 class=x title="a > b" id=\'"\'>Big</h2>', "Big"),
        ("<h2>It's <a title='x>y'>big</a>, isn't it?</h2>", "It's big , isn't it?"),
        ("<h2>Big<!-- <b> --></h2>", "Big"),
    ],
)
def test_a_tag_ends_behind_its_attributes(heading: str, title: str) -> None:
    text = f"<p>a</p>{heading}<p>b</p>"
    assert kinds(text) == [("paragraph", "<p>a</p>"), ("heading", heading), ("paragraph", "<p>b</p>")]
    assert headings(text) == [(2, title)]


def test_a_comment_that_is_never_closed_hides_nothing_below() -> None:
    assert headings("<p>a</p><!-- <h1>Yes</h1>\n\n<h2>Too</h2>") == [(1, "Yes"), (2, "Too")]


def test_front_matter_is_no_heading() -> None:
    text = "---\ntitle: x\n# comment\n---\n# Yes"
    assert kinds(text) == [("records", "---\ntitle: x\n# comment\n---"), ("heading", "# Yes")]
    assert headings("---\nno end\n\n# Yes") == [(1, "Yes")]


def test_headings_without_text_between_them_share_a_section() -> None:
    text = "# A\n\n## B\n\n### C\ntext\n## D\n# E\ntext\n"
    assert [(s.path, len(s.blocks)) for s in sections(text)] == [(("A", "B", "C"), 4), (("E",), 3)]
    assert paths("# A\n# B\n## C\n") == ["B > C"]


def test_an_enumerator_above_a_heading_belongs_to_its_section() -> None:
    text = "# A\n\ntext\n\n2.\n\n# B\n\ntext"
    assert [(s.path, len(s.blocks)) for s in sections(text)] == [(("A",), 2), (("B",), 3)]


def test_skipped_levels_and_text_before_the_first_heading() -> None:
    assert paths("intro\n\n### Deep\nx\n## Middle\ny\n# Top\nz") == ["", "Deep", "Middle", "Top"]


def test_a_heading_without_title_adds_nothing_to_the_path() -> None:
    assert paths("# A\ntext\n##\ntext") == ["A", "A"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- one\n  more\n- two\n  - three", ["- one\n  more", "- two\n  - three"]),
        ("1. one\n2. two", ["1. one", "2. two"]),
        ("- one\n  - two\n    - three\n  - four", ["- one", "- two\n    - three", "- four"]),
        ("1. one\n\ta) no\n\t1) two\n\t2) three", ["1. one\n\ta) no", "1) two", "2) three"]),
        (
            "- one\n  ```\n  - code\n  ```\n  - two\n  ~~~ x\n  - code",
            ["- one\n  ```\n  - code\n  ```", "- two\n  ~~~ x\n  - code"],
        ),
        ("| a |\n|---|\n| 1 |", ["| a |\n|---|", "| 1 |"]),
        ("```\na\n\nb\n```", ["```", "a", "b", "```"]),
    ],
)
def test_parts_of_a_block(text: str, expected: list[str]) -> None:
    (block,) = blocks(text)
    found = parts(text, block.kind)
    assert [text[start:end] for start, end in found] == expected


@pytest.mark.parametrize("text", ["Plain text.", "# Heading", "<p>x</p>", "2020 was a year"])
def test_other_blocks_have_no_parts(text: str) -> None:
    (block,) = blocks(text)
    assert parts(text, block.kind) == [(0, len(text))]


@pytest.mark.parametrize("text", ["subject to pre\n-\nclearance", "Gigafactory\n*\nNew York", "one\n+\n"])
def test_a_mark_alone_on_its_line_ends_no_paragraph(text: str) -> None:
    assert [block.kind for block in blocks(text)] == ["paragraph"]


@given(texts())
def test_blocks_hold_all_that_is_not_white_space_in_order(text: str) -> None:
    found = blocks(text)
    reached = 0
    for block in found:
        assert not text[reached : block.start].strip()
        assert text[block.start : block.end] == text[block.start : block.end].strip() != ""
        reached = block.end
    assert not text[reached:].strip()
    assert [block for section in sections(text) for block in section.blocks] == found


@pytest.mark.parametrize(
    "text",
    [
        "<h1>" * 50_000,
        "<h1 " * 50_000,
        "<h1 '" * 50_000,
        "<h1 \"'" * 50_000,
        "<h1><!--" * 50_000,
        "<pre>\n" * 25_000,
        "</h1>\n" * 25_000,
        "# a" + " " * 75_000 + "b",
        "= a" + " " * 75_000 + "b =",
        "- " * 75_000,
        "|-" * 75_000 + "\n" + "|-" * 75_000,
        "```\n" * 25_001,
        "- a\n\n" * 25_000,
        "a\n---\n" * 12_500,
        "# a\n" * 12_500,
        "<" * 75_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_odd_markup_in_bulk_is_read_to_its_end(text: str) -> None:
    # Anything quadratic would take minutes here.
    found = blocks(text)
    assert found[-1].end == len(text.rstrip())
    assert len(sections(text)) >= 1


def test_lines_that_end_with_cr_alone_are_lines() -> None:
    text = "# One\n\nText.\n\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```\n# no\n```\nTwo\n===\nEnd."
    old = text.replace("\n", "\r")
    assert [(b.start, b.end, b.kind, b.depth) for b in blocks(old)] == [
        (b.start, b.end, b.kind, b.depth) for b in blocks(text)
    ]
    assert [s.path for s in sections(old)] == [s.path for s in sections(text)]
    assert parts("- a\r- b", "list") == parts("- a\n- b", "list")


def test_a_mark_behind_a_heading_stays_with_its_tag() -> None:
    for text in ("<h1>T</h1>\u0301 and text", "a <h1>T</h1>\u0301\u0301<h2>U</h2>\u0301"):
        for block in blocks(text):
            assert not text[block.start].startswith("\u0301")
        assert "".join(text[b.start : b.end] for b in blocks(text)).replace(" ", "") == text.replace(" ", "")
