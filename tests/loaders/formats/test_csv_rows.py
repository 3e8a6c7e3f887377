from __future__ import annotations

import pytest

from kinsplit.loaders.formats import csv_rows
from kinsplit.loaders.formats.csv_rows import read
from kinsplit.parsers import create
from tests.loaders.helpers import document_of


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
        ("alone", "| alone |\n| --- |"),
        ("a\n1,2,3", "| a |  |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |"),
        ("Title\n\na;b\n1,5;2\n2,5;3", "| Title |  |\n| --- | --- |\n| a | b |\n| 1,5 | 2 |\n| 2,5 | 3 |"),
    ],
)
def test_uneven_tables_lose_nothing(text: str, result: str):
    assert read(text.encode()).contents[0].text == result


def test_tabs_alone_separate_tsv():
    assert csv_rows.TSV.read(b"a, b\tc\n1\t2").contents[0].text == "| a, b | c |\n| --- | --- |\n| 1 | 2 |"
