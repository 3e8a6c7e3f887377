"""Shared hypothesis generators. A new feature that reads text adds the text that would break it here."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from kinsplit.parsers.similarity import THRESHOLDS

#: Pieces of the texts that broke other splitters: repeats, odd white space, clusters, scripts, markup, code.
FRAGMENTS = (
    "No. ",
    "Yes. No. ",
    "chunk chunk",
    "alpha -- beta -- -- gamma ",
    "Dr. Smith paid $3.50 (e.g. in the U.S.) ... ",
    '"Really?" she said. ',
    "Wow!!! Wait . . . what?! ",
    "word " * 40,
    "A" * 130 + " ",
    "line one.\r\nline two.\r\n\r\nline three.\r\n",
    "\r\n",
    "\n",
    "\n\n",
    "\t",
    " ",
    "   ",
    "\u00a0\u2003",
    "\u2028",
    "今天天气很好。我们去公园吧！你想去吗？",
    "食べ物。「はい。」",
    "สวัสดีครับ ยินดีต้อนรับ",
    "यह एक वाक्य है। यह दूसरा है। क्षि",
    "كيف حالك؟ أنا بخير. ",
    "שלום עולם. ",
    "한국어 문장입니다. ",
    "Hi 👩‍👩‍👧‍👦 cafe\u0301 🤣🤣. ",
    "🇩🇪🇫🇷🇯🇵",
    "e" + "\u0301\u0323" * 12,
    "\u200b\ufeff\u00ad",
    "\x00\x07",
    "\x7f",
    "a\x7fb \ufffe\u2e43 0\U0001239a",
    "\ufffd",
    "\ud800",
    "<|endoftext|> [MASK] </s> ",
    "# Heading\n",
    "## Deeper ##\n\n",
    "Setext\n======\n",
    "```python\ndef f(x):\n\treturn\u00a01\n# no heading\n```\n",
    "~~~\n# c2\n~~~\n",
    "- one\n- two\n  - three\n\n1. four\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
    "<h2>HTML <b>title</b></h2><p>text</p>\n",
    "---\ntitle: x\n---\n",
    "== Wiki ==\n",
    "def f(x):\n    g(x,\n      [1, 2])\n\n    return 'it\\'s (' # one (\n",
    "/* ( */ f(`a\\`\n${b}`, 'don't', x // y);\n} else {\ncat <<EOF\n",
    "[text](../path/to/file.md) some;;text... and,, more. ",
    "2. Scope. It holds.[1] (a) So.[2][3] Good! 😀 Then.\u00b9\u00b2 IV.\n",
    "SCOPE\n2.1. Rent.\n(b) Pay;\n1.\n2.\n\u7b2c3\u6761\n",
    "「そうです。」と言った。（…。）と。値は３．１４です。",
)


#: Characters that tokenizers drop, with which texts may begin and end.
DROPPED = (
    "\u0301 " * 8,
    "\u200b",
    "\u200b\n" * 3,
    "\u00ad ",
    "\ufeff",
    "\u200f\u200e ",
    "\u0e31 ",
    "\u094d\u0903 ",
    "\u0378",
    "\x00 ",
    "\ue000\n",
)


def texts(max_fragments: int = 25) -> st.SearchStrategy[str]:
    """Return texts made of fragments and of arbitrary characters, including lone surrogates."""
    arbitrary = st.text(st.characters(), max_size=30)
    inside = st.lists(st.one_of(st.sampled_from(FRAGMENTS), arbitrary), max_size=max_fragments).map("".join)
    edge = st.sampled_from(("", *DROPPED))
    return st.tuples(edge, inside, edge).map("".join)


def valid_texts(max_fragments: int = 25) -> st.SearchStrategy[str]:
    """Return texts without lone surrogates, for values that pass through JSON or a database."""
    return texts(max_fragments).map(lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def sizes(least: int = 8, most: int = 120) -> st.SearchStrategy[int]:
    """Return chunk sizes so small that short texts give many chunks."""
    return st.integers(least, most)


@st.composite
def strategy_parameters(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Return valid, small parameters of a strategy."""
    size = draw(sizes())
    unit = draw(st.sampled_from(["character", "word", "token"]))
    if name in {"character", "word"}:
        return {"chunk_size": size, "chunk_overlap": draw(st.integers(0, size - 1))}
    if name == "token":
        return {"chunk_size": size, "stride": draw(st.integers(1, size))}
    if name == "sentence":
        overlap = draw(st.sampled_from(["length", "sentences"]))
        if overlap == "sentences":
            return {"chunk_size": size, "unit": unit, "overlap_sentences": draw(st.integers(1, 3))}
        return {"chunk_size": size, "unit": unit, "chunk_overlap": draw(st.integers(0, size - 1))}
    if name == "structure":
        return {"chunk_size": size, "unit": unit, "min_chunk_size": draw(st.integers(0, size))}
    if name == "semantic":
        kind = draw(st.sampled_from(sorted(THRESHOLDS)))
        least = draw(st.integers(1, 4))
        return {
            "embedder": "hash",
            "chunk_size": size,
            "unit": unit,
            "threshold_kind": kind,
            "min_sentences": least,
            "max_sentences": draw(st.integers(least, least + 6).filter(lambda most: most > 1)),
            "overlap_sentences": draw(st.integers(0, 1)),
        }
    if name == "hierarchical":
        parents = draw(st.sampled_from([(4 * size,), (9 * size, 3 * size)]))
        children = draw(st.sampled_from(["limit", "sentence"]))
        sizes_ = {"parent_size": parents, "child_size": size, "unit": unit}
        return sizes_ | {"children": children, "headings": draw(st.booleans())}
    if name == "multigranular":
        return {"chunk_sizes": (size, 2 * size, 5 * size), "chunk_overlap": draw(st.integers(0, size - 1))}
    if name == "llm":
        least = draw(st.integers(1, 3))
        return {
            "model": draw(st.sampled_from(["hash", "none"])),
            "chunk_size": size,
            "unit": unit,
            "min_sentences": least,
            "max_sentences": draw(st.none() | st.integers(least, 9)),
            "segment_size": draw(sizes(20, 400)),
        }
    if name == "cluster":
        passage = draw(st.integers(8, size))
        overlap = draw(st.integers(0, (passage - 1) // 2))
        threshold = draw(st.sampled_from([-1.0, 0.2, 0.5, 0.75, 1.0]))
        sizes_ = {"chunk_size": size, "passage_size": passage, "passage_overlap": overlap}
        return {**sizes_, "threshold": threshold, "embedder": "hash"}
    raise NotImplementedError(f"give {name!r} a generator of its parameters")


class Lines(NamedTuple):
    """A text whose lines are no prose, and the ranges of its items, rows or records, none of which may be torn."""

    text: str
    ranges: list[tuple[int, int]]


#: Words with the marks at which a text might be cut.
WORDS = ("owl", "größer", "東京", "👩‍👩‍👧‍👦", "don't", "3.50", "e.g.", "No.", "U.S.", "(maybe)", "cafe\u0301", "hunts!")


def said() -> st.SearchStrategy[str]:
    """Return a few words, of which some end sentences."""
    return st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


def _lines(records: Sequence[str], between: str = "\n", before: str = "", after: str = "") -> Lines:
    ranges, at = [], len(before)
    for record in records:
        own = at + len(record) - len(record.lstrip())
        ranges.append((own, at + len(record.rstrip())))
        at += len(record) + len(between)
    return Lines(before + between.join(records) + after, ranges)


def _joined(pieces: Sequence[Lines], between: str) -> Lines:
    """Join texts, and bind each heading, which has no ranges, to the first range of what follows it."""
    text, ranges, above = "", list[tuple[int, int]](), list[tuple[int, int]]()
    for piece in pieces:
        at = len(text) + len(between) if text else 0
        text = f"{text}{between}{piece.text}" if text else piece.text
        if piece.ranges:
            own = [(at + start, at + end) for start, end in piece.ranges]
            ranges += [*own, *((start, own[0][1]) for _, start in above)]
            above = []
        else:
            depth = piece.text.find(" ")
            above = [*(each for each in above if each[0] < depth), (depth, at)]
    return Lines(text, ranges)


def _several(record: st.SearchStrategy[str], least: int = 4) -> st.SearchStrategy[list[str]]:
    return st.lists(record, min_size=least, max_size=12)


@st.composite
def lists(draw: st.DrawFn) -> Lines:
    """Return a list with items of several sentences, lines, and items of their own, with which an item is a range."""
    outer, inner = draw(
        st.sampled_from(
            [("- {}", "  * {}"), ("{n}. {}", "   - {}"), ("- ({n}) {}", "    - ({n}) {}"), ("{n}) {}", "    1. {}")]
        )
    )
    more = draw(st.sampled_from(["", "\n  that goes on. And so on"]))
    items: list[Lines] = []
    for number in range(1, draw(st.integers(2, 7)) + 1):
        below = [inner.format(draw(said()), n=n) for n in range(1, draw(st.integers(0, 3)) + 1)]
        item = _lines([outer.format(draw(said()), n=number) + more, *below])
        items.append(Lines(item.text, [(0, len(item.text)), *item.ranges]))
    return _joined(items, "\n")


@st.composite
def tables(draw: st.DrawFn) -> Lines:
    """Return a table of pipes, whose header and first row are one range, and each other row is another."""
    row = st.tuples(said(), said()).map(lambda cells: "| {} | {} |".format(*cells))
    first, *others = draw(_several(row, 1))
    return _lines([f"| name | note |\n|---|---|\n{first}", *others])


@st.composite
def separated_rows(draw: st.DrawFn) -> Lines:
    """Return rows of separated values below their header; quoted cells may contain separators and line breaks."""
    mark = draw(st.sampled_from([",", ";", "\t", "|"]))
    quoted = st.sampled_from([f'"a{mark} b"', '"two\nlines"', '"so ""called"""', "", "3", "-1.5"])
    row = st.tuples(said(), st.integers(0, 99_999).map(str), said() | quoted).map(mark.join)
    return _lines([mark.join(("name", "number", "note")), *draw(_several(row, 2))])


@st.composite
def logs(draw: st.DrawFn) -> Lines:
    """Return entries of a log, some with a stack trace."""
    stamp = draw(
        st.sampled_from(
            [
                "2026-11-26 12:{:02}:07,123 INFO",
                "2026-11-26T12:{:02}:07.123Z ERROR [main]",
                "[2026-11-26 12:{:02}:07]",
                "Nov 26 12:{:02}:07 host sshd[42]:",
                "INFO 2026/11/26 12:{:02}:07",
                "127.0.0.1 - - [26/Nov/2026:12:{:02}:07 +0000]",
                "12:{:02}:07.123 WARN",
            ]
        )
    )
    traces = ["", "", "\n    at Owl.hunt(Owl.java:3)\n    at Main.main(Main.java:9)"]
    if not stamp.startswith("12:"):
        traces.append('\nTraceback (most recent call last):\n  File "owl.py", line 3\nValueError: 3.50')
    entry = st.tuples(st.integers(0, 59).map(stamp.format), said().map(" {}".format), st.sampled_from(traces))
    return _lines(draw(_several(entry.map("".join), 3)))


@st.composite
def chats(draw: st.DrawFn) -> Lines:
    """Return messages of a chat, one a line."""
    shape = draw(
        st.sampled_from(
            [
                "[12:01] {}: {}",
                "{}: {}",
                "<{}> {}",
                "12:01 <{}> {}",
                "12/11/2026, 12:01 - {}: {}",
                "[26.11.26, 12:01:22] {}: {}",
                "{}：{}",
            ]
        )
    )
    message = st.tuples(st.sampled_from(["ann", "bob", "Zoë", "東京"]), said()).map(lambda parts: shape.format(*parts))
    return _lines(draw(_several(message)))


@st.composite
def settings_files(draw: st.DrawFn) -> Lines:
    """Return pairs of keys and values as YAML, whose keys may have others or items below them, or as `key = value`."""
    key = st.sampled_from(["name", "max-size", "log.level", "owls", "is_on", "PATH"])
    if draw(st.booleans()):
        return _lines(draw(_several(st.tuples(key, said()).map(" = ".join), 3)))
    below = st.sampled_from(["{}: {}", "{}:\n  {}: 3", "{}:\n- {}\n- b", "{}:\n    - {}\n    - b: 3\n      c: 4"])
    words = st.sampled_from(["owl", "großer owl", "127.0.0.1", "東京"])
    return _lines(draw(_several(st.tuples(below, key, words).map(lambda parts: parts[0].format(*parts[1:])), 3)))


@st.composite
def json_texts(draw: st.DrawFn) -> Lines:
    """Return JSON: objects a line each, or an object of several lines, or a list of such objects."""
    write: Callable[[Any], str] = lambda value: json.dumps(value, ensure_ascii=False)  # noqa: E731
    values = st.dictionaries(st.sampled_from(["a", "b c", "d"]), said() | st.integers(), min_size=1)
    objects = draw(_several(values, 2))
    shape = draw(st.sampled_from(["lines", "object", "list"]))
    if shape == "lines":
        return _lines([write(each) for each in objects])
    if shape == "object":
        return _lines(_with_commas([f'  "{i}": {write(each)}' for i, each in enumerate(objects)]), "\n", "{\n", "\n}")
    indented = [json.dumps(each, ensure_ascii=False, indent=2).replace("\n", "\n  ") for each in objects]
    return _lines(_with_commas([f"  {each}" for each in indented]), "\n", "[\n", "\n]")


def _with_commas(elements: list[str]) -> list[str]:
    return [*(f"{each}," for each in elements[:-1]), elements[-1]]


@st.composite
def subtitles(draw: st.DrawFn) -> Lines:
    """Return the cues of a file of subtitles, as they are."""
    before, clock = draw(st.sampled_from([("", "00:{:02}:01,000"), ("WEBVTT\n\n", "{:02}:01.000")]))
    spoken = st.lists(said(), min_size=1, max_size=2).map("\n".join) | said().map("- {}\n- Yes.".format)
    cues = [
        f"{number}\n{clock.format(number)} --> {clock.format(number + 1)}\n{words}"
        for number, words in enumerate(draw(_several(spoken, 2)), 1)
    ]
    return _lines(cues, "\n\n", before)


@st.composite
def fences(draw: st.DrawFn) -> Lines:
    """Return a fence, whose lines are no prose, headings or items."""
    mark = draw(st.sampled_from(["```", "~~~", "````"]))
    line = st.sampled_from(
        ["# no heading", "- no item", "x = 1; y = 2. Z", "    deep(1, 2)", "| a | b |", "", "Say it. Now."]
    )
    lines = [f"{mark}{draw(st.sampled_from(['', 'python', 'text']))}", *draw(_several(line, 1)), mark]
    found = _lines(lines)
    whole = 0, len(found.text)
    return Lines(found.text, [whole, *((start, end) for start, end in found.ranges if start < end)])


@st.composite
def paragraphs(draw: st.DrawFn) -> Lines:
    """Return a paragraph of sentences, some with marks that close them, on one line or hard-wrapped."""
    wrapped = draw(st.booleans())
    words = ["owl", "größer", "don't", "(maybe)", "it, that", *([] if wrapped else ["3.50", "§ 5"])]
    middle = st.lists(st.sampled_from(words), min_size=2, max_size=12).map(("\n" if wrapped else " ").join)
    end = st.sampled_from([".", "!", "?", ".[1]", ".[2][3]", '."', " (so)."])
    return _lines([f"The {draw(middle)}{draw(end)}" for _ in range(draw(st.integers(1, 5)))], " ")


@st.composite
def markdown(draw: st.DrawFn) -> Lines:
    """Return sections of paragraphs, lists, tables and fences below headings.

    A heading and the first sentence, item, row or fence below it are a range, too.
    """
    heading = st.tuples(st.sampled_from(["#", "##", "###"]), st.integers(1, 99)).map(
        lambda parts: Lines(f"{parts[0]} Part {parts[1]}", [])
    )
    body = st.one_of(paragraphs(), lists(), tables(), fences())
    section = st.tuples(st.lists(heading, max_size=2), st.lists(body, min_size=1, max_size=3)).map(
        lambda both: [*both[0], *both[1]]
    )
    return _joined([piece for own in draw(st.lists(section, min_size=1, max_size=4)) for piece in own], "\n\n")


#: Generators of texts that consist of records, by what they are.
RECORDS = {
    "rows": separated_rows,
    "logs": logs,
    "chats": chats,
    "settings": settings_files,
    "JSON": json_texts,
    "subtitles": subtitles,
}


_FORMS = st.sampled_from(["{0} = {1}", "{0}({1})", "{0}(\n    {1},\n    b,\n)", "return {1}", "{0} = (\n    {1}\n)"])
_NAMES = st.sampled_from(["a", "total", "self.items", "x_1"])
_VALUES = st.sampled_from(["1", "'it (is'", '"# no"', "b // 2", "f(a, b)", "[1, 2]", "'''one\n(two'''"])
_HEADS = st.sampled_from(["def f(x):\n", "class A:\n", "if a and (\n    b\n):\n", "for a in b:  # each (\n"])


def programs() -> st.SearchStrategy[Lines]:
    """Return a program in Python, whose ranges are its statements, with what stands above them.

    The head of a block and its first statement are one.
    """
    return _statements().map(_lines_of)


@st.composite
def _statements(draw: st.DrawFn, depth: int = 3) -> list[str]:
    found = []
    for _ in range(draw(st.integers(1, 4))):
        above = draw(st.sampled_from(["", "", "# Why (so.\n", "# One.\n# Two.\n"]))
        if depth and draw(st.booleans()):
            head = draw(_HEADS)
            if head.startswith(("def", "class")):
                above += draw(st.sampled_from(["", "@once\n", "@app.get(\n    '/x',\n)\n"]))
            first, *others = (textwrap.indent(each, "    ") for each in draw(_statements(depth - 1)))
            found += [above + head + first, *others]
        else:
            found.append(f"{above}{draw(_FORMS).format(draw(_NAMES), draw(_VALUES))}\n")
        found[-1] += draw(st.sampled_from(["", "\n"]))
    return found


def _lines_of(statements: list[str]) -> Lines:
    return _lines(statements, "")


@st.composite
def scripts(draw: st.DrawFn) -> Lines:
    """Return a program in JavaScript, whose ranges are its statements; the ends of a function are in its own."""
    inner = st.sampled_from(
        ["a(b, c);", "const d = { e: 1 };", "if (f) { g(); }", "h(\n    1,\n    2\n  );", "// Why.\n  i();"]
    )
    found = []
    for number in range(draw(st.integers(2, 6))):
        if draw(st.booleans()):
            found.append(draw(st.sampled_from([f"const a{number} = b(1, 2);", f"c({{\n  d: {number},\n}});"])))
            continue
        body = [f"  {each}" for each in draw(_several(inner, 1))]
        body[-1] += "\n}"
        found += [f"function f{number}(a, b) {{\n{body[0]}", *body[1:]]
    return _lines(found)


#: Generators of texts with ranges that no chunk may tear, by what they are.
WHOLE = {
    **RECORDS,
    "lists": lists,
    "tables": tables,
    "paragraphs": paragraphs,
    "Markdown": markdown,
    "Python": programs,
    "JavaScript": scripts,
}
