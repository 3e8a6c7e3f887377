"""Tests of Qdrant Edge in a separate process: the same results, and recovery if the process dies."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Document, Index
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, StoreError, StoreLockedError
from kinsplit.keywords import SearchKeywords
from kinsplit.options import Ranked
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
        *(sorted(ranking, key=lambda pair: pair[0].id) for ranking in store.rank(queries)),
        *(sorted(ranking, key=lambda hit: hit.chunk.id) for ranking in store.search(queries)),
    ]


def test_it_answers_as_the_engine_does_in_this_process(store: ChunkStore, tmp_path: Path) -> None:
    assert process_of(store) != os.getpid()
    with open_store(f"edge:{tmp_path}", "kept", SCHEMA) as plain:
        save(plain, "a", make_chunks("a", TEXTS, 0, subject="cs"))
        save(plain, "b", make_chunks("b", TEXTS, 0))
        assert answers(store) == answers(plain)


def test_a_read_is_repeated_if_its_process_dies_and_a_write_fails(store: ChunkStore) -> None:
    before = store.find({}, None)

    def kill_soon() -> None:
        os.kill(process_of(store), signal.SIGSTOP)
        threading.Timer(0.2, os.kill, (process_of(store), signal.SIGKILL)).start()

    kill_soon()
    assert store.find({}, None) == before
    kill_soon()
    with pytest.raises(StoreError, match="The engine of the collection kept ended its process with signal 9"):
        store.delete("b")
    assert store.find({}, None) == before


def _kill(_: ChunkStore) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_read_that_kills_its_process_is_tried_twice(store: ChunkStore) -> None:
    with pytest.raises(StoreError, match="ended its process with signal 9"):
        store.run(_kill)
    assert store.count()


def _place(store: ChunkStore, traced: bool) -> tuple[int, str, str]:
    header = ""
    if traced:
        from opentelemetry import trace

        header = f"{trace.get_current_span().get_span_context().trace_id:032x}"
    return os.getpid(), type(store).__name__, header


def test_a_function_runs_where_the_engine_is(store: ChunkStore) -> None:
    assert store.run(_place, False) == (process_of(store), "EdgeStore", "")
    with open_store("memory:", "here", SCHEMA) as plain:
        assert plain.run(_place, traced=False)[:1] == (os.getpid(),)


def test_a_trace_goes_on_in_the_engines_process(store: ChunkStore) -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    context = trace.SpanContext(7, 5, is_remote=False, trace_flags=trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(context)):
        assert store.run(_place, True)[2] == f"{7:032x}"
    assert store.run(_place, True)[2] == f"{0:032x}"


def test_an_index_searches_in_one_call_and_finds_the_same(tmp_path: Path) -> None:
    address = f"edge:{tmp_path}"
    text = "# Loops\n\nA loop repeats.\n\n# Classes\n\nA class is a blueprint of objects."
    asked: list[SearchKeywords] = [{}, {"budget": 50, "level": "all"}, {"diversity": 0.5}, {"rerank": OneReranker()}]
    with Index(address, embedder="hash") as plain:
        plain.add([Document(f"{number}.md", f"{text} Number {number}.") for number in range(5)])
        wanted = [plain.search("loop of class", **options) for options in asked]
    with Index(address, embedder="hash", opener=partial(open_detached, time_limit=60)) as index:
        assert [index.search("loop of class", **options) for options in asked] == wanted
        calls = count_calls(index.store)
        index.search("loop of class", budget=50)
    assert calls == ["run"]


class OneReranker:
    """Cannot be pickled, as little as a model."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        return [Ranked(place, float(len(text))) for place, text in enumerate(texts)]


def count_calls(store: ChunkStore) -> list[str]:
    assert isinstance(store, DetachedStore)
    calls, call = list[str](), store._call

    def counted(method: str, *args: Any, **kwargs: Any) -> Any:
        calls.append(method)
        return call(method, *args, **kwargs)

    store._call = counted  # type: ignore[method-assign]
    return calls


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
