from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.formats import csv_rows
from kinsplit.loaders.formats.csv_rows import read
from kinsplit.parsers import create
from tests.loaders.helpers import document_of


def text_of(text: str) -> str:
    return read(text.encode()).contents[0].text


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_rows_are_a_pipe_table_whatever_separates_them(separator: str):
    rows = [["name", "note"], ["Ann", "one\nline"], [], ["Bo", f"a{separator}b"], ["", ""]]
    text = "\r\n".join(separator.join(f'"{cell}"' for cell in row) for row in rows)

    (content,) = read(text.encode()).contents

    bar = "a\\|b" if separator == "|" else f"a{separator}b".replace("\t", " ")
    assert content.text == f"| name | note |\n| --- | --- |\n| Ann | one line |\n| Bo | {bar} |"


def test_every_group_of_rows_has_the_header(tmp_path):
    rows = [f"{number},{'x' * 90}" for number in range(30)]

    document = document_of(tmp_path / "a.csv", "\n".join(["number,text", *rows]))

    groups = document.text.split("\n\n")
    assert len(groups) == 3
    assert all(group.startswith("| number | text |\n| --- | --- |\n| ") for group in groups)
    assert [line for group in groups for line in group.splitlines()[2:]] == [
        f"| {number} | {'x' * 90} |" for number in range(30)
    ]
    assert document.metadata["file_type"] == "table"
    chunks = create("structure", unit="character", chunk_size=1200, min_chunk_size=1).chunk(document)
    assert [chunk.text for chunk in chunks] == groups


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ""),
        ("a,b", "| a | b |\n| --- | --- |"),
        ("notes\nhello, world\nbye\nand so on", "| notes |\n| --- |\n| hello, world |\n| bye |\n| and so on |"),
        ('a, b\n"c, d"\ne', "| a, b |\n| --- |\n| c, d |\n| e |"),
        ("alone", "| alone |\n| --- |"),
        ("a\n1,2,3", "| a |  |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |"),
        (
            "name,role\nAnn,boss,x\nBo,dev,y",
            "| name | role |  |\n| --- | --- | --- |\n| Ann | boss | x |\n| Bo | dev | y |",
        ),
    ],
)
def test_uneven_tables_lose_nothing(text: str, result: str):
    assert read(text.encode()).contents[0].text == result


def test_tabs_alone_separate_tsv():
    assert csv_rows.TSV.read(b"a, b\tc\n1\t2").contents[0].text == "| a, b | c |\n| --- | --- |\n| 1 | 2 |"


TABLE = "| a | b | c |\n| --- | --- | --- |\n| x | 1,5 | 2 |\n| y | 2,5 | 3 |"
LINES = "a;b;c\nx;1,5;2\ny;2,5;3"


@pytest.mark.parametrize(
    ("above", "paragraphs"),
    [
        ("Report: birds\nGenerated 2024-05-01\n\n", "Report: birds\n\nGenerated 2024-05-01\n\n"),
        ("Report\n", "Report\n\n"),
        ("Report;;\n;;\n", "Report\n\n"),
        ("# made by a program\n", "\\# made by a program\n\n"),
        ("Account;DE12\n\n", "Account DE12\n\n"),
        ("sep=;\n", ""),
        ('"SEP=;"\r\n', ""),
        ("\n\n", ""),
    ],
)
def test_lines_above_the_table_are_paragraphs(above: str, paragraphs: str):
    assert text_of(above + LINES) == paragraphs + TABLE


