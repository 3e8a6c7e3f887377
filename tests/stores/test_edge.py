import gc
import json
import operator
import threading
import time
import uuid
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from kill_worker import sync_and_die
from kinsplit_testing import DENSE, SCHEMA, SPARSE, TEXTS, ChunkStoreContract, embed, make_chunks, make_store, save

from kinsplit.chunk import DOCUMENT
from kinsplit.errors import LockWarning, StoreError
from kinsplit.stores import open_catalog
from kinsplit.stores.engines import arrays
from kinsplit.stores.engines.edge import cache, folder
from kinsplit.stores.engines.edge.engine import _read_all
from kinsplit.stores.engines.edge.points import _boolean
from kinsplit.stores.engines.edge.store import EdgeStore
from kinsplit.stores.payload import to_entry, to_payload
from kinsplit.stores.values import Query, SyncReport


class TestEdgeStore(ChunkStoreContract):
    exclusive = True
    holds_names = True

    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        return f"edge:{tmp_path / 'data'}"


@pytest.fixture
def large(monkeypatch):
    """Have the engine rank, as in a very large collection."""
    monkeypatch.setattr(cache, "_MOST_COPIED", 0)
    monkeypatch.setattr(cache, "_MOST_BYTES", 0)


@pytest.fixture
def copied(monkeypatch):
    """Have copies made by the first call, which then waits for them."""
    monkeypatch.setattr(cache, "_PER_CALL", 10**9)
    monkeypatch.setattr(cache, "_PER_CALL_OF_MORE", 10**9)
    monkeypatch.setattr(cache, "Thread", type("AtOnce", (threading.Thread,), {"start": threading.Thread.run}))


@pytest.fixture
def more_copied(monkeypatch, copied):
    """Have the engine rank only parents by meaning, and more than three leaves."""
    monkeypatch.setattr(cache, "_MOST_COPIED", 0)
    monkeypatch.setattr(arrays, "MOST_COMPARED", 3)


@pytest.mark.usefixtures("large")
class TestLargeEdgeStore(TestEdgeStore):
    """The same contract without a copy in memory."""


@pytest.mark.usefixtures("more_copied")
class TestCopiedEdgeStore(TestEdgeStore):
    """The same contract with a copy of a larger collection."""


def test_no_boolean_of_a_filter_is_an_integer_too():
    # Earlier bug: NumPy's booleans are integers before version 2.3, so that a filter by True matched 1.
    boolean = _boolean(True)
    assert boolean
    with pytest.raises(TypeError):
        operator.index(boolean)


def test_a_collection_that_has_grown_is_not_written_anew(tmp_path, monkeypatch):
    # Earlier bug: closing the first session of a large collection took as long as a third of indexing it.
    def segments():
        return {path.name for path in tmp_path.glob("cs/shard/segments/*")}

    with make_store(f"edge:{tmp_path}", "cs", SCHEMA) as store:
        save(store, "a", make_chunks("a", TEXTS))
    before = segments()
    monkeypatch.setattr(folder, "is_small", lambda _: False)
    with make_store(f"edge:{tmp_path}", "cs") as store:
        save(store, "b", make_chunks("b", TEXTS))
    assert segments() == before


