from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest

from kinsplit import Document, language_models
from kinsplit.errors import InvalidParameterError
from kinsplit.language_models.registry import HashModel
from kinsplit.parsers import Strategy, create, names, strategy_class
from kinsplit.parsers.base import Levels
from kinsplit.server.processes.previews import Previewer, preview
from tests.server.conftest import Connect, error_of

TEXT = "# One\n\nFirst 😀 sentence here. A second one follows it. A third closes.\n\n# Two\n\nMore words. They end.\n"


@pytest.mark.parametrize("name", names())
async def test_every_strategy_cuts_as_it_does_elsewhere(client: httpx.AsyncClient, name: str) -> None:
    own: dict[str, Any] = {"llm": {"model": "none"}}.get(name, {})
    if name in ("semantic", "cluster"):
        pytest.skip("reads the bundled model; its preview is the same code")
    response = await client.post("/chunk", json={"text": TEXT, "strategy": name.upper(), "parameters": own})
    assert response.status_code == 200, response.text
    expected = create(name, **own).chunk(Document("text", TEXT))
    answer = response.json()
    assert [(c["level"], c["start"], c["end"], c["text"]) for c in answer["chunks"]] == [
        (c.level, c.start, c.end, c.text) for c in expected
    ]
    units = TEXT.encode("utf-16-le")
    for chunk in answer["chunks"]:
        parts = [
            units[2 * place["utf16_start"] : 2 * place["utf16_end"]].decode("utf-16-le") for place in chunk["ranges"]
        ]
        assert "".join(parts) == chunk["text"]


async def test_blank_text_makes_no_chunk(client: httpx.AsyncClient) -> None:
    assert (await client.post("/chunk", json={"text": " \n"})).json()["chunks"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": 5}, "text"),
        ({"text": "x" * 200_001}, "text"),
        ({"text": "x", "strategy": "nonsense"}, "strategy"),
        ({"text": "x", "strategy": ["word"]}, "strategy"),
        ({"text": "x", "parameters": {"chunk_size": 0}}, "chunk_size"),
        ({"text": "x", "parameters": {"chunk_size": "10"}}, "chunk_size"),
        ({"text": "x", "parameters": {"chunk_size": 10**400}}, "chunk_size"),
        ({"text": "x", "parameters": {"nonsense": 1}}, "nonsense"),
        ({"text": "x", "parameters": []}, "parameters"),
        ({"text": "x", "else": 1}, "else"),
        # Resources that have to be loaded can't be chosen.
        ({"text": "x", "parameters": {"tokenizer": "/etc/passwd"}}, "tokenizer"),
        ({"text": "x", "parameters": {"tokenizer": "hf:BAAI/bge-m3"}}, "tokenizer"),
        ({"text": "x", "parameters": {"tokenizer": ["bundled"]}}, "tokenizer"),
        ({"text": "x", "strategy": "semantic", "parameters": {"embedder": "st:/tmp/x"}}, "embedder"),
        ({"text": "x", "strategy": "llm", "parameters": {"model": "ollama:llama3"}}, "model"),
        ({"text": "x", "strategy": "llm", "parameters": {"concurrency": 200}}, "concurrency"),
    ],
)
async def test_wrong_bodies(client: httpx.AsyncClient, body: dict[str, Any], field: str) -> None:
    assert error_of(await client.post("/chunk", json=body), 422)["field"] == field


async def test_a_preview_asks_no_model_unless_the_service_has_one(client: httpx.AsyncClient) -> None:
    answer = (await client.post("/chunk", json={"text": TEXT, "strategy": "llm"})).json()
    assert answer["parameters"]["model"] == "none"


