"""Tests that a collection whose sync was killed still answers, and that the next sync repairs it."""

import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest
from fault_worker import COLLECTION, VECTORS, VERSIONS, fill, sync_forever
from kinsplit_testing import DENSE, SCHEMA, SPARSE

from kinsplit.chunk import DOCUMENT
from kinsplit.stores import open_store
from kinsplit.stores.values import Query

# Fifty if all damage is tested; see test_damage.
KILLS = 50 if os.environ.get("KINSPLIT_TEST_ALL_DAMAGE") else 8
MEMORY = Path("/dev/shm")


@pytest.fixture
def edge():
    """Address in a memory file system if it has room: faster than a disk, and a killed process loses nothing there."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2**31
    with tempfile.TemporaryDirectory(dir=MEMORY if roomy else None) as folder:
        yield f"edge:{folder}"


@pytest.fixture(params=["edge", "postgres"])
def address(request):
    return request.getfixturevalue(request.param)


def start(processes, address):
    ours, theirs = processes.Pipe()
    process = processes.Process(target=sync_forever, args=(address, theirs), daemon=True)
    process.start()
    theirs.close()
    assert ours.poll(60)
    assert ours.recv() == "open"
    return process, ours


def kill(process, pipe):
    process.kill()
    process.join()
    pipe.close()
    assert process.exitcode == -signal.SIGKILL


def duration_of_a_pass(processes, address):
    process, pipe = start(processes, address)
    begun = time.perf_counter()
    for _ in range(2):
        assert pipe.poll(60)
        pipe.recv()
    seconds = (time.perf_counter() - begun) / 2
    kill(process, pipe)
    return seconds


def check_chunks(store):
    """Check that every chunk is old or new and common ones exist; return whether a document is between versions."""
    mixed = False
    for source_id in VERSIONS[0]:
        old, new = ({chunk.id: chunk for chunk in version[source_id]} for version in VERSIONS)
        found = {chunk.id: chunk for chunk in store.find({"source_id": source_id}, level=None)}
        assert found.keys() >= old.keys() & new.keys()
        assert all(chunk in (old.get(id_), new.get(id_)) for id_, chunk in found.items())
        contents = [{chunk.content_key for chunk in each.values()} for each in (old, new, found)]
        assert contents[2] >= contents[0] & contents[1]
        mixed = mixed or found not in (old, new)
    return mixed


def check_answers(store):
    """Check that the vectors of each text find the old or the new text of its document."""
    for source_id in VERSIONS[0]:
        place = next(
            number
            for number, (old, new) in enumerate(zip(*(version[source_id] for version in VERSIONS), strict=False))
            if number and old.content_key != new.content_key
        )
        texts = [version[source_id][place].text for version in VERSIONS]
        where = {"source_id": source_id}
        answers = store.search([Query("dense", DENSE.embed_query(text), 1, 0, where) for text in texts])
        assert any(
            hits[0].chunk.text == text and hits[0].score > 0.9999 for hits, text in zip(answers, texts, strict=True)
        )
        (hits,) = store.search([Query("bm25", SPARSE.embed_query("document"), 5, DOCUMENT, where)])
        assert len(hits) == 1


def state(store):
    return [(chunk, *_plain(vectors)) for source_id in store.sources() for chunk, vectors in store.export(source_id)]


def _plain(vectors):
    sparse = vectors.sparse and sorted(zip(vectors.sparse.indices, vectors.sparse.values, strict=True))
    return None if vectors.dense is None else vectors.dense.round(5).tolist(), sparse


def test_kills_during_syncs_lose_nothing(address, processes):
    fresh = []
    for number, version in enumerate(VERSIONS):
        with open_store(address, f"fresh-{number}", SCHEMA) as store:
            fill(store, version)
            fresh.append(state(store))
    with open_store(address, COLLECTION, SCHEMA) as store:
        fill(store, VERSIONS[0])
    seconds = duration_of_a_pass(processes, address)
    rng = random.Random(50)
    for number in range(KILLS):
        process, pipe = start(processes, address)
        time.sleep(rng.uniform(0, 2 * seconds))
        kill(process, pipe)
        with open_store(address, COLLECTION, SCHEMA) as store:
            assert store.damage() == []
            mixed = check_chunks(store)
            assert not (mixed and address.startswith("pgvector:")), "a sync is one transaction there"
            check_answers(store)
            for source_id, chunks in VERSIONS[number % 2].items():
                store.sync(source_id, chunks, VECTORS)
            assert state(store) == fresh[number % 2]
            assert store.damage() == []
            check_answers(store)
