"""Tests that store objects of one embedded folder share its engine."""

import gc
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from engines import address_of
from kinsplit_testing import DENSE, SCHEMA, TEXTS, make_chunks, make_store, save

from kinsplit import Index
from kinsplit.chunk import Document
from kinsplit.errors import KinsplitError, SchemaMismatchError, StoreError
from kinsplit.stores.engines.open_engines import Sharing
from kinsplit.stores.values import Query

CHUNKS = make_chunks("doc", TEXTS)


@pytest.fixture(params=["edge", "qdrant"])
def address(request):
    return address_of(request.param, request, "place")


def test_closing_one_handle_leaves_the_other_usable(address):
    first, second = (make_store(address, "cs", SCHEMA) for _ in range(2))
    save(first, "doc", CHUNKS)
    first.close()
    first.close()
    with pytest.raises(StoreError, match="was closed"):
        first.count()
    save(second, "more", make_chunks("more", TEXTS[:2]))
    assert second.sources() == {"doc": len(TEXTS), "more": 2}
    second.close()
    with make_store(address, "cs") as third:
        assert third.sources() == {"doc": len(TEXTS), "more": 2}


def test_a_link_to_the_folder_leads_to_the_same_engine(address, tmp_path):
    engine, _, place = address.partition(":")
    with make_store(address, "cs", SCHEMA) as first:
        (tmp_path / "link").symlink_to(place)
        with make_store(f"{engine}:{tmp_path / 'link'}", "cs", SCHEMA) as second:
            save(second, "doc", CHUNKS)
            assert first.sources() == {"doc": len(TEXTS)}


def test_another_schema_is_refused_and_the_first_handle_goes_on(address):
    with make_store(address, "cs", SCHEMA) as first:
        for _ in range(2):
            with pytest.raises(SchemaMismatchError, match="other-model"):
                make_store(address, "cs", replace(SCHEMA, model="other-model"))
        save(first, "doc", CHUNKS)
    make_store(address, "cs", SCHEMA).close()


def test_a_handle_for_every_request(address):
    def request(number):
        with make_store(address, "cs", SCHEMA) as store:
            save(store, f"doc{number}", make_chunks(f"doc{number}", TEXTS))
            return len(store.search([Query("dense", DENSE.embed_query("class"), 3)])[0])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(request, range(24))) == [3] * 24
    with make_store(address, "cs") as store:
        assert store.sources() == dict.fromkeys(sorted(f"doc{number}" for number in range(24)), len(TEXTS))


def test_two_handles_write_by_turns(address):
    with make_store(address, "cs", SCHEMA) as first, make_store(address, "cs", SCHEMA) as second:
        begin = threading.Barrier(2)
        versions = (make_chunks("doc", TEXTS), make_chunks("doc", TEXTS[::-1]))

        def work(store, number):
            begin.wait(30)
            for turn in range(6):
                save(store, "doc", versions[(turn + number) % 2])

        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(work, store, number) for number, store in enumerate((first, second))]:
                done.result(60)
        assert first.find({"source_id": "doc"}) in versions


def test_an_abandoned_handle_holds_nothing_open(address):
    store = make_store(address, "cs", SCHEMA)
    save(store, "doc", CHUNKS)
    with make_store(address, "cs") as other:
        del store
        gc.collect()
        assert other.count() == len(TEXTS)
    with make_store(address, "cs") as again:
        assert again.count() == len(TEXTS)


def test_a_folder_that_was_deleted_and_made_again_has_an_engine_of_its_own(address, tmp_path):
    old = make_store(address, "cs", SCHEMA)
    save(old, "doc", CHUNKS)
    shutil.rmtree(tmp_path / "place")
    with make_store(address, "cs", SCHEMA) as new:
        assert new.count() == 0
        save(new, "new", make_chunks("new", TEXTS[:1]))
        assert new.sources() == {"new": 1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_told_and_harms_nothing(address):
    with make_store(address, "cs", SCHEMA) as store:
        save(store, "doc", CHUNKS)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            messages = []
            for attempt in (store.count, lambda: save(store, "doc", CHUNKS[:1]), lambda: make_store(address, "cs")):
                try:
                    attempt()
                    messages.append("nothing")
                except KinsplitError as error:
                    messages.append(f"{type(error).__name__}: {error}")
            store.close()
            os.write(writing, "\n".join(messages).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            used, saved, opened = pipe.read().splitlines()
        assert os.waitpid(child, 0)[1] == 0
        assert "forked from" in used
        assert "forked from" in saved
        assert opened.startswith("StoreLockedError: ")
        save(store, "more", make_chunks("more", TEXTS[:1]))
        assert store.sources() == {"doc": len(TEXTS), "more": 1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_frees_no_engine_since_that_waits_for_threads_of_the_parent(tmp_path):
    freed = []

    class Engine:
        def __del__(self):
            freed.append(os.getpid())

    lease = Sharing(lambda _: None).lease("here", tmp_path, Engine)
    child = os.fork()
    if not child:
        lease.release()
        del lease
        os._exit(len(freed))
    assert os.waitpid(child, 0)[1] == 0
    lease.release()
    assert freed == [os.getpid()]


def test_two_indexes_on_one_collection(address):
    with Index(address, embedder="hash:64") as first, Index(address, embedder="hash:64") as second:
        first.add(Document("a", "One sentence about classes."))
        assert [passage.source_id for passage in second.search("classes")] == ["a"]
