"""Backups of collections in Parquet files."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinsplit_testing import SCHEMA, TEXTS, make_chunks, make_document, save

from kinsplit.backup import back_up, read_head, restore
from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError, MissingExtraError, StoreError
from kinsplit.stores import ChunkStore, Vectors, open_catalog, open_store

pq = pytest.importorskip("pyarrow.parquet")

METADATA = {"subject": "cs", "year": 2024, "share": 0.1, "tags": ["a", "b"], "nested": {"deep": [1, None]}, "no": False}
DOCUMENTS = 7


@pytest.fixture(scope="module")
def store() -> ChunkStore:
    store = open_store("memory:backups", "notes", SCHEMA)
    for number in range(DOCUMENTS):
        name = f"doc {number}/\U0001f426"
        leaves = make_chunks(name, [f"{text} {number}" for text in TEXTS], **METADATA)
        parents = make_chunks(name, [" ".join(TEXTS)], level=1)
        save(store, name, [*leaves, *parents, make_document(leaves, "A title")])
    return store


@pytest.fixture(scope="module")
def backup(store: ChunkStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backups") / "notes.parquet"
    # Several row groups, and documents across the boundaries of what is read at once.
    with patch("kinsplit.stores.maintenance.copy._BATCH", 20):
        done = back_up(store, "notes", path)
    assert (done.documents, done.chunks) == (DOCUMENTS, DOCUMENTS * len(TEXTS))
    return path


def content(store: ChunkStore) -> list[tuple[Chunk, object, object]]:
    return [(chunk, *plain(vectors)) for name in store.sources() for chunk, vectors in store.export(name)]


def plain(vectors: Vectors) -> tuple[object, object]:
    dense = None if vectors.dense is None else vectors.dense.round(5).tolist()
    # Databases keep 32 bits of a number, and an empty vector as none.
    pairs = zip(vectors.sparse.indices, vectors.sparse.values, strict=True) if vectors.sparse else ()
    return dense, sorted((index, round(value, 4)) for index, value in pairs)


@pytest.mark.parametrize("engine", ["memory", "edge", "postgres"])
def test_a_restored_collection_equals_the_one_that_was_backed_up(
    engine: str, backup: Path, store: ChunkStore, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    address = {"memory": "memory:restored", "edge": f"edge:{tmp_path}"}.get(engine) or request.getfixturevalue(engine)
    with patch("kinsplit.backup._ROWS", 5):
        done = restore(backup, address)

    assert (done.documents, done.chunks, done.skipped) == (DOCUMENTS, DOCUMENTS * len(TEXTS), 0)
    with open_store(address, "notes", SCHEMA) as restored:
        assert content(restored) == content(store)
        assert restored.damage() == []
    with pytest.raises(InvalidParameterError, match="--replace"):
        restore(backup, address)
    restore(backup, address, "notes", replace=True)
    restore(backup, address, "twin")
    with open_catalog(address) as catalog:
        assert [(each.name, each.documents) for each in catalog.collections()] == [("notes", 7), ("twin", 7)]
        for each in ("notes", "twin"):
            catalog.drop(each)


def test_an_empty_collection_is_restored_as_one(tmp_path: Path) -> None:
    with open_store("memory:", "notes", SCHEMA) as empty:
        back_up(empty, "notes", tmp_path / "notes.parquet")
    restore(tmp_path / "notes.parquet", "memory:restored-empty")
    with open_store("memory:restored-empty", "notes") as again:
        assert (again.schema, again.count()) == (SCHEMA, 0)


def test_an_interrupted_restore_is_completed_by_the_next_one(backup: Path, store: ChunkStore) -> None:
    address = "memory:interrupted"

    def stop(done: int, total: int) -> None:
        assert total == DOCUMENTS * (len(TEXTS) + 2)
        if done > total / 2:
            raise KeyboardInterrupt

    with patch("kinsplit.backup._ROWS", 10):
        with pytest.raises(KeyboardInterrupt):
            restore(backup, address, progress=stop)
        with open_catalog(address) as catalog:
            (draft,) = catalog.collections()
        assert draft.name.startswith("notes.restoring-")
        done = restore(backup, address)

    assert (done.documents, done.skipped) == (DOCUMENTS, draft.documents)
    with open_store(address, "notes") as restored:
        assert content(restored) == content(store)


def test_a_backup_that_fails_leaves_the_file_as_it_was(store: ChunkStore, tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    path.write_bytes(b"old")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(store, "notes", path, stop)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("notes.parquet", b"old")]
    back_up(store, "notes", path)
    assert read_head(path).collection == "notes"
    assert read_head(path).schema == SCHEMA


def test_other_programs_read_a_backup(backup: Path, store: ChunkStore) -> None:
    chunks = [chunk for chunk, _, _ in content(store)]
    table = pq.read_table(backup)
    assert table.column("id").to_pylist() == [chunk.id for chunk in chunks]
    assert table.column("text").to_pylist() == [chunk.text for chunk in chunks]
    assert json.loads(table.column("metadata")[0].as_py()) == METADATA
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(backup)
    assert frame["dense"].map(lambda vector: 0 if vector is None else len(vector)).value_counts().to_dict() == {
        SCHEMA.dimension: DOCUMENTS * (len(TEXTS) + 1),
        0: DOCUMENTS,
    }


def test_duckdb_reads_a_backup(backup: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    (row,) = duckdb.sql(f"SELECT count(*), max(len(dense)) FROM '{backup}' WHERE level = 0").fetchall()
    assert row == (DOCUMENTS * len(TEXTS), SCHEMA.dimension)


def test_datasets_reads_a_backup(backup: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_parquet(str(backup), cache_dir=str(tmp_path))
    assert len(rows) == DOCUMENTS * (len(TEXTS) + 2)
    assert len(rows[0]["dense"]) == SCHEMA.dimension


def test_a_file_that_is_no_backup_is_named(backup: Path, tmp_path: Path) -> None:
    import pyarrow

    path = tmp_path / "other.parquet"
    path.write_text("no Parquet")
    with pytest.raises(StoreError, match=r"other\.parquet is damaged, or no Parquet file: .*kinsplit backup"):
        restore(path, "memory:bad")
    pq.write_table(pyarrow.table({"a": [1]}), path)
    with pytest.raises(StoreError, match="no backup that kinsplit wrote"):
        restore(path, "memory:bad")
    path.write_bytes(backup.read_bytes()[:-100])
    with pytest.raises(StoreError, match="is damaged"):
        restore(path, "memory:bad")
    with open_catalog("memory:bad") as catalog:
        assert catalog.collections() == []


@given(st.data())
def test_a_damaged_backup_is_restored_or_named(backup: Path, data: st.DataObject) -> None:
    whole = backup.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = backup.with_name("damaged.parquet")
    damaged.write_bytes(whole[:at] + data.draw(st.binary(min_size=1, max_size=4)) + whole[at + 1 :])
    with contextlib.suppress(StoreError, InvalidParameterError):
        restore(damaged, "memory:damaged", replace=True)


def test_without_pyarrow_the_extra_is_named(store: ChunkStore, tmp_path: Path) -> None:
    with patch.dict("sys.modules", {"pyarrow": None}), pytest.raises(MissingExtraError, match=r"kinsplit\[frames\]"):
        back_up(store, "notes", tmp_path / "notes.parquet")