def test_a_read_only_segment_has_leaves_by_document_and_apart_from_parents(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_SEGMENT_KB", 1)
    documents = [f"doc {number}" for number in range(20)]
    owner = {}
    with make_store(f"edge:{tmp_path}", "cs", SCHEMA) as store:
        for name in documents:
            leaves = make_chunks(name, [f"{name}, text {number}" for number in range(10)])
            owner |= {tuple(vectors.dense.round(3)): name for vectors in embed(leaves).values()}
            save(store, name, [*leaves, *make_chunks(name, [f"{name}, parent {number}" for number in range(5)], 1)])
    [file] = tmp_path.glob("cs/shard/segments/*/vector_storage-dense/matrix.dat")
    vectors = np.frombuffer(file.read_bytes()[4:], dtype=np.float32).reshape(-1, 64)
    owners = [owner.get(tuple(vector.round(3)), "") for vector in vectors]
    assert [(name, len(list(own))) for name, own in groupby(owners)] == [
        ("", 100),
        *((name, 10) for name in dict.fromkeys(owners[100:])),
    ]
    assert set(owners[100:]) == set(documents)


class Recorder:
    """A proxy between a store and its shard that counts calls and can make one fail."""

    def __init__(self, shard, fail_on_update=0):
        self.shard, self.fail_on_update, self.calls = shard, fail_on_update, []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            if name == "update" and self.calls.count("update") == self.fail_on_update:
                raise RuntimeError("the disk is full")
            return getattr(self.shard, name)(*arguments)

        return call


@pytest.fixture
def store(tmp_path):
    with EdgeStore(str(tmp_path), "edge", SCHEMA) as store:
        yield store


def engine(store):
    return store._lease.engine


def record(store, **options):
    shard = engine(store).shard
    engine(store).shard = Recorder(getattr(shard, "shard", shard), **options)
    return engine(store).shard.calls


def test_search_get_known_and_sources_are_at_most_two_engine_calls_each(store, large):
    chunks = make_chunks("doc", TEXTS)
    save(store, "doc", chunks)
    calls = record(store)
    store.search(
        [
            Query("dense", DENSE.embed_query("a"), 3),
            Query("dense", DENSE.embed_query("a"), 3, 1, {"subject": "cs"}),
            Query("bm25", SPARSE.embed_query("class"), 3, DOCUMENT, {"source_id": "doc"}),
        ]
    )
    store.get([chunk.id for chunk in chunks])
    store.vectors([chunk.id for chunk in chunks])
    store.find({"source_id": "doc"})
    store.known("doc")
    store.sources(0)
    assert calls == [
        "count",
        "count",
        "query_batch",
        "retrieve",
        "retrieve",
        "retrieve",
        "retrieve",
        "scroll",
        "scroll",
        "facet",
    ]


def test_documents_are_counted_by_name_without_comparing_each_name_with_each_document(store, monkeypatch):
    for name in "abc":
        save(store, name, make_chunks(name, TEXTS[:2]))
    monkeypatch.setattr(store, "_facet", None)
    assert store.sources(0, {"source_id": ["a", "c", "d"]}) == {"a": 2, "c": 2}


def test_a_ranking_reads_no_entry_again_until_it_is_written(store, large):
    chunks = make_chunks("doc", TEXTS)
    save(store, "doc", chunks)
    calls = record(store)
    queries = [Query("dense", DENSE.embed_query("a"), limit) for limit in (2, 5)]
    first = store.rank(queries)
    assert store.rank(queries) == first
    assert calls == ["count", "count", "query_batch", "retrieve", "query_batch"]
    record(store, fail_on_update=1)
    with pytest.raises(StoreError, match="the disk is full"):
        save(store, "doc", make_chunks("doc", [*TEXTS, "more"]))
    calls = record(store)
    assert store.rank(queries) == first
    assert calls == ["count", "count", "query_batch", "retrieve"]


PAYLOAD = to_payload(make_chunks("doc", TEXTS)[0])
ONE, TWO, THREE, GONE = map(uuid.UUID, ("1" * 32, "2" * 32, "3" * 32, "4" * 32))


def test_entries_are_not_kept_when_they_were_written_while_they_were_read():
    entries = cache.PointCache(to_entry, 9)

    def read(version, *, written=False):
        def fetch(ids):
            if written:
                entries.forget([ONE.int])
            return {id_: {**PAYLOAD, "title": version} for id_ in ids}

        return entries.read({ONE.int: ONE}, fetch)[ONE.int].title

    assert [read("1", written=True), read("2"), read("3")] == ["1", "2", "2"]


def test_only_some_entries_are_kept():
    entries, fetched = cache.PointCache(to_entry, 2), []

    def fetch(ids):
        fetched.append(ids)
        return {id_: PAYLOAD for id_ in ids if id_ != str(GONE)}

    for ids in ([ONE, TWO, THREE, GONE], [TWO, THREE], [ONE], [THREE, ONE]):
        entries.read({id_.int: id_ for id_ in ids}, fetch)
    assert fetched == [[*map(str, (ONE, TWO, THREE, GONE))], [str(ONE)]]


def test_a_small_collection_is_copied_once_its_searches_pay_for_it_and_anew_after_a_write(store, monkeypatch, copied):
    save(store, "doc", make_chunks("doc", TEXTS))
    monkeypatch.setattr(cache, "_PER_CALL", 3)
    query = Query("dense", DENSE.embed_query("a"), 2)
    calls = record(store)
    expected = store.rank([query])
    assert calls == ["count", "query_batch", "retrieve"]
    assert [entry.id for entry, _ in store.rank([query])[0]] == [entry.id for entry, _ in expected[0]]
    assert calls[3:] == ["scroll", "retrieve"]
    store.rank([query])
    assert len(calls) == 5
    store.rank([replace(query, where={"subject": "cs"})])
    assert calls[5:] == ["query_batch"]
    save(store, "doc", make_chunks("doc", [*TEXTS, "more"]))
    for _ in range(2):
        assert store.rank([query])[0][0][0].total == len(TEXTS) + 1
    assert calls.count("scroll") > 1


def test_of_a_larger_collection_the_engine_ranks_parents_by_meaning_and_many_leaves(store, more_copied):
    save(store, "doc", [*make_chunks("doc", TEXTS), *make_chunks("doc", TEXTS[:2], 1)])
    vector, ids = DENSE.embed_query("a"), tuple(chunk.id for chunk in make_chunks("doc", TEXTS)[:3])
    few, terms = Query("dense", vector, 9, 0, {"$id": ids}), Query("bm25", SPARSE.embed_query("class"), 9)
    calls = record(store)
    store.rank([few, terms])
    assert calls == ["count", "count", *["scroll", "retrieve"] * 2, "scroll"]
    above = [Query("bm25", terms.vector, 9, 1), Query("dense", vector, 9, 1)]
    found = store.rank([Query("dense", vector, 9), few, *above[:1]])
    assert calls[7:] == ["query_batch", "retrieve"]
    scores = {entry.id: score for entry, score in found[0]}
    assert {entry.id: score for entry, score in found[1]} == pytest.approx({id_: scores[id_] for id_ in ids}, abs=1e-6)
    assert [{entry.level for entry, _ in each} for each in found] == [{0}, {0}, {1}]
    store.rank(above)
    assert calls[9:] == ["query_batch", "retrieve"]


def test_a_copy_that_was_made_during_a_write_is_not_kept(copied):
    def read(levels):
        copy.forget()
        yield from ()

    copy = cache.ArrayCopy(3)
    assert copy.find(lambda levels: 0, read) == {}
    assert copy.made == {}


def test_a_copy_whose_engine_is_closed_is_not_made(copied):
    def read(levels):
        raise StoreError("closed")
        yield

    copy = cache.ArrayCopy(3)
    assert copy.find(lambda levels: 0, read) == {}
    assert copy.find(lambda levels: 0, lambda levels: iter(()))


def test_an_engine_that_is_let_go_of_while_it_is_copied_leaves_its_folder(tmp_path, monkeypatch, copied):
    gone = EdgeStore(str(tmp_path), "edge", SCHEMA)
    save(gone, "doc", make_chunks("doc", TEXTS))
    points = _read_all(weakref.ref(engine(gone)), cache.EVERY)
    next(points)
    del gone
    gc.collect()
    with EdgeStore(str(tmp_path), "edge") as again:
        assert again.count() == len(TEXTS)
    assert len(list(points)) < len(TEXTS)


def test_an_unchanged_source_costs_no_write(store):
    chunks = make_chunks("doc", TEXTS)
    save(store, "doc", chunks)
    calls = record(store)
    save(store, "doc", chunks)
    assert calls == ["scroll", "scroll"]


def test_writes_wait_for_the_disk_now_and_then(store, monkeypatch):
    calls = record(store)
    for number in range(3):
        save(store, "doc", make_chunks("doc", TEXTS[number:]))
    assert "flush" not in calls
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._SETTLE_SECONDS", 0)
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._SETTLE_SHARE", 0)
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._OPTIMIZE_SHARE", 0)
    engine(store)._settle_at = 0
    for number in range(3):
        save(store, "doc", make_chunks("doc", TEXTS[number:]))
    assert calls.count("flush") == calls.count("optimize") == 3
    store.close()
    assert calls.count("flush") == 3


def test_optimizing_takes_a_small_part_of_the_time(store, monkeypatch):
    calls = record(store)
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._SETTLE_SECONDS", 0)
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._SETTLE_SHARE", 0)
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._OPTIMIZE_SHARE", 10**6)
    engine(store)._settle_at = 0
    for number in range(3):
        save(store, "doc", make_chunks("doc", TEXTS[number:]))
    assert (calls.count("optimize"), calls.count("flush")) == (1, 3)
    # What was postponed is done at last.
    store.close()
    assert calls[-3:] == ["optimize", "flush", "close"]


def test_many_new_points_wait_for_no_optimization(store, monkeypatch):
    # Earlier bug: where the disk was slow, a load left nearly all of its points to be moved when the store was closed.
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._MOST_NEW", 2 * len(TEXTS))
    engine(store)._settle_at = engine(store)._optimize_at = float("inf")
    calls = record(store)
    for number in range(5):
        save(store, f"doc{number}", make_chunks(f"doc{number}", TEXTS))
        engine(store)._settle_at = engine(store)._optimize_at = float("inf")
    assert [call for call in calls if call in ("update", "optimize", "flush")] == [
        *["update", "update", "optimize", "flush"] * 2,
        "update",
    ]


def test_a_large_collection_is_searched_as_exactly_as_a_small_one(tmp_path, monkeypatch, large):
    monkeypatch.setattr(folder, "_SEGMENT_KB", 1)
    chunks = make_chunks("doc", [f"owl {number} {'lark ' * (number % 7)}{number**2 % 91}" for number in range(600)])
    vectors = embed(chunks)
    for address in (f"edge:{tmp_path}", "memory:exact"):
        with make_store(address, "large", SCHEMA) as store:
            store.sync("doc", chunks, vectors)
    queries = [
        Query("dense", vectors[chunk.content_key].dense, 10, where=where)
        for chunk in chunks[::60]
        for where in (None, {"chunk_index": {"$lt": 300}})
    ]
    with make_store(f"edge:{tmp_path}", "large") as store, make_store("memory:exact", "large") as exact:
        assert engine(store).shard.info().indexed_vectors_count >= len(chunks)
        for found, wanted in zip(store.rank(queries), exact.rank(queries), strict=True):
            assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-5)


