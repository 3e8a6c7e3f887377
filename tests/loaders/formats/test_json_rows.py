from __future__ import annotations

import json

import pytest

from kinsplit.chunk import Document
from kinsplit.errors import LoadError
from tests.loaders.helpers import load_one


def rows_of(tmp_path, name: str, data: str | bytes):
    path = tmp_path / name
    path.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    return load_one(path)


def test_every_line_is_a_document(tmp_path):
    loaded = rows_of(
        tmp_path,
        "docs.jsonl",
        '{"docid": "alice:ch01", "title": "CHAPTER I.\\nDown", "text": "Alice\\r\\nwas", "url": "x"}\r\n'
        '\n{"docid": "b", "text": ""}',
    )

    first, second = loaded.documents
    assert (first.id, first.text, first.metadata["title"]) == ("alice:ch01", "Alice\r\nwas", "CHAPTER I. Down")
    assert first.metadata["file_path"] == f"{tmp_path.name}/docs.jsonl"
    assert first.metadata["file_type"] == "json"
    assert first.metadata["url"] == "x"
    assert (second.id, second.text, "title" in second.metadata) == ("b", "", False)
    assert loaded.warnings == ("b: holds no text",)


def test_other_keys_are_metadata_as_of_a_dataset(tmp_path):
    more = {"year": 2024, "tags": ["a", 1], "by": {"name": "Ann"}, "none": None, "ok": True, "share": 0.5}

    (document,) = rows_of(tmp_path, "d.ndjson", json.dumps({"docid": "a", "text": "t", **more})).documents

    assert {key: document.metadata[key] for key in more} == more
    (same,) = Document.from_dataset([{"docid": "a", "text": "t", **more}], id="docid")
    assert same.metadata == more


def test_metadata_that_no_store_takes_are_told_or_written_out(tmp_path):
    more = f'"level": 1, "vector": [{"0.5, " * 5000}1], "n": NaN, "big": {10**30}, "s": "\\u0000"'
    rows = [f'{{"docid": "{docid}", "text": "t", {more}}}' for docid in "ab"]

    loaded = rows_of(tmp_path, "d.jsonl", "\n".join(rows))

    metadata = loaded.documents[1].metadata
    assert (metadata["n"], metadata["big"], metadata["s"]) == ("nan", str(10**30), "\ufffd")
    assert loaded.warnings == (
        "2 values of the metadata 'level', which kinsplit sets itself, were left out",
        "2 values of more than 10,000 characters of the metadata 'vector' were left out",
    )


def test_only_a_line_feed_ends_a_row_and_marks_inside_are_kept(tmp_path):
    text = "\ufeffa\u2028b\u0085c\x0bd\x0ce\ufefff"
    first, second = (json.dumps({"docid": docid, "text": text}, ensure_ascii=False) for docid in "ab")

    loaded = rows_of(tmp_path, "docs.jsonl", f"\ufeff{first}\n{second}\n")

    assert [(document.id, document.text) for document in loaded.documents] == [("a", text), ("b", text)]


def test_escaped_nul_and_surrogates_are_replaced_one_for_one(tmp_path):
    loaded = rows_of(tmp_path, "d.jsonl", r'{"docid": "a", "text": "x\u0000y\ud800z\ud83d\ude00", "title": "t\u0000"}')

    assert loaded.documents[0].text == "x\ufffdy\ufffdz😀"
    assert loaded.documents[0].metadata["title"] == "t\ufffd"
    assert loaded.warnings == ("a: NUL characters or lone surrogates were replaced by U+FFFD: 2",)


@pytest.mark.parametrize("data", ['{"docid": "a", "text": "t"}', '[\n{"docid": "a", "text": "t", "title": null}\n]'])
def test_json_holds_a_row_or_a_list(tmp_path, data):
    (document,) = rows_of(tmp_path, "d.json", data).documents

    assert (document.id, document.text) == ("a", "t")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("d.json", '{"docid": "a", "text": "t"}\n{"docid": "b", "text": "u"}\n'),
        ("d.jsonl", '[{"docid": "a", "text": "t"},\n{"docid": "b", "text": "u"}]'),
    ],
)
def test_either_suffix_may_have_the_form_of_the_other(tmp_path, name, data):
    assert [(one.id, one.text) for one in rows_of(tmp_path, name, data).documents] == [("a", "t"), ("b", "u")]


@pytest.mark.parametrize(("name", "data"), [("d.json", "[]"), ("d.jsonl", ""), ("d.jsonl", "\n \n")])
def test_no_rows_is_a_warning(tmp_path, name, data):
    loaded = rows_of(tmp_path, name, data)

    assert (loaded.documents, loaded.warnings) == ((), ("holds no rows",))


GOOD = '{"docid": "a", "text": "t"}'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "t"}', "line 3: docid is missing"),
        ('{"docid": "b"}', "line 3: text is missing"),
        ('{"docid": 7, "text": "t"}', "line 3: docid must be a string.*got 7"),
        ('{"docid": " ", "text": "t"}', "line 3: docid must be a string"),
        (r'{"docid": "\ud800", "text": "t"}', "line 3: docid must be a string"),
        ('{"docid": "b", "text": ["t"]}', r"line 3: text must be a string \(got \['t'\]\)"),
        ('{"docid": "b", "text": null}', "line 3: text must be a string"),
        ('{"docid": "b", "text": "t", "title": 5}', "line 3: title must be a string"),
        (GOOD, "line 3: docid 'a' is also in line 1"),
        ("{broken", "line 3: is not valid JSON: .* at column 2"),
        ("[1]", "line 3: is a JSON list, not a row"),
        ("[" * 100_000, "line 3: is JSON that can't be read"),
    ],
)
def test_a_broken_row_names_file_and_line(tmp_path, line, reason):
    with pytest.raises(LoadError, match=rf"docs\.jsonl: {reason}"):
        rows_of(tmp_path, "docs.jsonl", f"{GOOD}\n\n{line}\n")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("3", "holds a JSON number, not a row"),
        ('"x"', "holds a JSON string, not a row"),
        ("null", "holds a JSON null"),
        ('["x"]', "row 1: is a JSON string"),
        ('{"term": "Fall"}', "row 1: docid is missing"),
        (f"[{GOOD}, {GOOD}]", "row 2: docid 'a' is also in row 1"),
        ("[1,\n2", "is not valid JSON: .* at line 2, column 2"),
        ("", "is empty"),
    ],
)
def test_json_that_is_something_else(tmp_path, data, reason):
    with pytest.raises(LoadError, match=rf"d\.json: {reason}"):
        rows_of(tmp_path, "d.json", data)
