"""Records: what is recognised, with its beginnings and its header, and what looks alike but is prose."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.kinds import DocumentKind
from kinsplit.text.blocks import blocks
from kinsplit.text.records import find_records
from tests.generators import RECORDS, WORDS, texts
from tests.growth import is_linear


def records(text: str, kind: DocumentKind = "") -> list[str] | None:
    found = find_records(text, 0, len(text), kind)
    if found is None:
        return None
    ends = [*found.starts[1:], len(text)]
    return [text[start:end].rstrip() for start, end in zip(found.starts, ends, strict=True)]


def header(text: str, kind: DocumentKind = "") -> str:
    found = find_records(text, 0, len(text), kind)
    assert found is not None
    return found.header


@pytest.mark.parametrize(
    "expected",
    [
        ["name,role,salary", "Ann,boss,3", "Bob,,4"],
        ["Ann,30", "Bob,41", "Cy,7"],
        ["Name;City", "Ann;Rome"],
        ["id\tname", "1\tAnn Miller"],
        ["a|b", "1|2"],
        [",name,size", "0,Tito,3"],
        [
            "a = 3 owls that hunt at night and sleep by day in trees",
            "b = 4 larks that sing at dawn and fly high in the",
        ],
        ["id | name", "----+------", " 1 | Ann", " 2 | Bob"],
        ["name, city, year", "Ann, Rome, 3", "Bob, Oslo, 4", "Cy, Bonn, 5"],
        ['"name","note"', '"Ann","a, b\nc ""d"""', '"Bob",""'],
        ["size,part", '5" pipe,3', '6" pipe,4'],
        ["2026-11-26 12:00:00,123 INFO a, b", "2026-11-26 12:00:01,456 ERROR c"],
        ["2026-11-26T12:00:00Z a", "2026-11-26T12:00:01Z b"],
        ["2026-11-26 12:00:00 a\nTraceback:\n  File x\nValueError: 3", "2026-11-26 12:00:01 b"],
        ["2026-11-26 12:00:00 one entry alone\n    at Owl.hunt(Owl.java:3)"],
        ["Nov  6 12:00:00 host sshd[1]: a", "Nov  6 12:00:01 host cron: b"],
        ["<34>1 2026-11-26T12:00:00Z a", "<34>1 2026-11-26T12:00:01Z b"],
        ["[Thu Nov 26 12:00:00 2026] [error] a", "[Thu Nov 26 12:00:01 2026] [error] b"],
        ['127.0.0.1 - - [26/Nov/2026:13:55:36 -0700] "GET /"', '::1 - ann [26/Nov/2026:13:55:36 -0700] "GET /"'],
        ["I1126 12:00:00.123456 main.go:3] a", "E1126 12:00:00.123457 main.go:3] b"],
        ["[    0.000000] Linux", "[    1.250000] usb"],
        ["12:00:00.123 a\n  b", "12:00:01.000 c"],
        ["INFO: a", "ERROR: b", "INFO: c"],
        ["[WARN] a", "[INFO] b"],
        ["[12:01] ann: ok", "[12:02] bob: no\nreally"],
        ["12/11/2026, 12:01 - Ann: hi\nhow are you?", "12/11/2026, 12:02 - Bob: fine"],
        ["\u200e[26.11.26, 12:01:22] Ann: hi", "[26.11.26, 12:02:22] Ann: hi"],
        ["1/2/26, 9:05\u202fPM - Ann: hi", "1/2/26, 9:06\u202fPM - Bob: hi"],
        ["ann  [10:02 AM]\nhi there", "bob  [10:03 AM]\nfine", "ann  [10:04 AM]\ngreat"],
        ["Ann \u2014 Today at 10:02 AM\nhi there\nhow are you?", "Bob \u2014 Today at 10:03 AM\nfine"],
        ["Ann, [26.11.2026 12:01]\nhi\nthere"],
        ["[10:02 AM] Ann Miller\nhi there"],
        ["[00:12.00]Oh owl", "[00:15.30]You fly"],
        ["0:00\nso hello", "0:03\ntoday we talk"],
        ["<ann> hi", "<@bob> ho"],
        ["12:01 <ann> hi", "12:02 <bob> ho"],
        ["ann: hi", "bob: ho"],
        ["ann: hi\nthere", "bob: ho", "ann: yes\nand no", "bob: so"],
        ["**Ann:** hi", "**Bob:** ho"],
        ["HAMLET: To be,", "OPHELIA: Good my lord,", "HAMLET: or not to be."],
        ["张三：你好", "李四：再见"],
        ["From: Ann", "To: Bob,\n  Cy", "Subject: a: b"],
        ["version: 3", "services:\n  web:\n    image: a", "volumes:\n- b\n- c", "x: y"],
        ["services:\n  web: a\n  db: b"],
        ["[main]\na = 1", "b = x = y", "# Note.\nc = 3", "[other]\nd = 4"],
        ["A=1", "export B=2", "C="],
        ["deps = [\n  'a',\n]", "x = 1"],
        ["level=info msg=a", "level=warn msg=b"],
        ["BEGIN:VEVENT", "DTSTART;TZID=Rome:20261126T120000", "SUMMARY:Owls\n  and larks", "END:VEVENT"],
        ['{"a": 1}', '{"a": 2}'],
        ['{\n  "a": 1,', '  "b": [\n    1,\n    2\n  ],', '  "c": {}\n}'],
        ['[\n  {\n    "a": 1\n  },', '  {\n    "a": 2\n  }\n]'],
        ["1\n00:00:01,000 --> 00:00:02,000\nOwls hunt.\n- Yes."],
        ["00:01.000 --> 00:02.000\na", "00:03.000 --> 00:04.000\nb"],
        ["0:00:01.000,0:00:02.000\nHi there"],
    ],
    ids=lambda expected: repr(expected[0][:30]),
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_consists_of_records(expected: list[str], end: str) -> None:
    text = "\n".join(expected).strip().replace("\n", end)
    assert records(text) == [each.strip().replace("\n", end) for each in expected]


