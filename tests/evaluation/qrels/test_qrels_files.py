"""Writing and reading of TREC files, manifests and embeddings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.chunk import Document
from kinsplit.cli.output.index_report import to_rows
from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.qrels import (
    Embeddings,
    read_embeddings,
    read_manifest,
    read_qrels,
    write_embeddings,
    write_manifest,
    write_qrels,
)
from kinsplit.parsers import create
from kinsplit.tokenizers import resolve
from tests.evaluation.making import Letters

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: not any(character.isspace() or character == "\ufeff" for character in name)
)
separators = st.sampled_from(["\t", " "])
qrels = st.dictionaries(names, st.dictionaries(names, st.integers(-2, 9), min_size=1), max_size=4)


@given(qrels, separators)
def test_qrels_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, judged: dict[str, dict[str, int]], separator: Any
) -> None:
    path = tmp_path_factory.mktemp("qrels") / "qrels.txt"
    write_qrels(path, judged, separator)
    assert read_qrels(path) == judged


def test_the_lines_are_those_of_trec(tmp_path: Path) -> None:
    write_qrels(tmp_path / "qrels", {"q2": {"c": 1}, "q1": {"d": 2, "a": 1}}, " ")
    assert (tmp_path / "qrels").read_text() == "q1 0 a 1\nq1 0 d 2\nq2 0 c 1\n"


@pytest.mark.parametrize("name", ["", "a b", "a\u2028b", "a\u00a0", "\ufeffa"])
def test_an_id_that_a_line_would_not_carry_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidParameterError, match="white space"):
        write_qrels(tmp_path / "qrels", {"q": {name: 1}})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("q 0 a", "line 1: has 3 fields"),
        ("q 0 a 1\nq 0 a 2", "line 2: judges a a second time"),
        ("q 0 a x", "line 1: .* no integer"),
    ],
)
def test_a_file_that_is_no_qrels_is_one_clear_error(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(LoadError, match=reason):
        read_qrels(tmp_path / "qrels")


DOCUMENT = Document("d", "One two three four. Cats like warm milk. " * 4 + "\u2028The end \U0001f600.\n")
DATASET = Dataset("d", (DOCUMENT,), ())


@pytest.mark.parametrize("strategy", ["sentence", "cluster"])
def test_a_manifest_is_read_as_it_was_written(tmp_path: Path, strategy: str) -> None:
    parameters: dict[str, dict[str, Any]] = {
        "sentence": {"chunk_size": 12, "chunk_overlap": 4},
        "cluster": {"embedder": "hash", "chunk_size": 10, "passage_size": 4, "passage_overlap": 0, "threshold": 0.9},
    }
    chunks = create(strategy, **parameters[strategy]).chunk(DOCUMENT)
    write_manifest(tmp_path / "m.jsonl", chunks)
    read = read_manifest(tmp_path / "m.jsonl", DATASET)
    attributes = ("id", "spans", "text", "index", "total", "prev_id", "next_id", "overlap", "content_hash")
    for name in attributes:
        assert [getattr(chunk, name) for chunk in read] == [getattr(chunk, name) for chunk in chunks], name
    assert len(read) > 2
    assert (strategy == "cluster") == any(len(chunk.spans) > 1 for chunk in read)


def test_the_rows_of_the_chunk_command_are_a_manifest(tmp_path: Path) -> None:
    chunks = create("hierarchical", parent_size=80, child_size=30).chunk(DOCUMENT)
    rows = to_rows(chunks, resolve("bundled"))
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = read_manifest(tmp_path / "m.jsonl", DATASET)
    for name in ("id", "level", "spans", "text", "index", "total", "prev_id", "next_id", "content_hash"):
        assert [getattr(chunk, name) for chunk in read] == [getattr(chunk, name) for chunk in chunks], name


def row(**changed: Any) -> dict[str, Any]:
    whole = {"original_doc_id": "d", "chunk_id": "c", "start": 0, "end": 7, "text": "One two"} | changed
    return {key: value for key, value in whole.items() if value is not None}


def test_a_text_that_is_left_out_is_the_documents(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(json.dumps(row(text=None)))
    assert read_manifest(tmp_path / "m.jsonl", DATASET)[0].text == "One two"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([row(text="One too")], "line 1: the text isn't what 'd' has at 0 to 7"),
        ([row(text="One twos")], "line 1: the text"),
        ([row(), row()], "line 2: the id c is there a second time"),
        ([row(original_doc_id="x")], "line 1: there is no document 'x'"),
        ([row(end=9999)], "line 1: no such place"),
        ([row(end=0)], "line 1: no such place"),
        ([row(start=-1)], "line 1: no such place"),
        ([row(chunk_id=None)], "line 1: 'chunk_id' is missing"),
        ([row(start="0")], "line 1: "),
        ([row(level={})], "line 1: the level must be a whole number, but is {}"),
        (["{"], "line 1: must be a JSON object"),
    ],
)
def test_a_row_that_is_no_chunk_is_one_clear_error(tmp_path: Path, rows: list[Any], reason: str) -> None:
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(own) + "\n" for own in rows))
    with pytest.raises(LoadError, match=reason):
        read_manifest(tmp_path / "m.jsonl", DATASET)


def test_embeddings_are_read_as_they_were_written(tmp_path: Path) -> None:
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    write_embeddings(tmp_path / "e", Embeddings(["a", "ü"], ["d", "d"], vectors))
    read = read_embeddings(tmp_path / "e")
    assert (read.ids, read.source_ids) == (["a", "ü"], ["d", "d"])
    assert (read.vectors == vectors).all()


class Bomb:
    def __reduce__(self) -> Any:
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize(
    "arrays",
    [
        {"ids": np.array(["a"]), "docids": np.array(["d"])},
        {"ids": np.array([Bomb()]), "docids": np.array(["d"]), "embeddings": np.ones((1, 2))},
        {"ids": np.array([1]), "docids": np.array(["d"]), "embeddings": np.ones((1, 2))},
        {"ids": np.array(["a"]), "docids": np.array(["d"]), "embeddings": np.ones(2)},
        {"ids": np.array(["a"]), "docids": np.array(["d"]), "embeddings": np.ones((2, 2))},
    ],
)
def test_a_file_of_other_arrays_is_one_clear_error(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "e.npz", **arrays)
    with pytest.raises(LoadError, match=r"e\.npz"):
        read_embeddings(tmp_path / "e.npz")


@pytest.mark.parametrize("content", [b"", b"text", b"\x93NUMPY", b"\x80\x04N."])
def test_a_file_that_is_no_npz_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "e.npz").write_bytes(content)
    with pytest.raises(LoadError, match=r"must be an \.npz file"):
        read_embeddings(tmp_path / "e.npz")


def test_letters_count_as_a_tokenizer_does() -> None:
    # A check of the tests' own tokenizer: counts and starts agree, as in every tokenizer.
    assert Letters().count(["abc"]).tolist() == [len(Letters().starts(["abc"])[0])]


def test_a_manifest_may_name_a_row_with_its_file(tmp_path: Path) -> None:
    rows = Dataset("rows", (DOCUMENT,), (), {"d": "birds/rows.jsonl"})
    for docid in ("d", "uploads/rows.jsonl#d"):
        (tmp_path / "m.jsonl").write_text(json.dumps({"chunk_id": "c", "docid": docid, "start": 0, "end": 7}))
        assert [(chunk.source_id, chunk.text) for chunk in read_manifest(tmp_path / "m.jsonl", rows)] == [
            ("d", "One two")
        ]
