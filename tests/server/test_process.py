"""The service on a socket: slow, numerous and disconnected clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, Response

from kinsplit import Document, Index
from kinsplit.retrieval import Passages
from tests.cli.conftest import environment, run_command
from tests.server.conftest import serving

MakeApp = Callable[..., FastAPI]
pytestmark = pytest.mark.usefixtures("socket_enabled")


def connect_to(address: str, source: str = "127.0.0.1") -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=30, source_address=(source, 0))


def test_clients_that_do_not_finish_a_head_are_cut_off(make_app: MakeApp) -> None:
    with serving(make_app(patience=0.3)) as address:
        silent, slow = connect_to(address), connect_to(address)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        assert httpx.get(f"{address}/healthz").status_code == 200
        for client in (silent, slow):
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(100) == b""
            client.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: loc",
        b"POST /chunk HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal",
    ],
    ids=["silent", "half a head", "half a body", "one request and half a head"],
)
def test_connections_without_a_request_give_way_to_others(make_app: MakeApp, sent: bytes) -> None:
    app, head = make_app(connections=64, patience=60), b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    with serving(app) as address, contextlib.ExitStack() as stack:
        # Older than all others, but the only connection of its address.
        slow = stack.enter_context(connect_to(address, "127.0.0.3"))
        slow.sendall(head)
        assert httpx.get(f"{address}/healthz").status_code == 200
        crowd = [stack.enter_context(connect_to(address)) for _ in range(130)]
        for each in crowd:
            with contextlib.suppress(OSError):  # Closed already.
                each.sendall(sent)
            if each is crowd[-100]:
                for source in ("127.0.0.1", "127.0.0.2"):
                    with connect_to(address, source) as other:
                        other.sendall(head + b"\r\n")
                        assert other.recv(100).startswith(b"HTTP/1.1 200")
        slow.sendall(b"\r\n")
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
        assert app.state.collections.metrics.rejected.labels("crowd")._value.get() >= 130 - 64


def test_a_second_head_on_a_connection_is_not_waited_for_either(make_app: MakeApp) -> None:
    with serving(make_app(patience=0.3)) as address, connect_to(address) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b'{"status":"ok"}'):
            answer += client.recv(10_000)
        client.sendall(b"GET /heal")
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(100) == b""


def test_a_body_that_comes_too_slowly_is_answered(make_app: MakeApp) -> None:
    with serving(make_app(patience=0.3)) as address, connect_to(address) as client:
        client.sendall(b"POST /chunk HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert client.recv(10_000).startswith(b"HTTP/1.1 408")


def test_a_client_that_takes_nothing_of_its_answer_is_cut_off(make_app: MakeApp) -> None:
    app = make_app(patience=0.3)

    @app.get("/large")
    async def answer() -> Response:
        return Response(b"x" * 50_000_000)

    with serving(app) as address, connect_to(address) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(200):
            if 'rejected_total{reason="slow"} 1.0' in httpx.get(f"{address}/metrics").text:
                break
            time.sleep(0.05)
        else:
            pytest.fail("It was not cut off.")
        received = 0
        with contextlib.suppress(ConnectionResetError):
            while part := client.recv(1_000_000):
                received += len(part)
        assert received < 50_000_000


def test_a_slow_client_that_takes_something_gets_all(make_app: MakeApp) -> None:
    app = make_app(patience=0.3)

    @app.get("/large")
    async def answer() -> Response:
        return Response(b"x" * 8_000_000, headers={"Connection": "close"})

    with serving(app) as address, connect_to(address) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 100_000)
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = 0
        while part := client.recv(1_000_000):
            received += len(part)
            time.sleep(0.02)
    assert received > 8_000_000


@pytest.mark.parametrize(
    "head",
    [
        b"GET /search?q=" + b"x" * 10_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"GET /search?q=\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /chunk HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        b"POST /chunk HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
    ],
)
def test_heads_that_are_none(make_app: MakeApp, head: bytes) -> None:
    with serving(make_app()) as address:
        with connect_to(address) as client:
            answer = b""
            try:
                client.sendall(head)
                answer = client.recv(100)
            except (BrokenPipeError, ConnectionResetError):
                pass  # The service responded and closed the connection during the request.
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
        assert httpx.get(f"{address}/healthz").status_code == 200


async def test_sixty_clients_lose_nothing_and_health_goes_first(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, begun, go = Index.search_as, threading.Event(), threading.Event()

    def held(self: Index, shape: Callable[[Passages], object], query: str, **options: object) -> object:
        begun.set()
        go.wait(60)
        return search(self, shape, query, **options)

    monkeypatch.setattr(Index, "search_as", held)
    with serving(make_app(threads=2)) as address:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
            searches = [
                asyncio.create_task(client.get("/search", params={"q": f"loop {i}", "top_k": 1})) for i in range(60)
            ]
            assert await asyncio.to_thread(begun.wait, 60)
            assert (await client.get("/healthz")).status_code == 200
            # It did not wait for the earlier requests.
            assert not any(task.done() for task in searches)
            go.set()
            answers = [await task for task in searches]
    assert [answer.status_code for answer in answers] == [200] * 60
    assert [answer.json()["query"] for answer in answers] == [f"loop {i}" for i in range(60)]


def test_what_waits_for_a_client_that_left_is_not_done(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    go, begun, asked = threading.Event(), threading.Event(), []

    def slow(_: Index, shape: Callable[[Passages], object], query: str, **__: object) -> object:
        asked.append(query)
        begun.set()
        go.wait(30)
        return shape(Passages())

    monkeypatch.setattr(Index, "search_as", slow)
    app = make_app(threads=1, queue=1)
    with serving(app) as address:

        def ask(query: str) -> socket.socket:
            client = connect_to(address)
            client.sendall(f"GET /search?q={query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            return client

        first = ask("first")
        assert begun.wait(30)
        for query in ("l", "lo", "loo"):
            with ask(query):
                until(lambda: app.state.workers._slots._value == 0)
            # The queue has a free slot again, although no search has finished.
            until(lambda: app.state.workers._slots._value == 1)
        last = ask("loop")
        go.set()
        for client in (first, last):
            assert client.recv(100).startswith(b"HTTP/1.1 200")
            client.close()
        text = httpx.get(f"{address}/metrics").text
    assert asked == ["first", "loop"]
    assert 'kinsplit_request_seconds_count{method="GET",route="/search",status="499"} 3.0' in text


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.005)


async def test_what_is_under_way_is_finished_when_the_service_stops(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, begun = threading.Event(), threading.Event()
    app = make_app()
    search = Index.search_as

    def slow(self: Index, shape: Callable[[Passages], object], query: str, **options: object) -> object:
        if query == "slow":
            begun.set()
            go.wait(30)
        return search(self, shape, query, **options)

    monkeypatch.setattr(Index, "search_as", slow)
    async with httpx.AsyncClient(timeout=30) as client:
        service = serving(app)
        address = service.__enter__()
        asked = asyncio.create_task(client.get(f"{address}/search?q=slow"))
        assert await asyncio.to_thread(begun.wait, 30)
        stopping = asyncio.create_task(asyncio.to_thread(service.__exit__, None, None, None))
        await asyncio.sleep(0.2)
        go.set()
        assert (await asked).status_code == 200
        await stopping


@pytest.fixture
def stored(tmp_path: Path) -> str:
    store = f"edge:{tmp_path / 'kinsplit-data'}"
    with Index(store, collection="demo", embedder="hash") as index:
        index.add(Document("loops.md", "A loop repeats. A while loop asks first."))
    return store


def _serve(tmp_path: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    code = "from kinsplit.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0", "--embedder", "hash", *arguments],
        cwd=tmp_path,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_one_command_finds_the_demo_warns_and_says_where_it_listens(tmp_path: Path, stored: str) -> None:
    with _serve(tmp_path, "--json", "--host", "0.0.0.0", KINSPLIT_APIKEYS="sesame") as process:
        try:
            started = json.loads(process.stdout.readline())
            assert started["collections"] == [{"name": "sentence", "collection": "demo", "documents": 1}]
            answer = httpx.get(f"{started['address']}/search?q=secret+loop").json()
            assert answer["passages"][0]["source_id"] == "loops.md"
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGTERM)
    misspelt, is_open, line = [json.loads(line) for line in errors.splitlines()]
    assert misspelt["warning"].startswith("KINSPLIT_APIKEYS is not a setting.")
    assert is_open["warning"].startswith("Anyone who can reach 0.0.0.0 can read")
    assert (line["event"], line["route"], line["status"]) == ("request", "/search", 200)
    assert "sesame" not in errors


def test_a_key_closes_an_open_address_and_a_start_is_shown_in_words(tmp_path: Path, stored: str) -> None:
    with _serve(tmp_path, "--host", "0.0.0.0", KINSPLIT_API_KEYS="sesame") as process:
        first, second = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert first == "Collection demo: 1 document, strategy=sentence\n"
    assert second.startswith("Listening on http://127.0.0.1:")
    assert errors == ""


def test_an_engine_that_works_for_long_holds_nothing_else_up(make_app: MakeApp, stored: str) -> None:
    app = make_app(store=stored, collections="demo")
    (collection,) = app.state.collections
    (engine,) = collection.index.store._pool._watchdog.workers
    with serving(app) as address, connect_to(address) as client:
        os.kill(engine._process.pid, signal.SIGSTOP)
        client.sendall(b"GET /search?q=loop HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: app.state.collections.metrics.in_flight._value.get() == 1)
        assert httpx.get(f"{address}/healthz").status_code == 200
        os.kill(engine._process.pid, signal.SIGCONT)
        assert client.recv(100).startswith(b"HTTP/1.1 200")


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    def fails(*arguments: str) -> str:
        result = run_command("serve", "--port", "0", "--embedder", "hash", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.count("\n") == 1
        assert list(tmp_path.iterdir()) == []
        return result.stderr

    missing = "Error: There is neither a collection 'default' nor 'demo' in edge:./kinsplit-data."
    assert fails().startswith(missing)
    assert fails("--config", "nothing.toml").startswith("Error: nothing.toml: No such file")
    for host in ("192.0.2.1", "a..b", "\x87o", "x" * 300):
        assert fails("--host", host).startswith("Error: host: must be an address of this machine")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert fails("--port", port) == (
            f"Error: port: is already in use (got {port}). Stop the program that uses it, or choose another port; "
            "--port 0 picks a free one.\n"
        )