@pytest.mark.parametrize(
    "text",
    [
        "He went to market, and bought some fruit, which was\ngood, as he had said, and then went home, where his",
        "The cat, the dog\nand the mouse, too.",
        "The cat, the dog, the owl\nand the mouse, the hen, too.",
        "We sold 1,000 units in May\nand then 2,500 units more in\nJune, and 1,200 in July.",
        "Note: this is a long line of prose that was wrapped\nafter: a word with a colon that happened to come",
        "Note: this is\nwhat follows.",
        "Note that\nthis: is prose.",
        "He said: I will\nnot go: never.",
        '"Hello," said Ann.\n"Hi," said Bob.\n"So," said Ann.',
        "\u201eHallo\u201c, sagte Ann.\n\u201eJa\u201c, sagte Bob.",
        "Ann Miller\n12 Main St, Apt 4\nSpringfield, IL 62704",
        "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand, or eye,\nCould frame",
        "Rough winds, do, the buds\nOf May, and so, the lease\nOf summer, hath, a date\nToo hot, too short, I see.",
        "Shall I compare,\nThou art more,\nRough winds,\nAnd summer,",
        "We meet on Monday at 10:00\nand leave at 12:30\nfor Rome.",
        "http://owls.example\nhttps://larks.example",
        "std::cout is\nstd::cin too",
        "12:30 the train left and went on\nto the next town, where we stayed.",
        "The train of 12:30\n12:45 was the next one",
        "2026 was a good year\nand 2027 will be better",
        "2026-11-26 was the day on which\nwe met again.",
        "WARNING\nnever do this",
        "    Indented, as a quotation is,\n    it goes on, for a while.",
        '[This is a note,\n"wrapped" at a comma]',
        "[1] Smith, 2020\n[2] Miller, 2021",
        "{curly} braces\nin prose }",
        "See http://a.example/b\nand https://c.example for more",
        "if x == 3 then\ny == 4",
        "a => b\nc => d",
        "one word\nanother word",
        "Das Haus; der Hund;\ndie Katze; das Pferd;",
        "a --> b\nc --> d",
        "<p> text\n</p> text",
        "x\n\ty",
        "Note: this\n\tgoes on.",
        'It ends with "|" and another\ncommand, since "|" is a part of it.',
        "CTRL-X\t\tEnter the mode, in which\n\t\tall words are complete",
        "See |a.txt| for how to\nread it, and |b.txt| for more.",
    ],
)
def test_what_looks_like_records_but_is_prose(text: str) -> None:
    assert records(text) is None
    assert records(text.replace("\n", "\r\n")) is None


