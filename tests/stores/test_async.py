"""Tests of the asynchronous stores: the contract, cancellation and a free event loop."""

import asyncio
import json
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.stores import open_async_store, open_store
from kinsplit.stores.engines.qdrant.payload import INDEXES
from kinsplit.stores.protocol import Query
from kinsplit.stores.testing import (
    DENSE,
    SCHEMA,
    TEXTS,
    AsyncChunkStoreContract,
    embed,
    make_chunks,
)
from kinsplit.stores.threaded import ThreadedStore
from kinsplit.support.aio import run

QUERY = Query("dense", DENSE.embed_query("class"), 3)


class TestAsyncQdrant(AsyncChunkStoreContract):
    reach = "object"

    @pytest.fixture
    def address(self) -> str:
        pytest.importorskip("qdrant_client")
        return "qdrant::memory:"


class TestThreadedMemory(AsyncChunkStoreContract):
    reach = "process"

    @pytest.fixture
    def address(self) -> str:
        return f"memory:{uuid.uuid4()}"


@pytest.fixture
def slow_server() -> Iterator[tuple[str, threading.Event, threading.Event]]:
    """A Qdrant server that answers a search on demand: its address and the events "asked" and "may answer"."""
    pytest.importorskip("qdrant_client")
    asked, may_answer = threading.Event(), threading.Event()
    collection = {
        "status": "green",
        "optimizer_status": "ok",
        "segments_count": 1,
        "config": {
            "params": {},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
            "optimizer_config": {
                "deleted_threshold": 0.2,
                "vacuum_min_vector_number": 1000,
                "default_segment_number": 0,
                "flush_interval_sec": 5,
            },
            "metadata": {"kinsplit": {field: getattr(SCHEMA, field) for field in SCHEMA.__slots__}},
        },
        "payload_schema": {key: {"data_type": kind, "points": 0} for key, kind in INDEXES.items()},
    }

    class Server(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/":
                self.send({"title": "qdrant - vector search engine", "version": "1.16.3"})
            else:
                names = {"aliases": [{"alias_name": "cs", "collection_name": "cs@1"}]}
                self.answer(names if self.path == "/aliases" else collection)

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            asked.set()
            # Much longer than a free loop needs to set the event.
            self.answer([{"points": []}], 200 if may_answer.wait(20) else 500)

        def answer(self, result, status=200):
            self.send({"result": result, "status": "ok", "time": 0}, status)

        def send(self, document, status=200):
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"qdrant:http://127.0.0.1:{server.server_port}", asked, may_answer
        may_answer.set()
        server.shutdown()
        thread.join()


@pytest.mark.enable_socket
async def test_a_slow_server_does_not_block_the_loop(slow_server):
    address, asked, may_answer = slow_server
    async with await open_async_store(address, "cs", SCHEMA) as store:
        searches = [asyncio.create_task(store.search([QUERY])) for _ in range(3)]
        while not asked.is_set():
            assert not any(search.done() for search in searches)
            await asyncio.sleep(0.001)
        # Only a free loop gets here before the server has answered.
        may_answer.set()
        assert await asyncio.gather(*searches) == [[[]]] * 3


async def test_a_slow_engine_does_not_block_the_loop():
    asked, may_answer = threading.Event(), threading.Event()
    store = open_store("memory:", "cs", SCHEMA)
    chunks = make_chunks("doc", TEXTS)
    store.sync("doc", chunks, embed(chunks))
    rank = store._rank

    def slowly(queries, keys):
        asked.set()
        assert may_answer.wait(20)
        return rank(queries, keys)

    store._rank = slowly
    async with ThreadedStore(store) as threaded:
        search = asyncio.create_task(threaded.search([QUERY]))
        while not asked.is_set():
            assert not search.done()
            await asyncio.sleep(0.001)
        may_answer.set()
        assert len((await search)[0]) == 3


async def test_an_engine_is_called_from_many_threads(tmp_path: Path):
    address = f"edge:{tmp_path}"
    documents = {f"doc{n}": make_chunks(f"doc{n}", [f"{text} {n}" for text in TEXTS]) for n in range(8)}
    async with await open_async_store(address, "cs", SCHEMA) as store:
        await asyncio.gather(*(store.sync(name, chunks, embed(chunks)) for name, chunks in documents.items()))
    with pytest.raises(StoreError, match="closed"):
        await store.count()
    async with await open_async_store(address, "cs") as store:
        assert await store.sources() == dict.fromkeys(documents, len(TEXTS))
        (hits,) = await store.search([Query("dense", DENSE.embed_query(f"{TEXTS[1]} 3"), 1)])
        assert [hit.chunk for hit in hits] == documents["doc3"][1:2]


async def test_tasks_that_sync_one_source_take_turns():
    pytest.importorskip("qdrant_client")
    async with await open_async_store("qdrant::memory:", "cs", SCHEMA) as store:
        running = 0
        write = store._write

        async def slowly(plan, vectors):
            nonlocal running
            running += 1
            assert running == 1
            await asyncio.sleep(0)
            await write(plan, vectors)
            running -= 1

        store._write = slowly
        versions = [make_chunks("doc", TEXTS[:size]) for size in (5, 2, 4, 3)]
        await asyncio.gather(*(store.sync("doc", chunks, embed(chunks)) for chunks in versions))
        assert [chunk for chunk, _ in await store.export("doc")] == versions[-1]


async def test_a_sync_that_is_cancelled_is_finished_by_the_next():
    pytest.importorskip("qdrant_client")
    async with await open_async_store("qdrant::memory:", "cs", SCHEMA) as store:
        old, new = make_chunks("doc", TEXTS), make_chunks("doc", TEXTS[2::-1])
        await store.sync("doc", old, embed(old))
        write = store._write

        async def never(plan, vectors):
            await asyncio.sleep(60)

        store._write = never
        task = asyncio.create_task(store.sync("doc", new, {}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [chunk for chunk, _ in await store.export("doc")] == old
        store._write = write
        await store.sync("doc", new, {})
        assert [chunk for chunk, _ in await store.export("doc")] == new


async def test_addresses_are_checked_as_they_are_for_other_stores(tmp_path):
    with pytest.raises(InvalidParameterError, match="edge"):
        await open_async_store("nothing:x", "cs", SCHEMA)
    with pytest.raises(StoreError, match="no collection 'cs'"):
        await open_async_store(f"edge:{tmp_path}", "cs")


async def _wait():
    await asyncio.sleep(0)


def test_what_waits_can_not_be_run_in_one_go():
    with pytest.raises(RuntimeError, match="waits for an event loop"):
        run(_wait())
