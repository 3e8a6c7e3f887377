"""Names that other collections get while the service runs."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kinsplit import Document, Index
from kinsplit.parsers import create
from kinsplit.server.app import create_app
from kinsplit.server.collections import Collections
from kinsplit.stores import open_catalog
from tests.server.conftest import settings_of
from tests.stores.conftest import postgres_server

__all__ = ["postgres_server"]

SUBJECTS = ("owls", "larks", "gulls", "rooks")
VERSIONS = ("first", "second")
#: Switches under load; more show rarer races.
ROUNDS = int(os.environ.get("KINSPLIT_TEST_SWITCHES", "2"))


@pytest.fixture(params=["memory", "postgres"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "memory":
        yield f"memory:{uuid.uuid4()}"
        return
    place = f"pgvector:{request.getfixturevalue('postgres_server')}"
    yield place
    with open_catalog(place) as catalog:
        for info in catalog.collections():
            catalog.drop(info.name)


def fill(address: str, collection: str, version: str) -> None:
    """Index documents whose every sentence names the version, split in another way in each."""
    documents = [
        Document(f"{subject}.txt", " ".join(f"{subject} fly {n} times in the {version} text." for n in range(20)))
        for subject in SUBJECTS
    ]
    size = 12 if version == VERSIONS[0] else 30
    strategy = create("sentence", chunk_size=size, chunk_overlap=0)
    with Index(address, collection=collection, strategy=strategy, embedder="hash") as index:
        index.add(documents)


class Searches:
    """Clients that search all the time, and the versions that they found."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client, self._stopped = client, False
        self.found: Counter[str] = Counter()
        self.mixed: list[Any] = []
        self.failed: list[Any] = []

    async def run(self) -> None:
        number = 0
        while not self._stopped:
            number += 1
            query = {"q": f"how often do {SUBJECTS[number % 4]} fly", "top_k": 4, "window": 2}
            response = await self._client.get("/search", params=query)
            if response.status_code != 200:
                self.failed.append(response.text)
                await asyncio.sleep(0.1)
                continue
            texts = [passage["text"] for passage in response.json()["passages"]]
            versions = {version for version in VERSIONS for text in texts if f"the {version} text" in text}
            if len(versions) == 1:
                self.found.update(versions)
            else:
                self.mixed.append(texts)

    async def until(self, version: str, more: int) -> None:
        """Wait until a version was found some more times."""
        wanted = self.found[version] + more
        async with asyncio.timeout(60):
            while self.found[version] < wanted:
                await asyncio.sleep(0.01)

    def stop(self) -> None:
        self._stopped = True


async def test_a_switch_under_load_causes_no_error_and_no_mixed_answer(address: str, tmp_path: Path) -> None:
    fill(address, "notes", "first")
    settings = settings_of(store=address, collections="notes", answer_timeout=1)
    collections = Collections(settings)
    app = create_app(settings, collections)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        searches = Searches(client)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(2):
                tasks.create_task(searches.run())
            await searches.until("first", 5)
            for round_number in range(ROUNDS):
                old, new = VERSIONS[round_number % 2], VERSIONS[1 - round_number % 2]
                await asyncio.to_thread(fill, address, "next", new)
                with open_catalog(address) as catalog:
                    await asyncio.to_thread(catalog.switch, "notes", "next")
                    # At once, while searches in the old one are running.
                    await asyncio.to_thread(catalog.drop, "next")
                await searches.until(new, 8)
                assert searches.found[old] >= 5
            searches.stop()
    assert searches.failed == []
    assert searches.mixed == []


async def test_answers_follow_and_a_dropped_collection_without_a_successor_is_an_error(tmp_path: Path) -> None:
    address = f"memory:{uuid.uuid4()}"
    fill(address, "notes", "first")
    fill(address, "next", "second")
    collections = Collections(settings_of(store=address, collections="notes"))
    try:
        before = collections.pick("notes")
        with open_catalog(address) as catalog:
            catalog.switch("notes", "next")
        after = collections.follow(before)
        assert after is collections.pick("notes") is collections.default is not before
        assert after.index.strategy != before.index.strategy
        assert before.index.count() > after.index.count()
        assert collections.follow(before) is after is collections.follow(after)
        with open_catalog(address) as catalog:
            catalog.drop("notes")
        assert collections.follow(after) is after
    finally:
        collections.close()
