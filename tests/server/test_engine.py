"""The service over an embedded store, whose engine has a process of its own: writes, watches and killed processes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from kinsplit import Document, Index
from tests.server.conftest import Connect
from tests.server.test_watch import until

TOPICS = ("owls", "eels", "larks", "newts")


@pytest.fixture
def stored(tmp_path: Path) -> str:
    store = f"edge:{tmp_path / 'kinsplit-data'}"
    with Index(store, collection="kept", embedder="hash") as index:
        index.add([Document(f"{topic}.md", f"All about {topic}, edition 0.") for topic in TOPICS])
    return store


def engine_of(client: httpx.AsyncClient) -> int:
    """Return the id of the process of the only collection's engine."""
    (collection,) = client.app.state.collections  # type: ignore[attr-defined]
    (worker,) = collection.index.store._pool._watchdog.workers
    return int(worker._process.pid)


async def found(client: httpx.AsyncClient, topic: str) -> str:
    """Return the text that is found first."""
    response = await client.get("/search", params={"q": f"about {topic}", "top_k": 1, "window": 0})
    assert response.status_code == 200, response.text
    return str(response.json()["passages"][0]["text"])


@asynccontextmanager
async def searching(client: httpx.AsyncClient) -> AsyncIterator[list[str]]:
    """Search with eight clients while the block runs, and yield the list of what they find."""
    texts, over = list[str](), asyncio.Event()

    async def ask(number: int) -> None:
        while not over.is_set():
            texts.append(await found(client, TOPICS[number % len(TOPICS)]))

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(ask(number))
        try:
            yield texts
        finally:
            over.set()


async def test_searches_go_on_during_writes_and_find_what_was_written(connect: Connect, stored: str) -> None:
    client = await connect(store=stored, collections="kept")
    (collection,) = client.app.state.collections
    async with searching(client) as texts:
        for edition in range(1, 9):
            documents = [Document(f"{topic}.md", f"All about {topic}, edition {edition}.") for topic in TOPICS]
            await asyncio.to_thread(collection.index.add, documents)
            for topic in TOPICS:
                assert await found(client, topic) == f"All about {topic}, edition {edition}."
    assert {text.partition(",")[0] for text in texts} == {f"All about {topic}" for topic in TOPICS}


async def test_searches_go_on_while_a_folder_is_watched(connect: Connect, stored: str, tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    folder.mkdir()
    client = await connect(store=stored, collections="kept", watch=str(folder))
    async with searching(client) as texts:
        for edition in range(1, 3):
            wanted = f"Herons stand in water, edition {edition}."
            (folder / "herons.md").write_text(wanted)

            async def is_found(wanted: str = wanted) -> bool:
                return await found(client, "herons in water") == wanted

            await until(is_found)
    assert texts


async def test_no_search_fails_when_the_engine_is_killed(connect: Connect, stored: str) -> None:
    client = await connect(store=stored, collections="kept")
    (collection,) = client.app.state.collections
    async with searching(client) as texts:
        for edition in range(1, 4):
            written = Document("owls.md", f"All about owls, edition {edition}.")
            await asyncio.to_thread(collection.index.add, written)
            before = engine_of(client)
            os.kill(before, signal.SIGKILL)
            assert await found(client, "owls") == written.text
            assert engine_of(client) != before
    assert {text.partition(",")[0] for text in texts} == {f"All about {topic}" for topic in TOPICS}


async def test_a_write_whose_engine_is_killed_is_made_again_by_the_watch(
    connect: Connect, stored: str, tmp_path: Path
) -> None:
    folder = tmp_path / "birds"
    folder.mkdir()
    (folder / "herons.md").write_text("Herons stand in water.")
    client = await connect(store=stored, collections="kept", watch=str(folder))
    (collection,) = client.app.state.collections
    (watch,) = collection.watches

    async def is_found() -> bool:
        return await found(client, "herons in water") == "Herons stand in water."

    await until(is_found)
    watch._pause = 0.1
    store, sync = collection.index.store, []

    def killed(*args: object, **kwargs: object) -> object:
        sync.append(os.kill(engine_of(client), signal.SIGKILL))
        del store.sync
        return store._call("sync", *args, **kwargs)

    store.sync = killed
    (folder / "herons.md").write_text("Herons stand in water for hours.")

    async def is_new() -> bool:
        return await found(client, "herons in water") == "Herons stand in water for hours."

    await until(is_new)
    assert len(sync) == 1
