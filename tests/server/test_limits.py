from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from kinsplit import Index
from kinsplit.retrieval import Passages
from kinsplit.server import threads
from kinsplit.server.errors import RequestError
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.threads import Workers, YieldingWorkers
from tests.server.conftest import Connect, error_of


async def test_the_queue_ends_and_nothing_that_was_taken_is_lost() -> None:
    workers, go = Workers(2, 3, 30, Metrics()), threading.Event()
    calls = [asyncio.create_task(workers.run(lambda i=i: go.wait(30) and i)) for i in range(8)]
    done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(0)
    go.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert answers[:5] == list(range(5))
    assert [error.status for error in answers[5:] if isinstance(error, RequestError)] == [503] * 3
    assert done
    # All slots are free again.
    assert await asyncio.gather(*(workers.run(lambda i=i: i) for i in range(5))) == list(range(5))
    await workers.close()


async def test_a_call_that_takes_too_long_keeps_its_place() -> None:
    workers, go = Workers(1, 1, 0.05, Metrics()), threading.Event()
    with pytest.raises(RequestError, match="took longer"):
        await workers.run(go.wait, 30)
    # It still occupies the thread; one more call may wait and is cancelled, which frees its slot.
    for _ in range(3):
        with pytest.raises(RequestError) as caught:
            await workers.run(int)
        assert caught.value.status == 504
    go.set()
    await workers.close()


async def test_yielding_workers_rest_unless_the_others_are_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_REST", 10**9)
    monkeypatch.setattr(threads, "_LONGEST_REST", 10**9)
    metrics, go = Metrics(), threading.Event()
    others = Workers(1, 1, 30, metrics)
    workers = YieldingWorkers(2, 30, metrics, others)
    assert await workers.run(int) == 0
    assert await workers.run(int) == 0
    busy, resting = asyncio.create_task(others.run(go.wait, 30)), asyncio.create_task(workers.run(int))
    await asyncio.sleep(3 * threads._IDLE)
    assert not resting.done()
    go.set()
    assert await resting == 0
    assert await busy
    for each in (others, workers):
        await each.close()


async def test_a_full_queue_is_answered_while_health_goes_on(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await connect(threads=1, queue=1)
    go, begun = threading.Event(), threading.Event()

    def slow(_: Index, shape: Callable[[Passages], object], *__: object, **___: object) -> object:
        begun.set()
        go.wait(30)
        return shape(Passages())

    monkeypatch.setattr(Index, "search_as", slow)
    waiting = [asyncio.create_task(client.get("/search?q=loop")) for _ in range(2)]
    await asyncio.to_thread(begun.wait, 30)
    async with asyncio.timeout(30):
        while client.app.state.workers._slots._value:
            await asyncio.sleep(0)
    response = await client.get("/search?q=loop")
    assert error_of(response, 503)["rule"] == "is overloaded"
    assert response.headers["Retry-After"] == "1"
    # Requests that need no thread are answered before earlier ones that do.
    assert (await client.get("/healthz")).status_code == 200
    assert "kinsplit_requests_in_flight 3.0" in (await client.get("/metrics")).text
    assert not any(task.done() for task in waiting)
    go.set()
    assert [(await task).status_code for task in waiting] == [200, 200]
    assert 'rejected_total{reason="queue"} 1.0' in (await client.get("/metrics")).text


async def test_a_search_that_takes_too_long_is_answered(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await connect(timeout=0.2)
    go = threading.Event()
    monkeypatch.setattr(Index, "search_as", lambda *_, **__: go.wait(30))
    assert error_of(await client.get("/search?q=loop"), 504)["rule"] == "took longer than 0.2 s"
    go.set()


async def _parts(number: int, seen: list[int]) -> AsyncIterator[bytes]:
    for i in range(number):
        seen.append(i)
        yield b"x" * 1000


async def test_a_body_is_read_only_so_far(connect: Connect) -> None:
    client = await connect(max_body=10_000)
    declared = await client.post("/chunk", content=b"x" * 10_001)
    assert error_of(declared, 413) == {
        "field": "body",
        "rule": "must be at most 10000 bytes",
        "value": None,
        "remedy": "Send less.",
    }
    for length in ("9" * 30, "99999999999"):
        assert error_of(await client.post("/chunk", content=b"x", headers={"Content-Length": length}), 413)
    # Without Content-Length, and on a path that takes no body.
    for method, path in (("POST", "/chunk"), ("GET", "/search?q=loop"), ("POST", "/nothing")):
        seen: list[int] = []
        assert error_of(await client.request(method, path, content=_parts(1000, seen)), 413)
        assert len(seen) <= 12


async def test_a_body_that_does_not_come_is_not_waited_for(connect: Connect) -> None:
    client = await connect(patience=0.1)
    never = asyncio.Event()

    async def parts() -> AsyncIterator[bytes]:
        yield b"{"
        await never.wait()

    assert error_of(await client.post("/chunk", content=parts()), 408)["field"] == "body"


async def test_a_question_of_ten_megabytes(client: httpx.AsyncClient) -> None:
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/search",
        "raw_path": b"/search",
        "query_string": b"q=" + b"x" * 10_000_000,
        "headers": [(b"host", b"localhost")],
        "scheme": "http",
        "server": ("localhost", 80),
        "root_path": "",
        "client": ("127.0.0.1", 1),
        "http_version": "1.1",
        "asgi": {"version": "3.0"},
    }
    await client.app(scope, receive, send)
    assert sent[0]["status"] == 422
    assert len(sent[1]["body"]) < 400
