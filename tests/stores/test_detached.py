"""Tests of Qdrant Edge in a separate process: the same results, and recovery if the process dies."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, StoreError, StoreLockedError
from kinsplit.stores import ChunkStore, Query, open_store
from kinsplit.stores.engines.edge.process import DetachedStore, open_detached
from kinsplit.stores.maintenance.doctor import DENSE, SCHEMA, SPARSE, TEXTS, make_chunks, save


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"edge:{tmp_path_factory.mktemp('detached')}"


@pytest.fixture(scope="module")
def store(address: str) -> Iterator[ChunkStore]:
    with open_detached(address, "kept", SCHEMA, time_limit=60) as opened:
        save(opened, "a", make_chunks("a", TEXTS, 0, subject="cs"))
        save(opened, "b", make_chunks("b", TEXTS, 0))
        yield opened


def process_of(store: ChunkStore) -> int:
    assert isinstance(store, DetachedStore)
    (worker,) = store._pool._watchdog.workers
    return worker._process.pid


def answers(store: ChunkStore) -> list[Any]:
    queries = [
        Query("dense", DENSE.embed_query("class"), 9, where={"subject": "cs"}),
        Query("bm25", SPARSE.embed_query("recursion"), 9),
    ]
    chunks = store.find({"source_id": "a"}, None)
    ids = [chunk.id for chunk in chunks]
    assert store.vectors(ids).keys() == {*ids}
    return [
        *(store.schema, store.count(), store.sources(0), store.known("a"), chunks, store.get(ids)),
        # Equal scores come in any order.
        *(sorted(ranking, key=lambda entry: entry.id) for ranking in store.rank(queries)),
        *(sorted(ranking, key=lambda hit: hit.chunk.id) for ranking in store.search(queries)),
    ]


def test_it_answers_as_the_engine_does_in_this_process(store: ChunkStore, tmp_path: Path) -> None:
    assert process_of(store) != os.getpid()
    with open_store(f"edge:{tmp_path}", "kept", SCHEMA) as plain:
        save(plain, "a", make_chunks("a", TEXTS, 0, subject="cs"))
        save(plain, "b", make_chunks("b", TEXTS, 0))
        assert answers(store) == answers(plain)


def test_a_process_that_dies_fails_one_call(store: ChunkStore) -> None:
    before = store.find({}, None)
    os.kill(process_of(store), signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (process_of(store), signal.SIGKILL)).start()
    with pytest.raises(StoreError, match="The engine of the collection kept ended its process with signal 9"):
        store.count()
    assert store.find({}, None) == before


def test_what_was_written_is_there_and_errors_are_the_stores_own(store: ChunkStore, address: str) -> None:
    save(store, "c", make_chunks("c", TEXTS, 0))
    assert store.delete("c") == len(TEXTS)
    with pytest.raises(InvalidParameterError, match=r"^where"):
        store.find({"year": {}})
    with pytest.raises(StoreLockedError):
        open_store(address, "kept")
    with pytest.raises(CollectionNotFoundError):
        open_detached(address, "other", time_limit=60)


def test_a_call_that_takes_too_long_is_ended(address: str) -> None:
    with open_detached(address, "slow", SCHEMA, time_limit=60) as store:
        store._pool._limits = type(store._pool._limits)(0.3, 2**50, 2**50)  # type: ignore[attr-defined]
        os.kill(process_of(store), signal.SIGSTOP)
        with pytest.raises(StoreError, match=r"The engine of the collection slow took longer than 0\.3 s"):
            store.count()
    with pytest.raises(StoreError, match="was closed"):
        store.count()


def test_what_holds_no_lock_stays_in_this_process() -> None:
    with open_detached("memory:", "plain", SCHEMA, time_limit=60) as store:
        assert not isinstance(store, DetachedStore)
    with pytest.raises(InvalidParameterError, match="store: must be one of"):
        open_detached("nothing", "plain", time_limit=60)
