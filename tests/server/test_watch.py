"""A service that keeps a collection in sync with a folder."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Index
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import InvalidParameterError, KinsplitError
from kinsplit.server.collections import Collections
from kinsplit.watch import BackgroundWatch
from tests.server.conftest import Connect, error_of, settings_of


async def until(holds: Callable[[], Awaitable[Any]]) -> Any:
    end = time.monotonic() + 60
    while not (result := await holds()):
        assert time.monotonic() < end, "it never came to be"
        await asyncio.sleep(0.05)
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watched"
    made.mkdir()
    return made


async def test_files_are_found_while_the_service_runs_and_its_state_is_shown(
    connect: Connect, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("kinsplit.server").propagate = True
    (folder / "birds.md").write_text("Owls hunt at night.")
    # None of the collections exists yet.
    client = await connect(store="memory:watched", collections="new,other=old", watch=f"other={folder}")

    async def state() -> dict[str, Any]:
        rows = (await client.get("/strategies")).json()["indexed"]
        assert rows[0]["watches"] == []
        (watch,) = rows[1]["watches"]
        return dict(watch)

    async def ids() -> list[str]:
        rows = (await client.get("/documents?strategy=other")).json()["documents"]
        return [row["id"] for row in rows]

    await until(lambda: _is(ids, ["watched/birds.md"]))
    found = await client.get("/search", params={"q": "owls", "strategy": "other"})
    assert found.json()["passages"][0]["source_id"] == "watched/birds.md"
    error_of(await client.get("/search", params={"q": "owls"}), 503)  # Still empty.
    (folder / "birds.md").unlink()
    (folder / "fish.md").write_text("Sharks smell blood.")
    (folder / "broken.pdf").write_bytes(b"nonsense")
    await until(lambda: _is(ids, ["watched/fish.md"]))
    shown = await until(lambda: _with(state, "failed"))
    assert shown["failed"] == ["watched/broken.pdf"]
    assert shown["state"] == "waiting"
    metrics = (await client.get("/metrics")).text
    assert 'kinsplit_watch_failed_files{collection="other"} 1.0' in metrics
    assert 'kinsplit_watch_updates_total{collection="other"}' in metrics
    facts = [getattr(record, "facts", {}) for record in caplog.records]
    assert any(each.get("error") == "LoadError" for each in facts)
    assert str(folder) not in json.dumps(facts)
    (folder / "broken.pdf").unlink()
    await until(lambda: _without(state, "failed"))


async def _is(read: Callable[[], Awaitable[Any]], expected: object) -> bool:
    return bool(await read() == expected)


async def _with(state: Callable[[], Awaitable[dict[str, Any]]], key: str) -> dict[str, Any] | None:
    shown = await state()
    return shown if shown[key] else None


async def _without(state: Callable[[], Awaitable[dict[str, Any]]], key: str) -> bool:
    return not (await state())[key]


def test_an_attempt_that_fails_is_told_once_and_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "birds.md").write_text("Owls hunt at night.")
    add, failures = Index.add, [KinsplitError("The disk is full."), KinsplitError("The disk is full."), OSError("odd")]

    def fail(self: Index, *items: Any, **options: Any) -> Any:
        if failures:
            raise failures.pop(0)
        return add(self, *items, **options)

    monkeypatch.setattr(Index, "add", fail)
    errors: list[Exception] = []
    with Index("memory:", embedder="hash") as index:
        watch = BackgroundWatch(index, [folder], settle=0.1, on_error=errors.append, pause=0.05)
        watch.start()
        end = time.monotonic() + 60
        while not watch.status.updates:
            assert time.monotonic() < end
            time.sleep(0.02)
        watch.stop()
    assert [str(error) for error in errors] == ["The disk is full.", "odd"]
    assert (watch.status.state, watch.status.updates, watch.status.error) == ("stopped", 1, None)


def test_a_folder_that_does_not_exist_stops_the_service() -> None:
    with pytest.raises(InvalidParameterError, match="must be an existing folder"):
        Collections(settings_of(watch="nowhere"))


async def test_a_refused_row_of_a_file_is_told_until_the_file_is_mended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = HashEmbedder.embed

    def embed(self: HashEmbedder, texts: Sequence[str], progress: Any = None) -> Any:
        if any("POISON" in text for text in texts):
            raise RuntimeError("413 input too large")
        return whole(self, texts, progress)

    monkeypatch.setattr(HashEmbedder, "embed", embed)
    rows = [{"docid": "owls", "text": "Owls hunt."}, {"docid": "eels", "text": "POISON."}]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with Index("memory:", embedder="hash") as index:
        watch = BackgroundWatch(index, [folder], settle=0.1, pause=0.05)
        watch.start()

        async def failed() -> list[str]:
            return list(watch.status.failed)

        async def stored() -> list[str]:
            return list(index.store.sources())

        await until(lambda: _is(failed, ["eels"]))
        assert await stored() == ["owls"]
        (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)).replace("POISON", "Eels swim"))
        await until(lambda: _is(stored, ["eels", "owls"]))
        await until(lambda: _is(failed, []))
        await asyncio.to_thread(watch.stop)