async def test_a_preview_that_asks_a_model_keeps_nobody_waiting(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()
    asked: list[str] = []

    class Slow(HashModel):
        def complete(self, prompt: str, *given: Any, **named: Any) -> str:
            asked.append(prompt)
            begun.set()
            go.wait(30)
            return super().complete(prompt, *given, **named)

    monkeypatch.setattr(language_models, "resolve", lambda *_: Slow())
    client = await connect(model="hash", threads=1, queue=0)
    body = {"text": TEXT, "strategy": "llm", "parameters": {"chunk_size": 5}}
    preview = asyncio.create_task(client.post("/chunk", json=body))
    assert await asyncio.to_thread(begun.wait, 30)
    assert (await client.get("/search?q=loop")).status_code == 200
    go.set()
    answer = (await preview).json()
    assert answer["parameters"]["model"] == "hash"
    assert answer["chunks"]
    assert asked


def process_of(previewer: Previewer) -> int:
    (worker,) = previewer._pool._watchdog.workers
    return worker._process.pid


async def test_a_long_preview_keeps_no_search_waiting(connect: Connect, previewer: Previewer) -> None:
    client = await connect(threads=1, queue=1)
    body = {"text": TEXT, "strategy": "word"}
    assert (await client.post("/chunk", json=body)).status_code == 200
    os.kill(process_of(previewer), signal.SIGSTOP)
    previews = [asyncio.create_task(client.post("/chunk", json=body)) for _ in range(2)]
    await asyncio.sleep(0.1)
    assert (await client.get("/search?q=loop")).status_code == 200
    assert not any(task.done() for task in previews)
    os.kill(process_of(previewer), signal.SIGCONT)
    assert [(await preview).status_code for preview in previews] == [200, 200]


async def test_a_preview_has_its_time_and_its_memory_taken_away(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await connect(timeout=60)
    own = Previewer(20, memory_limit=4 * 2**20)
    monkeypatch.setattr(client.app.state, "previewer", own)
    large = {"text": "It rains. " * 20_000, "strategy": "sentence"}
    try:
        error = error_of(await client.post("/chunk", json=large), 422)
        assert (error["field"], error["rule"]) == (
            *("parameters", "can't be previewed, since it needs more than 4 MiB of memory"),
        )
        # The next preview has a new process.
        small = {"text": TEXT, "strategy": "word"}
        assert (await client.post("/chunk", json=small)).status_code == 200
        own._pool._limits = replace(own._pool._limits, time=0.2)
        os.kill(process_of(own), signal.SIGSTOP)
        assert error_of(await client.post("/chunk", json=small), 504)["rule"] == "took longer than 0.2 s"
    finally:
        own.close()


@pytest.mark.parametrize(("strategy", "field"), [("hierarchical", "parent_size"), ("multigranular", "chunk_sizes")])
async def test_a_hundred_thousand_levels_are_refused(client: httpx.AsyncClient, strategy: str, field: str) -> None:
    sizes = sorted(range(300, 100_300), reverse=strategy == "hierarchical")
    body = {"text": TEXT, "strategy": strategy, "parameters": {field: sizes}}
    error = error_of(await client.post("/chunk", json=body), 422)
    assert error["field"] == field
    assert "at most 16 items" in error["rule"]


async def test_a_preview_asks_a_model_only_so_often(connect: Connect) -> None:
    client = await connect(model="hash")
    text = " ".join(f"This is sentence number {number}." for number in range(400))
    body = {"text": text, "strategy": "llm", "parameters": {"segment_size": 30}}
    error = error_of(await client.post("/chunk", json=body), 422)
    assert (error["field"], error["rule"]) == ("text", "must need at most 40 calls of the language model")


def test_a_text_is_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = strategy_class("sentence")
    asked: list[list[str]] = []
    cut = kind._cut_outlined

    def recorded(self: Strategy, documents: Sequence[Document]) -> list[Levels]:
        asked.append([document.text for document in documents])
        return cut(self, documents)

    monkeypatch.setattr(kind, "_cut_outlined", recorded)
    assert json.loads(preview(create("sentence"), TEXT))["chunks"]
    assert asked == [[TEXT]]


async def test_a_little_text_can_not_make_a_large_answer(client: httpx.AsyncClient) -> None:
    parameters = {"chunk_size": 5000, "chunk_overlap": 4999}
    body = {"text": "ab " * 30_000, "strategy": "character", "parameters": parameters}
    assert error_of(await client.post("/chunk", json=body), 422)["field"] == "parameters"


@pytest.mark.parametrize("strategy", ["character", "token", "word"])
def test_far_too_many_windows_are_refused_before_any_is_made(monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    monkeypatch.setattr(strategy_class(strategy), "_cut", lambda self, texts: pytest.fail("It was cut."))
    with pytest.raises(InvalidParameterError, match=r"must make at most 5000 chunks .*about [1-9][0-9]{4} chunks"):
        preview(create(strategy, chunk_size=100, chunk_overlap=99), "ab " * 25_000)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"text": "x", "parameters": {"a": ' + b"[" * 500 + b"]" * 500 + b"}}",
        b'{"text": "\\ud800"}',
        b'{"text": "\xff"}',
        b'{"text": "x", "parameters": {"chunk_size": NaN}}',
        b'{"text": "x", "parameters": {"chunk_size": 1e999}}',
        b'{"text": "x", "parameters": {"chunk_size": ' + b"9" * 10_000 + b"}}",
        b'{"text": "x", "parameters": {"\\ud800": 1}}',
        b"null",
        b"\x00",
    ],
)
async def test_bodies_that_are_none(client: httpx.AsyncClient, content: bytes) -> None:
    response = await client.post("/chunk", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in (400, 422)
    assert error_of(response, response.status_code)["field"] != "path"


async def test_a_body_has_to_be_announced_as_json(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}  # As curl sends what follows -d.
    error = error_of(await client.post("/chunk", content=b'{"text": "x"}', headers=headers), 422)
    assert (error["field"], error["remedy"]) == ("body", "Send JSON with the header Content-Type: application/json.")


async def test_nul_is_a_character_like_others(client: httpx.AsyncClient) -> None:
    answer = (await client.post("/chunk", json={"text": "One\x00two three."})).json()
    assert [chunk["text"] for chunk in answer["chunks"]] == ["One\x00two three."]


async def test_strategies_say_what_can_be_chosen(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/strategies")).json()
    assert [row["name"] for row in answer["strategies"]] == names()
    settable = {row["name"]: {p["name"]: p["settable"] for p in row["parameters"]} for row in answer["strategies"]}
    assert settable["semantic"]["embedder"] is settable["word"]["tokenizer"] is False
    assert settable["word"]["chunk_size"] is True
    first, second = answer["indexed"]
    assert (first["name"], first["collection"], first["strategy"], first["default"]) == (
        *("sentence", "by-sentence", "sentence", True),
    )
    assert (second["name"], second["default"], second["documents"]) == ("word", False, 3)
    assert first["parameters"]["chunk_size"] == 12
    assert [row["name"] for row in answer["rankings"]] == ["kin", "hybrid", "dense", "terms"]
    assert answer["rerankers"] == ["none"]  # The embedder of these tests has no vectors for tokens.