def test_closing_waits_for_the_disk(store):
    calls = record(store)
    save(store, "doc", make_chunks("doc", TEXTS))
    store.close()
    assert calls[-3:] == ["optimize", "flush", "close"]


def test_a_crash_before_the_stale_points_are_deleted_is_repaired(store):
    save(store, "doc", make_chunks("doc", TEXTS))
    new = make_chunks("doc", ["Something else.", TEXTS[0]])
    vectors = embed(new)
    record(store, fail_on_update=2)
    with pytest.raises(StoreError, match="disk is full"):
        store.sync("doc", new, vectors)
    # Old and new chunks both exist; nothing is lost.
    assert store.get([chunk.id for chunk in new]) == new
    assert store.count() == len(TEXTS)
    record(store)
    report, embedded = save(store, "doc", new)
    assert (report.deleted, report.unchanged, embedded) == (len(TEXTS) - 2, 2, [])
    assert store.count() == 2


def test_a_crash_between_two_batches_is_repaired(store, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._BATCH", 2)
    save(store, "doc", make_chunks("doc", TEXTS))
    turned = make_chunks("doc", [*TEXTS[1:], TEXTS[0]])
    record(store, fail_on_update=2)
    with pytest.raises(StoreError):
        store.sync("doc", turned, {})
    record(store)
    # In a ring of contents longer than a batch, the first batch overwrote a point whose content is lost.
    _, embedded = save(store, "doc", turned)
    assert len(embedded) == 1
    assert store.get([chunk.id for chunk in turned]) == turned


def test_a_process_that_is_killed_keeps_what_it_synced_and_no_lock(tmp_path, killed):
    killed(sync_and_die, f"edge:{tmp_path}")
    with EdgeStore(str(tmp_path), "cs", SCHEMA) as store:
        assert save(store, "doc", make_chunks("doc", TEXTS))[0] == SyncReport(unchanged=len(TEXTS))


def test_deleted_points_do_not_fill_the_disk(store, tmp_path, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._SETTLE_SECONDS", 0)
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._SETTLE_SHARE", 0)
    monkeypatch.setattr("kinsplit.stores.engines.edge.engine._OPTIMIZE_SHARE", 0)
    engine(store)._settle_at = 0
    chunks = make_chunks("doc", [f"text {number}" for number in range(1200)])
    vectors = embed(chunks)

    def points_and_size_after_a_round():
        store.delete("doc")
        store.sync("doc", chunks, vectors)
        files = (tmp_path / "edge" / "shard" / "segments").rglob("*")
        return store.count(), sum(path.stat().st_blocks for path in files)

    # In memory the first round takes half the space, since files there have no holes.
    _, (count, early), *_, (_, last) = [points_and_size_after_a_round() for _ in range(4)]
    assert count == 1200
    assert last < 1.5 * early


def test_a_folder_gets_the_settings_of_the_version_that_opens_it(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(folder, "_SEGMENT_KB", 200_000)
        with make_store(f"edge:{tmp_path}", "old", SCHEMA) as store:
            save(store, "doc", make_chunks("doc", TEXTS))
    with make_store(f"edge:{tmp_path}", "old") as store:
        assert store.sources() == {"doc": len(TEXTS)}
    settings = json.loads((tmp_path / "old" / "shard" / "edge_config.json").read_text())
    assert settings["optimizers"]["indexing_threshold"] == folder._SEGMENT_KB


def test_a_crash_during_creation_leaves_a_place_that_can_be_used(tmp_path, monkeypatch):
    def crash(path, dimension):
        path.mkdir()
        (path / "half").write_text("written")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(folder, "_create_shard", crash)
        with pytest.raises(KeyboardInterrupt):
            make_store(f"edge:{tmp_path}", "new", SCHEMA)
    assert list(tmp_path.iterdir()) == []
    with make_store(f"edge:{tmp_path}", "new", SCHEMA) as store:
        assert store.count() == 0
    assert {path.name for path in tmp_path.iterdir()} == {"new", ".names.lock"}


def test_a_wait_for_another_change_of_names_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.edge.folder._PATIENCE", 0.01)
    said = []
    with FileLock(tmp_path / ".names.lock") as held, warnings.catch_warnings():
        warnings.simplefilter("always")

        def show(message, *_):
            said.append(message)
            held.release()

        monkeypatch.setattr(warnings, "showwarning", show)
        with make_store(f"edge:{tmp_path}", "cs", SCHEMA) as store:
            assert store.count() == 0
    (warning,) = said
    assert isinstance(warning, LockWarning)
    assert f"{tmp_path / '.names.lock'}: still waiting after 0.01 seconds for another process" in str(warning)


def test_the_collection_that_another_process_made_meanwhile_is_opened(tmp_path, monkeypatch):
    create = folder._create_shard

    def slowly(path, dimension):
        create(path, dimension)
        with monkeypatch.context() as patch:
            patch.setattr(folder, "_create_shard", create)
            with make_store(f"edge:{tmp_path}", "new", SCHEMA) as first:
                save(first, "doc", make_chunks("doc", TEXTS))

    monkeypatch.setattr(folder, "_create_shard", slowly)
    with make_store(f"edge:{tmp_path}", "new", SCHEMA) as store:
        assert store.count() == len(TEXTS)
    assert {path.name for path in tmp_path.iterdir()} == {"new", ".names.lock"}


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    for schema in (SCHEMA, None):
        with pytest.raises(StoreError, match=r"holds files but no kinsplit\.json"):
            make_store(f"edge:{tmp_path}", "mine", schema)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_a_place_that_is_a_file_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Choose a folder"):
        make_store(f"edge:{tmp_path / 'file'}", "cs", SCHEMA)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"kinsplit\.json is no schema of kinsplit: Expecting value.*damaged"),
        ("[" * 100_000, r"kinsplit\.json is no schema of kinsplit: .*recursion"),
        ('{"fingerprint": "f1", "sparse": "bm25", "version": 1}', "can't read the schema: .*'model'"),
        (json.dumps({**asdict(SCHEMA), "more": 2}), "can't read the schema: .*'more'"),
        (json.dumps({**asdict(SCHEMA), "embedding_context": "early"}), "its embedding_context is 'early'.*'headings'"),
    ],
)
def test_a_schema_file_that_can_not_be_read_is_one_clear_error(tmp_path, content, message):
    make_store(f"edge:{tmp_path}", "cs", SCHEMA).close()
    (tmp_path / "cs" / "kinsplit.json").write_text(content)
    with pytest.raises(StoreError, match=message):
        make_store(f"edge:{tmp_path}", "cs", SCHEMA)
    with open_catalog(f"edge:{tmp_path}") as catalog:
        assert [(each.name, each.schema) for each in catalog.collections()] == [("cs", None)]


