"""Tests of unchanged documents, which Edge finds by its ledger, and by their chunks where the two may differ."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
import qdrant_edge as qe
from kinsplit_testing import SCHEMA, TEXTS, embed, make_chunks, make_document, save

from kinsplit.chunk import STATE
from kinsplit.errors import StoreError
from kinsplit.identity import content_hash
from kinsplit.stores.engines.edge import engine
from kinsplit.stores.engines.edge.ledger import Ledger
from kinsplit.stores.engines.edge.process import open_detached
from kinsplit.stores.engines.edge.store import EdgeStore
from kinsplit.stores.payload import contents_of, state_of

TURNED = TEXTS[::-1]


@pytest.fixture
def store(tmp_path):
    with EdgeStore(str(tmp_path), "cs", SCHEMA) as store:
        yield store


def write(store, texts, origin, **metadata):
    """Store a document as an indexer does, with the state of its origin, and return its chunks."""
    leaves = make_chunks("doc", texts, **metadata)
    document = make_document(leaves, "Title", **metadata)
    contents = contents_of({chunk.id: chunk.content_hash for chunk in (document, *leaves)})
    chunks = [replace(document, metadata={**document.metadata, STATE: state_of(origin, contents)}), *leaves]
    save(store, "doc", chunks)
    return chunks


def are_stored(store, *origins):
    """Return, for each origin, whether the document is stored as it is."""
    found = [store.stored({"doc": origin, "new": origin}) for origin in origins]
    assert all(counts in ({}, {"doc": len(TEXTS)}) for counts in found)
    return [bool(counts) for counts in found]


class Shard:
    """A shard that records its calls and can fail at an update, or lose those from one on."""

    def __init__(self, store, *, fails=0, loses=99):
        self.engine, self.fails, self.loses, self.calls = store._lease.engine, fails, loses, []

    def __enter__(self):
        self.shard, self.engine.shard = self.engine.shard, self
        return self

    def __exit__(self, *_):
        self.engine.shard = self.shard

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            number = self.calls.count("update") if name == "update" else 0
            if number and number == self.fails:
                raise RuntimeError("broken off")
            return None if number >= self.loses else getattr(self.shard, name)(*arguments)

        return call


def update(store, operation):
    """Change the collection through the engine, bypassing the store."""
    store._lease.engine.shard.update(operation)


def test_an_unchanged_document_is_found_without_its_chunks(store):
    write(store, TEXTS, "one", subject="cs")
    with Shard(store) as shard:
        assert store.stored({"doc": "one"}) == {"doc": len(TEXTS)}
        assert shard.calls == ["retrieve", "count"]
    assert are_stored(store, "one", "two") == [True, False]


def test_a_document_of_which_payloads_alone_changed_is_found_too(store):
    write(store, TEXTS, "one", subject="cs")
    write(store, TEXTS, "two", subject="math")
    with Shard(store) as shard:
        assert store.stored({"doc": "two"}) == {"doc": len(TEXTS)}
        assert "scroll" not in shard.calls
    assert are_stored(store, "one", "two") == [False, True]


def test_a_detached_store_finds_it_too(tmp_path):
    with closing(open_detached(f"edge:{tmp_path}", "cs", SCHEMA, time_limit=60)) as store:
        write(store, TEXTS, "one")
        assert are_stored(store, "one", "two") == [True, False]


def test_documents_of_an_older_ledger_or_of_none_are_found_by_their_chunks(store, tmp_path):
    write(store, TEXTS, "one")
    store.close()
    path = tmp_path / "cs" / "ledger.sqlite3"
    with closing(sqlite3.connect(path)) as ledger:
        ledger.execute("DROP TABLE documents")
    with EdgeStore(str(tmp_path), "cs") as old:
        assert are_stored(old, "one", "two") == [True, False]
        write(old, TEXTS, "two", subject="math")
        with Shard(old) as shard:
            assert old.stored({"doc": "two"}) == {"doc": len(TEXTS)}
            assert "scroll" not in shard.calls
        assert old.damage() == []
    path.unlink()
    with EdgeStore(str(tmp_path), "cs") as older:
        assert are_stored(older, "one", "two") == [False, True]
        assert not path.exists()


@pytest.mark.parametrize("lost", [0, 1, len(TEXTS)])
def test_a_document_of_which_the_engine_lost_a_chunk_is_not_stored(lost, store):
    chunks = write(store, TEXTS, "one")
    update(store, qe.UpdateOperation.delete_points([chunks[lost].id]))
    assert are_stored(store, "one") == [False]


def test_a_document_with_a_chunk_too_many_is_not_stored(store):
    write(store, TEXTS, "one")
    other = make_chunks("other", ["Another text."])
    save(store, "other", other)
    update(store, qe.UpdateOperation.set_payload([other[0].id], {"source_id": "doc"}))
    assert are_stored(store, "one") == [False]


@pytest.mark.parametrize("loses", [1, 2])
def test_writes_that_the_ledger_alone_has_are_missed_and_repeated(loses, store, monkeypatch):
    # As after a power failure: the engine has the same ids, some with their former contents. The state is written last,
    # so it doesn't stand for contents that were lost.
    monkeypatch.setattr(engine, "_BATCH", 4)
    write(store, TEXTS, "one")
    with Shard(store, loses=loses):
        write(store, TURNED, "two")
    assert are_stored(store, "one", "two") == [loses == 1, False]
    write(store, TURNED, "two")
    assert are_stored(store, "one", "two") == [False, True]


def test_writes_that_the_engine_alone_has_are_found(store, monkeypatch):
    write(store, TEXTS, "one")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "begin", lambda *_: None)
        patch.setattr(Ledger, "end", lambda *_: None)
        write(store, TURNED, "two")
    assert are_stored(store, "one", "two") == [False, True]


@pytest.mark.parametrize("fails", [1, 2])
def test_a_document_whose_write_was_broken_off_is_not_stored(fails, store, monkeypatch):
    monkeypatch.setattr(engine, "_BATCH", 4)
    write(store, TEXTS, "one")
    with Shard(store, fails=fails), pytest.raises(StoreError, match="broken off"):
        write(store, TURNED, "two")
    assert are_stored(store, "one", "two") == [fails == 1, False]
    write(store, TURNED, "two")
    assert are_stored(store, "one", "two") == [False, True]


def test_a_document_whose_write_was_not_acknowledged_is_found_by_its_chunks(store, monkeypatch):
    write(store, TEXTS, "one")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "end", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            write(store, TURNED, "two")
    with Shard(store) as shard:
        assert store.stored({"doc": "two"}) == {"doc": len(TEXTS)}
        assert "scroll" in shard.calls
    assert store.damage() == []


def test_chunks_that_are_written_one_by_one_make_another_document(store):
    chunks = write(store, TEXTS, "one")
    changed = replace(chunks[1], text="Changed.", content_hash=content_hash("Changed."))
    store.put([changed], embed([changed]))
    assert are_stored(store, "one") == [False]
    store.put([chunks[1]], embed([chunks[1]]))
    assert are_stored(store, "one") == [True]
    store.remove([chunks[1].id])
    assert are_stored(store, "one") == [False]
    write(store, TEXTS, "one")
    assert are_stored(store, "one") == [True]
    store.delete("doc")
    assert are_stored(store, "one") == [False]
    assert store._lease.engine.inventories(["doc"]) == []
