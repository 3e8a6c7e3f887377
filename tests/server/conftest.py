from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette

from kinsplit import Document, Index
from kinsplit.parsers import create
from kinsplit.server.app import create_app
from kinsplit.server.collections import Collections
from kinsplit.server.processes.previews import Previewer
from kinsplit.server.run import address_of, listen, make_server
from kinsplit.server.settings import ServiceSettings

STORE = "memory:service-tests"
LOOPS = "# Loops\n\nA loop repeats. 😀 A while loop asks first.\n\n\n# Counting\n\nA for loop counts. It ends itself.\n"
SCRIPT = "<script>alert('x')</script> Rabbits ran through the <b>garden</b>. Alice met them there."
HOME = "/home/somebody/secret"


@pytest.fixture(scope="session", autouse=True)
def indexed() -> Iterator[None]:
    """The same documents, split by two strategies, in memory stores of this process."""
    documents = [
        Document("course/loops.md", LOOPS, {"course": "cs", "year": 2024, "absolute_path": f"{HOME}/loops.md"}),
        Document("course/alice, ch. 1?.txt", SCRIPT, {"course": "math", "year": 2020}),
        Document("gaps.txt", "   First words here.   \n\n\n   Second words there.  "),
    ]
    kept = []
    for collection, strategy in (
        ("by-word", create("word", chunk_size=6)),
        ("by-sentence", create("sentence", chunk_size=12, chunk_overlap=0)),
    ):
        kept.append(Index(STORE, collection=collection, strategy=strategy, embedder="hash"))
        report = kept[-1].add([Document(d.id, d.text, {}) for d in documents[2:]])
        assert not report.failed
        report = kept[-1].add(documents[:2])
        assert not report.failed
    yield
    for index in kept:
        index.close()


@contextmanager
def clean_environment(folder: Path) -> Iterator[None]:
    """Run the block in a folder without `.env`, and without settings in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("STRATEGY", *(f"KINSPLIT_{field.upper()}" for field in ServiceSettings.model_fields)):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def nothing_around(tmp_path: Path) -> Iterator[None]:
    with clean_environment(tmp_path):
        yield


def settings_of(**given: Any) -> ServiceSettings:
    return ServiceSettings.load(
        **{
            "store": STORE,
            "collections": "by-sentence,by-word",
            "embedder": "hash",
            "port": 0,
            "threads": 2,
            "patience": 5,
            **given,
        }
    )


@pytest.fixture(scope="session")
def previewer() -> Iterator[Previewer]:
    """One previewer for all applications, since its process takes a while to start."""
    made = Previewer(120)
    yield made
    made.close()


@pytest.fixture
def make_app(previewer: Previewer) -> Iterator[Callable[..., FastAPI]]:
    """Return a function that makes applications with settings; they are closed at the end."""
    made: list[Collections] = []

    def make(**given: Any) -> FastAPI:
        settings = settings_of(**given)
        collections = Collections(settings)
        made.append(collections)
        return create_app(settings, collections, previewer)

    yield make
    for collections in made:
        collections.close()


Connect = Callable[..., Any]


@pytest.fixture
async def connect(make_app: Callable[..., FastAPI]) -> AsyncIterator[Connect]:
    """Return a function that starts an application and returns a client of it."""
    async with AsyncExitStack() as stack:

        async def start(raises: bool = True, **given: Any) -> httpx.AsyncClient:
            app = make_app(**given)
            await stack.enter_async_context(app.router.lifespan_context(app))
            transport = httpx.ASGITransport(app, raise_app_exceptions=raises)
            client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
            client.app = app  # type: ignore[attr-defined]
            return await stack.enter_async_context(client)

        yield start


@pytest.fixture
async def client(connect: Connect) -> httpx.AsyncClient:
    return await connect()


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """Run an application on this machine, and yield its address."""
    settings, ready = app.state.settings, threading.Event()
    server = make_server(app, settings, app.state.collections.metrics, ready.set)
    with listen(settings) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert ready.wait(30)
            yield address_of(listening)
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


def error_of(response: httpx.Response, status: int) -> dict[str, Any]:
    """Return the error of a response, and check its shape."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    (error,) = response.json().values()
    assert set(error) == {"field", "rule", "value", "remedy"}
    assert HOME not in response.text
    return error