def test_a_shard_that_can_not_be_loaded_is_one_clear_error(tmp_path):
    make_store(f"edge:{tmp_path}", "cs", SCHEMA).close()
    (tmp_path / "cs" / "shard" / "edge_config.json").write_text("{")
    with pytest.raises(StoreError, match="can't be opened"):
        make_store(f"edge:{tmp_path}", "cs", SCHEMA)


def test_the_schema_file_is_readable_json(tmp_path):
    make_store(f"edge:{tmp_path}", "cs", SCHEMA).close()
    stored = json.loads((tmp_path / "cs" / "kinsplit.json").read_text())
    assert (stored["dimension"], stored["distance"], stored["fingerprint"]) == (64, "cosine", "f1")


def test_a_collection_that_grows_gets_payload_indexes_of_the_right_kinds(store, tmp_path, monkeypatch):
    def kinds(store):
        schema = engine(store).shard.info().payload_schema
        return {key: str(info.data_type).split(".")[-1] for key, info in schema.items()}

    monkeypatch.setattr("kinsplit.stores.engines.edge.indexes._FEWEST_POINTS", len(TEXTS))
    save(store, "doc", make_chunks("doc", TEXTS[:4], subject="cs", group_id="g"))
    assert kinds(store) == {"source_id": "Keyword", "_above.source_id": "Keyword"}
    store.close()
    store = EdgeStore(str(tmp_path), "edge")
    with monkeypatch.context() as patch:
        patch.setattr("kinsplit.stores.engines.edge.engine._INDEX_BYTES", 2**60)
        save(store, "doc", make_chunks("doc", TEXTS, subject="cs", group_id="g"))
        assert len(kinds(store)) == 2
    save(store, "more", make_chunks("more", TEXTS[:1]))
    assert kinds(store) == {
        "source_id": "Keyword",
        "chunk_index": "Integer",
        "level": "Integer",
        "parent_id": "Uuid",
        "subject": "Keyword",
        "group_id": "Keyword",
        # Indexes of parents and documents.
        "_above.source_id": "Keyword",
        "_above.level": "Integer",
        "_above.subject": "Keyword",
        "_above.group_id": "Keyword",
    }
    store.close()


