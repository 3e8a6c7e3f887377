"""Tests of searching an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit import Document, Index
from kinsplit.errors import InvalidParameterError, TokenizerError
from tests.index.helpers import RecordingEmbedder, open_index


def test_passages_are_slices_of_their_files_with_their_facts(tmp_path: Path, course: Path) -> None:
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(course)
        passages = index.search("what does recursion mean", top_k=2, window=1)

    assert passages
    for passage in passages:
        source = course.parent / passage.source_id
        assert passage.text == source.read_text(encoding="utf-8")[passage.start : passage.end]
        assert passage.metadata["file_path"] == passage.source_id
        assert passage.metadata["course"] == "course"
        assert "gap" not in passage.metadata
    assert "recursion" in passages[0].text


def test_documents_filters_and_pages(tmp_path: Path) -> None:
    text = "First page speaks of whales. " * 3 + "\f" + "Second page speaks of stars. " * 3
    documents = [
        Document("a.pdf", text, {"subject": "biology"}, pages=(0, text.index("\f") + 1)),
        Document("b.txt", "Stars are suns far away.", {"subject": "physics"}),
    ]
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        report = index.add(documents)
        everything = index.search("stars")
        physics = index.search("stars", where={"subject": "physics"})

    assert report.added == 2
    assert {p.source_id for p in everything} == {"a.pdf", "b.txt"}
    assert [p.source_id for p in physics] == ["b.txt"]
    assert next(p.pages for p in everything if p.source_id == "a.pdf") == (1, 2)
    assert physics[0].pages is None


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"query": "  "}, "query"),
        ({"query": "x", "top_k": 0}, "top_k"),
        ({"query": "x", "candidates": 0}, "candidates"),
        ({"query": "x", "window": -1}, "window"),
        ({"query": "x", "budget": 0}, "budget"),
        ({"query": "x", "candidates": 10**20}, "candidates"),
        ({"query": "x", "top_k": 2.5}, "top_k"),
        ({"query": None}, "query"),
        ({"query": "x", "where": {"year": {"gte": 2020}}}, r"where\['year'\]"),
    ],
)
def test_a_wrong_argument_is_named(tmp_path: Path, arguments: dict[str, object], field: str) -> None:
    with open_index(tmp_path, RecordingEmbedder()) as index, pytest.raises(InvalidParameterError, match=f"^{field}:"):
        index.search(**arguments)  # type: ignore[arg-type]


def test_a_collection_made_with_a_tokenizer_object_is_searched_without_it_but_for_a_budget(tmp_path: Path) -> None:
    from kinsplit.parsers import create as create_strategy

    strategy = create_strategy("sentence", chunk_size=9, tokenizer=str.split)
    with Index(f"edge:{tmp_path}", strategy=strategy, embedder="hash") as index:
        index.add(Document("d", "Stars are suns far away."))
        assert index.search("stars", budget=9)
    with Index(f"edge:{tmp_path}", embedder="hash") as index:
        assert index.search("stars")
        with pytest.raises(TokenizerError, match=r"str\.split is a Python object.*Pass the object again"):
            index.search("stars", budget=9)