def test_the_separator_that_a_file_names_is_used():
    assert text_of("sep=^\na,b^c\n1,2^3") == "| a,b | c |\n| --- | --- |\n| 1,2 | 3 |"


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("1;2,5\n3;4,5", "|  |  |"),
        ("Ann;12:30\nBo;13:00", "|  |  |"),
        ("bird;2019;2020\nheron;3;4\nowl;5;6", "| bird | 2019 | 2020 |"),
        ("id;name\n1;Ann\n2;Bo", "| id | name |"),
        (";x;y\na;1;2\nb;3;4", "|  | x | y |"),
        ("x;x;\na;1;2\nb;3;4", "| x | x |  |"),
        ("Ann;Köln\nBo;Bonn", "| Ann | Köln |"),
    ],
)
def test_a_table_may_have_no_names_or_odd_ones(text: str, header: str):
    shown = text_of(text)

    assert shown.splitlines()[0] == header
    assert shown.count("\n") == text.count("\n") + 1 + (not header.strip("| "))


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of the rows below the headers."""
    groups = [group.split("\n")[2:] for group in text.split("\n\n")]
    return [[cell.strip() for cell in row.strip("|").split(" |")] for group in groups for row in group]


@pytest.mark.parametrize("at", [[5], [5, 500], [0, 1, 2], [999], [5, 6]])
def test_a_quotation_mark_that_nothing_closes_swallows_no_row(at: list[int]):
    rows = [[f"q{n}", f'"answer {n}' if n in at else f"answer {n}"] for n in range(1000)]
    reading = read("\n".join(["question,answer", *map(",".join, rows)]).encode())

    assert rows_of(reading.contents[0].text) == rows
    what = "1 quotation mark is" if len(at) == 1 else f"{len(at)} quotation marks are"
    assert reading.warnings == (f"{what} never closed, and read as text (line {at[0] + 2:,})",)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('"a, b' + "\n" + 'c"', "a, b c"),
        ('"say ""hi"", twice"', 'say "hi", twice'),
        ('  "a, b"', "a, b"),
        ('5" pipe', '5" pipe'),
        ('6"" and 7"', '6"" and 7"'),
        ('"a"b', "ab"),
        ("a|b", "a\\|b"),
        ("\u2028a\x85", "a"),
        ("", ""),
    ],
)
def test_cells_in_quotation_marks(cell: str, shown: str):
    reading = read(f"name,note,n\nx,{cell},1\ny,z,2".encode())

    assert f"| x | {shown} | 1 |\n| y | z | 2 |" in reading.contents[0].text
    assert reading.warnings == ()


def test_quotation_marks_may_have_a_backslash():
    text = r'''"a","b"
"He said \"hi\", ok","C:\dir"
"","x\""'''

    assert (
        text_of(text)
        == r"""| a | b |
| --- | --- |
| He said "hi", ok | C:\dir |
|  | x" |"""
    )


def test_a_long_row_is_told_and_widens_no_other_table():
    body = [f"{number},{'x' * 90}" for number in range(30)]
    reading = read("\n".join(["n,text", *body, "1,2" + ",3" * 50]).encode())

    assert reading.warnings == ("1 row has more cells than the header",)
    assert reading.contents[0].text.startswith("| n | text |\n| --- | --- |\n")
    assert rows_of(reading.contents[0].text)[-1] == ["1", "2", *["3"] * 50]


_CELLS = st.lists(st.sampled_from([",", '"', "\n", " ", ";", "word", "1", "\r\n"]), max_size=6).map("".join)


@given(st.lists(st.tuples(_CELLS, _CELLS), min_size=1, max_size=6), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_what_the_standard_library_writes_comes_back(rows, quoting):
    target = io.StringIO()
    table = [["first", "second", "third"], *(["x", one, f"{two}."] for one, two in rows)]
    csv.writer(target, quoting=quoting).writerows(table)

    text = text_of("sep=,\n" + target.getvalue())

    shown = [[" ".join(cell.split()) for cell in row] for row in table[1:]]
    assert rows_of(text) == shown


@given(st.text('ab",;\n\r', max_size=60))
def test_no_letter_is_lost(text):
    assert Counter(letters(text_of(text).split("\n"))) >= Counter(letters([text]))


def letters(lines: Iterable[str]) -> str:
    return "".join(letter for line in lines for letter in line if letter in "ab")


@pytest.mark.parametrize(
    "text",
    [
        'a,"b\n' * 50_000,
        'a,b\n"",",\n' * 50_000,
        '""",\n' * 100_000,
        "," * 100_000 + "\n" + "a\n" * 100_000,
        '"' * 300_000,
        " " * 300_000,
        "a,b\n" + '"' + "x,y\n" * 100_000 + '",1\n' + 'z,"\n' * 1000,
    ],
)
def test_hostile_tables_stay_small(text: str):
    assert len(text_of(text)) < 20 * len(text)


def test_tables_below_one_another_have_their_own_names():
    table = "| a | b |\n| --- | --- |\n| x | 2 |"

    assert text_of("a,b\nx,2\n\nc,d\ny,4\n,\n\ne,f\nz,6") == "\n\n".join(
        (table, table.translate(str.maketrans("abx2", "cdy4")), table.translate(str.maketrans("abx2", "efz6")))
    )
    assert text_of("a,b\nx,2\n\ny,3\n\nTotal,5") == f"{table}\n| y | 3 |\n| Total | 5 |"