def test_close_waits_for_calls_inside_the_engine_and_unlocks_the_folder(store, tmp_path, large):
    save(store, "doc", make_chunks("doc", TEXTS))
    inside, leave = threading.Event(), threading.Event()
    shared = engine(store)
    shard = shared.shard

    class Slow:
        def __getattr__(self, name):
            def call(*arguments):
                if name == "query_batch":
                    inside.set()
                    assert leave.wait(30)
                return getattr(shard, name)(*arguments)

            return call

    shared.shard = Slow()
    with ThreadPoolExecutor() as pool:
        searching = pool.submit(store.search, [Query("dense", DENSE.embed_query("a"), 3)])
        assert inside.wait(30)
        closing = pool.submit(store.close)
        while not shared._closed:
            time.sleep(0.001)
        assert not closing.done()
        with pytest.raises(StoreError, match="was closed"):
            store.count()
        leave.set()
        assert searching.result(30)
        closing.result(30)
    with EdgeStore(str(tmp_path), "edge") as again:
        assert again.count()


def test_a_folder_is_unlocked_even_where_the_last_flush_fails(store, tmp_path):
    save(store, "doc", make_chunks("doc", TEXTS))
    shard = engine(store).shard

    class Full:
        def __getattr__(self, name):
            if name == "optimize":
                raise RuntimeError("the disk is full")
            return getattr(shard, name)

    engine(store).shard = Full()
    with pytest.raises(StoreError, match="the disk is full"):
        store.close()
    with EdgeStore(str(tmp_path), "edge") as again:
        assert again.count()


def test_a_collection_whose_schema_can_not_be_read_hides_no_other(tmp_path):
    for name in ("bad", "good"):
        make_store(f"edge:{tmp_path}", name, SCHEMA).close()
    (tmp_path / "bad" / "kinsplit.json").write_text("{", encoding="utf-8")
    with open_catalog(f"edge:{tmp_path}") as catalog:
        bad, good = catalog.collections()
    assert (bad.name, bad.schema, good.schema, good.problem) == ("bad", None, SCHEMA, None)
    assert "is no schema of kinsplit" in bad.problem


def test_a_store_that_is_dropped_without_closing_unlocks_its_folder(tmp_path):
    gc.disable()
    try:
        for _ in range(2):
            store = make_store(f"edge:{tmp_path}", "left", SCHEMA)
            store.rank([Query("dense", DENSE.embed_query("owl"), 3)])
            del store
    finally:
        gc.enable()
