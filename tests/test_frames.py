"""Chunks as tables of pandas and Arrow."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from typing import Any

import pytest

from kinsplit import Chunk, Document, MissingExtraError, create_strategy, split, to_arrow, to_dataframe

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

TEXT = "# Birds\n\nOwls hunt at night. Larks sing at dawn.\n\nGulls \U0001f426 fish by day. Rooks \ud800 flock."
CHUNKS = [
    *split(Document("a.md", TEXT, {"course": "birds", "year": 2024}), "hierarchical", parent_size=60, child_size=30),
    *split(Document("b.md", TEXT, {"year": "unknown", "tags": ["x"]}), "sentence", chunk_size=8),
]


@pytest.mark.parametrize("table", [to_dataframe, to_arrow])
def test_every_field_of_a_chunk_is_a_column(table: Any) -> None:
    names = list(table(CHUNKS).columns if table is to_dataframe else table(CHUNKS).schema.names)
    shown = {"index": "chunk_index", "total": "total_chunks"}
    assert set(names) == {shown.get(f.name, f.name) for f in fields(Chunk)} | {"start", "end", "is_chunked", "context"}
    assert len(names) == len(set(names))


def test_a_dataframe_holds_the_chunks_exactly() -> None:
    frame = to_dataframe(iter(CHUNKS))
    assert len(frame) == len(CHUNKS)
    for chunk, row in zip(CHUNKS, frame.to_dict("records"), strict=True):
        assert (row["id"], row["start"], row["end"], row["text"]) == (
            chunk.id,
            chunk.start,
            chunk.end,
            chunk.text.replace("\ud800", "\ufffd"),
        )
        assert row["metadata"] == chunk.metadata
        assert row["spans"] == [list(span) for span in chunk.spans]
        assert (None if pd.isna(row["parent_id"]) else row["parent_id"]) == chunk.parent_id
    # Not every chunk has a number of tokens.
    assert frame["token_count"].dtype == "Int64"
    assert frame["token_count"].isna().any()


def test_an_arrow_table_has_one_schema_whatever_it_holds() -> None:
    tables = [to_arrow([]), to_arrow(CHUNKS[:2]), to_arrow(CHUNKS)]
    assert len({str(table.schema) for table in tables}) == 1
    rows = pa.concat_tables(tables).to_pylist()[2:]
    for chunk, row in zip(CHUNKS, rows, strict=True):
        assert (row["start"], row["end"], row["token_count"]) == (chunk.start, chunk.end, chunk.token_count)
        assert row["text"] == chunk.text.replace("\ud800", "\ufffd")
        assert json.loads(row["metadata"]) == chunk.metadata
        assert row["spans"] == [list(span) for span in chunk.spans]
    assert "\ufffd" in rows[-1]["text"]


def test_an_empty_frame_has_the_same_types() -> None:
    empty, full = to_dataframe([]), to_dataframe(create_strategy("word").chunk(TEXT))
    for column in ("start", "token_count", "is_chunked"):
        assert empty[column].dtype == full[column].dtype


@pytest.mark.parametrize(("package", "table"), [("pandas", to_dataframe), ("pyarrow", to_arrow)])
def test_a_missing_package_names_its_extra(package: str, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'{package} is not installed. Run: pip install "kinsplit\[frames\]"'):
        table(CHUNKS)