@given(
    st.lists(
        st.sampled_from([*WORDS, "1,000", "said,", "Ann;", "12:30", "so:called", "a", "the"]), min_size=16, max_size=80
    ),
    st.integers(60, 90),
    st.sampled_from(["", "Note: ", "Ann, Bob and Cy: ", "(a) ", "In 2026, "]),
)
def test_wrapped_prose_stays_prose(words: list[str], width: int, before: str) -> None:
    text = textwrap.fill(before + " ".join(words), width, break_on_hyphens=False)
    assert "\n" not in text or text.startswith("12:30") or records(text) is None


@pytest.mark.parametrize("kind", RECORDS)
@given(data=st.data())
def test_no_record_is_torn_and_each_begins_by_itself(kind: str, data: st.DataObject) -> None:
    text, ranges = data.draw(RECORDS[kind]())
    found = [block for block in blocks(text) if block.kind == "records"]
    starts = [at for block in found for at in records_starts(text, block.start, block.end)]
    assert not any(start < at < end for at in starts for start, end in ranges)
    assert {start for start, _ in ranges[1:]} <= set(starts)
    if kind == "rows":
        assert found[0].title.casefold().startswith("name")


def records_starts(text: str, start: int, end: int) -> list[int]:
    found = find_records(text, start, end, "records")
    assert found is not None
    assert found.starts[0] == start
    return found.starts


@given(texts(), st.sampled_from(["", "rows", "records"]))
def test_any_block_has_records_in_order(text: str, kind: DocumentKind) -> None:
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    found = find_records(text, start, end, kind) if start < end else None
    if found is not None:
        assert found.starts[0] == start
        assert found.starts == sorted(set(found.starts))
        assert not any(text[at].isspace() for at in found.starts)
        assert found.starts[-1] < end
    else:
        assert not kind or start >= end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,city\nAnn,Rome\nBob,Oslo", "name,city"),
        ('"name";"city"\n1;2', '"name";"city"'),
        ("Jahr\tGröße\n2026\t3", "Jahr\tGröße"),
        ("# id,x,y\n1,2,3", "# id,x,y"),
        (",name,size\n0,Tito,3", ",name,size"),
        ("1,2,3\n4,5,6", ""),
        ("Ann,ann@owls.example,3\nBob,bob@owls.example,4", ""),
        ("a,a,b\n1,2,3", ""),
        ("a,,b\n1,2,3", ""),
        ("ann: hi\nbob: ho", ""),
    ],
)
def test_a_first_row_of_names_is_the_header(text: str, expected: str) -> None:
    assert header(text) == expected


def test_cells_at_the_edges_of_a_block_may_be_empty() -> None:
    text = "\tname\tsize\n0\tTito\t3\n1\tLilly\t"
    found = find_records(text, 1, len(text) - 1)
    assert found is not None
    assert (len(found.starts), found.header) == (3, "name\tsize")


def test_a_document_of_rows_or_records_is_cut_at_lines_whatever_they_look_like() -> None:
    prose = "Owls hunt, at night\nLarks sing\n  at dawn"
    assert records(prose, "rows") == ["Owls hunt, at night", "Larks sing", "at dawn"]
    assert records(prose, "records") == ["Owls hunt, at night", "Larks sing\n  at dawn"]
    assert records('a,b\n"c\nd",e', "rows") == ["a,b", '"c\nd",e']
    assert records('a,b\n"c\nd,e', "rows") == ["a,b", '"c', "d,e"], "a quote that is never closed"
    assert header("Ann Miller,Rome\nBob Ray,Oslo", "rows") == "Ann Miller,Rome"
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    assert records(table, "rows") == ["| a | b |\n|---|---|", "| 1 | 2 |"]
    assert header(table, "rows") == "| a | b |\n|---|---|"
    assert records("one line", "records") == records("one line", "rows") == ["one line"]


