"""Wrong rows are rejected, each with a clear message of one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kinsplit.errors import LoadError
from kinsplit.evaluation.datasets import DatasetWarning, load

GOOD: dict[str, Any] = {"query_id": "q1", "query": "What?", "docid": "d", "spans": [[0, 3]]}


def write(folder: Path, *rows: object, text: str = "One two three.  ") -> Path:
    (folder / "docs.jsonl").write_text(json.dumps({"docid": "d", "text": text}) + "\n")
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"query": "  "}, "query must be a string of visible text (got '  ')"),
        ({"query": 7}, "query must be a string of visible text (got 7)"),
        ({"query": "What\ud800?"}, r"query must not hold a lone surrogate (got 'What\ud800?')"),
        (
            {"docid": "e"},
            "spans[0] must name a document that is there (got 'e'). Name one of the 1 documents, such as 'd'",
        ),
        ({"docid": ["d"]}, "spans[0] must name a document that is there (got ['d'])"),
        ({"spans": [[0, 3], ["e", 0, 3]]}, "spans[1] must name a document that is there (got 'e')"),
        ({"spans": [[0, 17]]}, "spans[0] must be [start, end) within the 16 characters of 'd' (got [0, 17])"),
        ({"spans": [[-1, 3]]}, "spans[0] must be [start, end) within"),
        ({"spans": [[3, 3]]}, "spans[0] must be [start, end) within"),
        ({"spans": [[0, 3.0]]}, "spans[0] must be [start, end) within"),
        ({"spans": [[False, True]]}, "spans[0] must be [start, end) within"),
        ({"spans": [[[0], 3]]}, "spans[0] must be [start, end) within"),
        ({"spans": [[14, 16]]}, "spans[0] must hold visible text (got [14, 16])"),
        ({"spans": [[3]]}, "spans[0] must be [start, end] or [docid, start, end] (got [3])"),
        ({"spans": {"start": 0}}, "spans must be a list"),
        (
            {"answers": ["two"]},
            "answers[0] must be the text at [0, 3] of 'd', 'One' (got 'two'). That text stands at [4, 7]",
        ),
        (
            {"answers": ["four"]},
            "answers[0] must be the text at [0, 3] of 'd', 'One' (got 'four'). Nothing may be stripped",
        ),
        ({"answers": [1]}, "answers[0] must be the text at"),
        ({"answers": []}, "answers must have one entry for each of the 1 spans"),
        ({"occurrences": [[[0, 99]]]}, "occurrences[0][0] must be [start, end) within"),
        ({"occurrences": [7]}, "occurrences[0] must be a list of spans"),
        ({"logic": ["XOR"]}, "logic[0] must be one of COMPLETE_SPAN, AND, OR (got 'XOR')"),
        ({"groups": [1]}, "groups[0] must be a string"),
        ({"match": "some"}, "match must be 'all' or 'any' (got 'some')"),
        ({"answer": ["x"]}, "answer must be a string"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, change: dict[str, Any], wrong: str) -> None:
    with pytest.raises(LoadError) as caught:
        load(write(tmp_path, {**GOOD, **change}))
    assert str(caught.value).startswith(f"{tmp_path / 'queries.jsonl'}: line 1, query 'q1': {wrong}")


def test_ids_are_unique(tmp_path: Path) -> None:
    with pytest.raises(LoadError) as caught:
        load(write(tmp_path, GOOD, GOOD))
    place = f"line 1 of {tmp_path / 'queries.jsonl'}"
    wrong = f"line 2, query 'q1': query_id must be unique, and is that of {place} (got 'q1'). Rename one."
    assert str(caught.value) == f"{tmp_path / 'queries.jsonl'}: {wrong}"
    with pytest.raises(LoadError, match="line 1: query_id must be a string of visible text"):
        load(write(tmp_path, {**GOOD, "query_id": " "}))


def test_the_first_problem_is_told_with_the_number_of_others(tmp_path: Path) -> None:
    rows = [GOOD, {**GOOD, "query_id": "q2", "spans": [[0, 99], [5, 99]]}, {**GOOD, "query_id": "q3", "query": ""}]
    with pytest.raises(LoadError, match=r"line 2, query 'q2': spans\[0\] .* 2 more problems in the labels\.$"):
        load(write(tmp_path, *rows))


def test_files_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"queries\.jsonl: holds no question"):
        load(write(tmp_path))
    with (
        pytest.warns(DatasetWarning, match="d: holds no text"),
        pytest.raises(LoadError, match="holds no document with text"),
    ):
        load(write(tmp_path, GOOD, text=" \n"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Text.")
    (tmp_path / "queries.json").write_text("[]")
    with pytest.raises(LoadError, match="holds no question"):
        load(tmp_path / "docs", tmp_path / "queries.json")


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"{broken", "line 2: is not valid JSON: "),
        (b"[1]", r"line 2: must be a JSON object \(got \[1\]\)"),
        (b'{"query": "\xff"}', "is not UTF-8: byte "),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: bytes, wrong: str) -> None:
    write(tmp_path, GOOD)
    with (tmp_path / "queries.jsonl").open("ab") as file:
        file.write(line)
    with pytest.raises(LoadError, match=f"queries.jsonl: {wrong}"):
        load(tmp_path)


def write_in(folder: Path, **changes: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder, GOOD | changes)


def test_a_docid_that_two_files_have_is_refused_with_both(tmp_path: Path) -> None:
    folders = [write_in(tmp_path / name, query_id=name) for name in "ab"]
    both = r"several rows \(got 'd'\)\. Write 'a/docs.jsonl#d' or 'b/docs.jsonl#d'\. 1 more problem"
    with pytest.raises(LoadError, match=both):
        load(folders)
    for name in "ab":
        write_in(tmp_path / name, query_id=name, docid=f"{name}/docs.jsonl#d")
    dataset = load(folders)
    assert {q.labels[0].places[0].source_id for q in dataset.questions} == {"a/docs.jsonl#d", "b/docs.jsonl#d"}
    # Nothing tells these two apart.
    with pytest.raises(LoadError, match=r"'set/docs\.jsonl#d' is also in"):
        load([write_in(tmp_path / name / "set") for name in "ab"])
