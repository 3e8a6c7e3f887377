"""Tests of damaged files of a collection: one clear error, or a report of the losses."""

import os
import re
import shutil
import sqlite3
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest
from kinsplit_testing import DENSE, SCHEMA, SPARSE, TEXTS, embed, make_chunks, make_document, make_store, save

from kinsplit.chunk import DOCUMENT
from kinsplit.errors import StoreError
from kinsplit.identity import content_hash
from kinsplit.stores.engines.edge.store import EdgeStore
from kinsplit.stores.maintenance import verify
from kinsplit.stores.values import Query
from tests.sparse import copy_sparse

DOCUMENTS = [f"doc{number}" for number in range(4)]


def fill(store):
    for source_id in DOCUMENTS:
        leaves = make_chunks(source_id, [f"{text} {source_id}" for text in TEXTS], subject="cs", share=0.1 + 0.2)
        parents = make_chunks(source_id, [" ".join(leaf.text for leaf in leaves)], level=1)
        save(store, source_id, [*leaves, *parents, make_document(leaves, "Title")])


def state(store):
    """Return everything that a user of the store can see."""
    plain = [
        (chunk, None if v.dense is None else v.dense.round(4).tolist(), v.sparse and sorted(v.sparse.values))
        for source_id in store.sources()
        for chunk, v in store.export(source_id)
    ]
    where = {"subject": "cs", "source_id": DOCUMENTS[2]}
    queries = [
        Query("dense", DENSE.embed_query("class"), 9),
        Query("dense", DENSE.embed_query("class"), 9, 0, where),
        Query("dense", DENSE.embed_query("class"), 9, 1),
        Query("bm25", SPARSE.embed_query("class object"), 9),
        Query("bm25", SPARSE.embed_query("class object"), 9, DOCUMENT),
    ]
    answers = [sorted((round(hit.score, 4), hit.chunk.id) for hit in hits) for hits in store.search(queries)]
    return plain, answers, store.sources(0), store.count()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with an intact collection, and its visible state."""
    folder = tmp_path_factory.mktemp("whole")
    with make_store(f"edge:{folder}", "cs", SCHEMA) as store:
        fill(store)
        assert verify(store) == []
        seen = state(store)
    return folder / "cs", seen


def cut(path, keep=0.0):
    os.truncate(path, int(path.stat().st_size * keep))


def flip(path):
    with path.open("r+b") as file:
        data = file.read(2**16)
        places = [place for place, byte in enumerate(data) if byte]
        for place in places[:: max(1, len(places) // 8)]:
            file.seek(place)
            file.write(bytes([data[place] ^ 0xFF]))


DAMAGES = {
    "emptied": cut,
    "cut": lambda path: cut(path, 0.5),
    "deleted": Path.unlink,
    "flipped": flip,
}
#: Files that are skipped since another file of the same kind represents them.
_ALIKE = re.compile(r"(chunk_in|group_id|level|parent_i|subject)-|bm25_parent|dense_parent|bm25_document")


EVERYTHING = bool(os.environ.get("KINSPLIT_TEST_ALL_DAMAGE"))


def cases(folder):
    """Return files with ways to damage them: one way per file, in turn, or all ways if requested."""
    found = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    if EVERYTHING:
        return [(name, how) for name in found for how in DAMAGES]
    return list(zip((name for name in found if not _ALIKE.search(str(name))), cycle(DAMAGES), strict=False))


# Some forty openings, each of a copy, cover every kind of file.
def test_whatever_is_damaged_is_one_error_or_told_by_verify(whole, tmp_path):
    folder, seen = whole
    for number, (name, how) in enumerate(cases(folder)):
        place = tmp_path / str(number)
        shutil.copytree(folder, place / "cs", copy_function=copy_sparse)
        DAMAGES[how](place / "cs" / name)
        try:
            with EdgeStore(str(place), "cs") as store:
                problems = verify(store)
                assert problems or state(store) == seen, f"{name} {how}: nothing is told"
        except StoreError as error:
            message = str(error)
            assert re.search(r"(restore|[Dd]elete|verify|Choose)", message), f"{name} {how}: {message} has no remedy"
            assert "\n" not in message
        shutil.rmtree(place)


@pytest.mark.parametrize("name", ["mutable_id_tracker.mappings", "mutable_id_tracker.versions"])
@pytest.mark.parametrize("how", ["emptied", "deleted"])
def test_documents_that_the_engine_forgot_are_told(name, how, whole, tmp_path):
    shutil.copytree(whole[0], tmp_path / "cs", copy_function=copy_sparse)
    (path,) = (tmp_path / "cs").rglob(name)
    DAMAGES[how](path)
    with EdgeStore(str(tmp_path), "cs") as store:
        left = store.sources()
        problems = [problem for problem in verify(store) if problem.kind == "lost"]
        assert {problem.source_id for problem in problems} == set(DOCUMENTS) - set(left)
        assert "5 of the chunks that were stored are lost: 0, 1, 2, 3, 4" in {problem.detail for problem in problems}
        fill(store)
        assert verify(store) == []


@pytest.fixture
def store(tmp_path):
    with make_store(f"edge:{tmp_path}", "cs", SCHEMA) as store:
        fill(store)
        yield store


def around(store, work):
    """Change the collection through the engine, bypassing the store."""
    import qdrant_edge as qe

    with store._engine() as shard:
        work(shard, qe.UpdateOperation)


def kinds(store):
    return {(problem.source_id, problem.level, problem.index, problem.kind) for problem in verify(store)}


def test_a_payload_that_was_changed_by_other_hands(store):
    chunk = store.find({"source_id": "doc1"})[3]
    around(store, lambda shard, update: shard.update(update.set_payload([chunk.id], {"subject": "math"})))
    assert kinds(store) == {("doc1", 0, 3, "payload")}


def test_vectors_that_are_gone(store):
    chunk = store.find({"source_id": "doc1"})[3]
    around(store, lambda shard, update: shard.update(update.delete_vectors([chunk.id], ["dense"])))
    assert kinds(store) == {("doc1", 0, 3, "vectors")}


def test_a_chunk_that_nobody_wrote_here(store, tmp_path):
    with sqlite3.connect(tmp_path / "cs" / "ledger.sqlite3") as ledger:
        ledger.execute("DELETE FROM points WHERE source_id = 'doc1'")
    ledger.close()
    assert {kind for *_, kind in kinds(store)} == {"unknown"}


def test_a_filter_that_misses_what_is_stored(tmp_path, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.edge.indexes._FEWEST_POINTS", 0)
    with EdgeStore(str(tmp_path), "cs", SCHEMA) as store:
        fill(store)
    (path,) = (path for path in (tmp_path / "cs").rglob("page_0.dat") if "-chunk_in" in path.parent.name)
    flip(path)
    with EdgeStore(str(tmp_path), "cs") as store:
        assert "filters by 'chunk_index' find other chunks" in "\n".join(map(str, verify(store)))


def test_everything_that_writes_keeps_the_ledger(store):
    save(store, "doc0", make_chunks("doc0", TEXTS[1:], subject="math"))
    save(store, "doc0", make_chunks("doc0", TEXTS[1:], subject="art"))
    more = make_chunks("doc9", TEXTS[:2])
    store.put(more, embed(more))
    store.remove([more[0].id])
    store.delete("doc2")
    assert store.damage() == []
    assert not any(kind in ("lost", "payload", "vectors", "unknown") for *_, kind in kinds(store))


def test_a_chunk_that_is_given_to_another_document_is_known_as_its_chunk(store):
    chunk = store.find({"source_id": "doc1"})[3]
    for source_id, text in (("doc9", chunk.text), ("doc8", "Another text.")):
        moved = replace(chunk, source_id=source_id, text=text, content_hash=content_hash(text))
        store.put([moved], embed([moved]))
        assert store.damage() == []
    store.remove([chunk.id])
    assert store.damage() == []


@pytest.mark.parametrize("stop", ["begin", "end"])
def test_a_write_that_was_broken_off_is_no_damage(stop, store, tmp_path, monkeypatch):
    from kinsplit.stores.engines.edge.ledger import Ledger

    new = make_chunks("doc1", ["Another text.", *TEXTS])
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "end", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        if stop == "begin":
            record = store._lease.engine.shard
            patch.setattr(store._lease.engine, "shard", None)
        with pytest.raises((KeyboardInterrupt, StoreError)):
            store.sync("doc1", new, embed(new))
        if stop == "begin":
            store._lease.engine.shard = record
    assert store.damage() == []
    save(store, "doc1", new)
    assert store.damage() == []


def test_a_collection_without_a_ledger_gets_one_with_its_next_write(store, tmp_path):
    store.close()
    ledger = tmp_path / "cs" / "ledger.sqlite3"
    ledger.unlink()
    with make_store(f"edge:{tmp_path}", "cs") as old:
        assert verify(old) == []
        assert not ledger.exists()
        save(old, "new", make_chunks("new", TEXTS))
        chunk = old.find({"source_id": "doc1"})[3]
        around(old, lambda shard, update: shard.update(update.delete_points([chunk.id])))
        assert old.damage() == []
        chunk = old.find({"source_id": "new"})[3]
        around(old, lambda shard, update: shard.update(update.delete_points([chunk.id])))
        assert [(one.source_id, one.kind) for one in old.damage()] == [("new", "lost")]


def test_a_damaged_ledger_stops_no_search(store, tmp_path):
    store.close()
    (tmp_path / "cs" / "ledger.sqlite3").write_bytes(b"no database at all, but long enough to be taken for one" * 99)
    with make_store(f"edge:{tmp_path}", "cs") as again:
        assert again.count()
        with pytest.raises(StoreError, match=r"ledger\.sqlite3: .*delete it"):
            again.damage()