def test_a_block_that_is_indented_as_a_whole_is_read_like_one_that_is_not() -> None:
    text = "x\n    a: 1\n      b: 2\n    c: 3"
    found = find_records(text, 6, len(text))
    assert found is not None
    assert [text[at : at + 1] for at in found.starts] == ["a", "c"]
    prose = "x\n    Note: this\n        goes on."
    assert find_records(prose, 6, len(prose)) is None


def test_long_records_are_divided_at_the_lines_below_them() -> None:
    inner = [f"  owl_{number}: {'hunts ' * 9}" for number in range(20)]
    text = "\n".join(["birds:", *inner, "end: 1"])
    found = records(text)
    assert found is not None
    assert [each.splitlines()[0].strip().partition(":")[0] for each in found] == [
        "birds",
        *(f"owl_{number}" for number in range(1, 20)),
        "end",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "version: 3\nservices:\n  - web\n  - db\nother: 1\n\nmore:\n- a\n- b\n\nlast: 1\nend: 2",
        "1\n00:00:01,000 --> 00:00:02,000\n- Owls?\n- Yes.\n\n2\n00:00:03,000 --> 00:00:04,000\n1. One.\n2. Two.",
        "2026-11-26 12:00 a\n\nTraceback:\n  x\n\n2026-11-26 12:01 b\n- c\n\n2026-11-26 12:02 d\n\n2026-11-26 12:03 e",
    ],
)
def test_marks_in_a_text_of_records_are_no_markdown(text: str) -> None:
    assert {block.kind for block in blocks(text)} == {"records"}


@pytest.mark.parametrize(
    "text",
    [
        "# Owls\n\nname: Tito\nsize: 3\n\nname: Lilly\nsize: 4\n\nname: Mimi\nsize: 5",
        "name: Tito\nsize: 3\n\nThey hunt.\n\n- at dawn\n- at dusk",
        "---\ntitle: Owls\nlang: en\n---\n\n- a: 1\n- b: 2",
    ],
)
def test_marks_in_a_text_of_records_and_others_are_markdown(text: str) -> None:
    assert {"heading", "list"} & {block.kind for block in blocks(text)}


def test_comments_above_records_are_no_headings() -> None:
    text = "# How owls live.\n# See owls.example.\n\n# Names\nname: Tito\nsizes:\n- 3\n\n[more]\nage = 2\n\nend: 1"
    assert [block.kind for block in blocks(text)] == ["records"] * 4


def test_records_among_other_blocks_leave_those_alone() -> None:
    text = "Title: Owls\nDate: 2026\n\n# Owls\n\nThey hunt,\nas owls do.\n\nname,size\nTito,3\n\n- a\n- b"
    found = [block.kind for block in blocks(text)]
    assert found == ["records", "heading", "paragraph", "records", "list"]
    assert [block.kind for block in blocks(text, "prose")].count("records") == 0


@pytest.mark.parametrize(
    "unit",
    [
        "a,b\n",
        'a,"b\n',
        "a: b\n",
        " a: b\n",
        "[x]\n",
        "[\n",
        "{",
        '"a"',
        "12:00 a\n",
        "2026-01-01 12:00 a\n",
        "a b ",
        "a\tb\n",
    ],
)
@pytest.mark.parametrize("kind", ["", "rows", "records"])
def test_time_grows_no_faster_than_the_block(unit: str, kind: DocumentKind) -> None:
    assert is_linear(lambda text: find_records(text, 0, len(text), kind), unit, 1 << 17, 0.06)


def test_deep_indentation_takes_linear_time() -> None:
    def stairs(text: str) -> None:
        lines = (" " * (number % 300) + "a: b" for number in range(len(text) // 150))
        staircase = "\n".join(lines)
        find_records(staircase, 0, len(staircase), "records")

    assert is_linear(stairs, "a", 1 << 19, 0.06)
