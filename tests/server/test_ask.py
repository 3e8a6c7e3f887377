from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from kinsplit.errors import LanguageModelError
from tests.server.conftest import Connect, error_of, serving

ANSWER = "A while loop asks first. 😀 [1] A for loop counts [2]. It flies [9]."


class Model:
    """A language model with a given answer."""

    name, identity, window = "model", None, 4000

    def __init__(self, pieces: Callable[[], Iterator[str]]) -> None:
        self._pieces = pieces

    def complete(self, prompt: str, **_: object) -> str:
        return "".join(self._pieces())

    def stream(self, prompt: str, max_tokens: int | None = None) -> Generator[str, None, bool]:
        yield from self._pieces()
        return False


def events_of(response: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["X-Accel-Buffering"] == "no"
    events = []
    for block in response.text.split("\n\n")[:-1]:
        name, data = block.split("\n")
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return events


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Iterator[str]]], None]:
    """Return a function that replaces the model of the settings by one with a given answer."""

    def use(pieces: Callable[[], Iterator[str]]) -> None:
        monkeypatch.setattr("kinsplit.language_models.resolve", lambda *_: Model(pieces))

    return use


async def test_an_answer_comes_with_places_in_both_units(connect: Connect, says: Callable[..., None]) -> None:
    says(lambda: iter([ANSWER[:10], ANSWER[10:40], ANSWER[40:]]))
    client = await connect(model="ollama:any")
    events = events_of(await client.post("/ask", json={"question": "What does a while loop do?", "window": 0}))
    names = [name for name, _ in events]
    assert (names[0], names[-1]) == ("sources", "finished")
    texts = "".join(data["text"] for name, data in events if name in ("text", "citation"))
    answer = events[-1][1]
    assert texts == answer["text"] == ANSWER
    units = ANSWER.encode("utf-16-le")
    sources = {source["number"]: source for source in events[0][1]["sources"]}
    found = [each for name, data in events if name == "citation" for each in data["citations"]]
    assert [each["number"] for each in found] == [1, 2, 9]
    for citation in (*found, *answer["citations"]):
        start, end = citation["utf16_at"]
        assert units[2 * start : 2 * end].decode("utf-16-le") == f"[{citation['number']}]"
    for evidence in (each for check in answer["checks"] for each in check["evidence"]):
        (place,) = evidence["ranges"]
        assert sources[evidence["number"]]["text"][place["start"] : place["end"]] == evidence["text"]


async def test_without_a_model_the_best_sentences_are_quoted(client: httpx.AsyncClient) -> None:
    body = {"question": "What does a while loop do?", "strategy": "WORD", "where": {"course": "cs"}}
    *_, (name, answer) = events_of(await client.post("/ask", json=body))
    assert (name, answer["verdict"], answer["model"]) == ("finished", "quoted", None)
    assert {source["source_id"] for source in answer["sources"]} == {"course/loops.md"}


async def test_a_model_that_fails_is_told_without_its_address(connect: Connect, says: Callable[..., None]) -> None:
    def fail() -> Iterator[str]:
        yield "A while loop "
        raise LanguageModelError("http://10.0.0.5:11434 is gone")

    says(fail)
    client = await connect(model="ollama:any")
    response = await client.post("/ask", json={"question": "What does a while loop do?"})
    assert "10.0.0.5" not in response.text
    *_, (name, answer) = events_of(response)
    assert (name, [notice["kind"] for notice in answer["notices"]]) == ("finished", ["model_failed"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "question"),
        ({"question": ""}, "question"),
        ({"question": " "}, "question"),
        ({"question": "x" * 2001}, "question"),
        ({"question": "x", "top_k": 0}, "top_k"),
        ({"question": "x", "strategy": "semantic"}, "strategy"),
        ({"question": "x", "rerank": "llm:ollama:llama3"}, "rerank"),
        ({"question": "x", "where": {"absolute_path": "/etc"}}, "where"),
        ({"question": "x", "where": ["nonsense"]}, "where"),
        ({"question": "x", "where": {"$near": 1}}, "where"),
        ({"question": "x", "where": {"$or": [{f"key{i}": i} for i in range(33)]}}, "where"),
        ({"question": "x", "where": {"$or": [{"a": i} for i in range(9_000)]}}, "where"),
        ({"question": "x", "model": "openai:gpt"}, "model"),
    ],
)
async def test_mistakes_are_answered_before_anything_is_said(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    assert error_of(await client.post("/ask", json=body), 422)["field"] == field


async def test_only_so_many_answers_at_once(connect: Connect, says: Callable[..., None]) -> None:
    go = threading.Event()

    def wait() -> Iterator[str]:
        go.wait(30)
        yield "A loop repeats [1]."

    says(wait)
    client = await connect(model="ollama:any", answers=1)
    body = {"question": "What does a loop do?"}
    first = asyncio.create_task(client.post("/ask", json=body))
    async with asyncio.timeout(30):
        while client.app.state.answers._free:
            await asyncio.sleep(0)
    assert error_of(await client.post("/ask", json=body), 503)["rule"] == "is writing as many answers as it can"
    # Searches have their own threads.
    assert (await client.get("/search?q=loop")).status_code == 200
    go.set()
    assert events_of(await first)[-1][0] == "finished"
    assert events_of(await client.post("/ask", json=body))[-1][0] == "finished"


async def test_a_model_that_says_nothing_for_long_ends_with_an_error(
    connect: Connect, says: Callable[..., None]
) -> None:
    go = threading.Event()

    def wait() -> Iterator[str]:
        go.wait(30)
        yield "late"

    says(wait)
    client = await connect(model="ollama:any", answer_timeout=1)
    *_, (name, error) = events_of(await client.post("/ask", json={"question": "What does a loop do?"}))
    go.set()
    assert (name, error["rule"]) == ("error", "took longer than 1 s")


@pytest.mark.usefixtures("socket_enabled")
def test_a_client_that_leaves_stops_the_model(make_app: Callable[..., FastAPI], says: Callable[..., None]) -> None:
    stopped = threading.Event()

    def endless() -> Iterator[str]:
        try:
            while True:
                yield "On and on. "
        finally:
            stopped.set()

    says(endless)
    with serving(make_app(model="ollama:any")) as address:
        body = {"question": "What does a loop do?", "max_tokens": 4096}
        with httpx.stream("POST", f"{address}/ask", json=body) as response:
            assert next(response.iter_lines()) == "event: sources"
        assert stopped.wait(30)
