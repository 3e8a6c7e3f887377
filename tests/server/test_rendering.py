"""Rendering in processes with limits, which no search waits for."""

from __future__ import annotations

import asyncio
import os
import signal
import timeit
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from kinsplit.errors import MemoryLimitError, ResultSizeError, TimeLimitError
from kinsplit.server import limits
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.processes.lane import Kind, Lane, LaneFullError
from kinsplit.server.processes.markdown import Excerpt
from kinsplit.server.processes.marks import Mark
from kinsplit.server.processes.viewer import Renderer
from tests.server.conftest import Connect, error_of
from tests.server.lane_calls import append, pid

KIND = Kind(
    modules=("tests.server.lane_calls",), nice=0, seconds=0.2, memory=2**26, result=2**20, waiting=1, kept=1_000
)


@pytest.fixture
async def lane() -> AsyncIterator[Lane]:
    made = Lane(KIND, 120, len)
    yield made
    made.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe: a call that reads it lasts until something is written."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


async def test_equal_calls_run_once_and_their_result_is_kept(lane: Lane, tmp_path: Path) -> None:
    counted = tmp_path / "counted"
    both = await asyncio.gather(*(lane.run("a", 1, append, counted) for _ in range(2)))
    assert both == [b"1", b"1"]
    assert await lane.run("a", 1, append, counted) == b"1"
    assert await lane.run("b", 1, append, counted) == b"11"
    # The least recently used results go first, and one that is too large for all is not kept.
    for number in range(3):
        await lane.run(number, 1, bytes, 400)
    assert len(await lane.run("large", 1, bytes, 1_001)) == 1_001
    assert list(lane._kept) == [1, 2]
    assert await lane.run("a", 1, append, counted) == b"111"


async def test_the_cheapest_call_goes_first_and_the_queue_ends(pipe: Path) -> None:
    wide = Lane(KIND._replace(waiting=2), 120, len)
    counted = pipe.parent / "counted"
    blocked = asyncio.create_task(wide.run("blocked", 0, pipe.read_bytes))
    await asyncio.sleep(0)
    dear, cheap = (asyncio.create_task(wide.run(cost, cost, append, counted)) for cost in (9, 1))
    await asyncio.sleep(0)
    with pytest.raises(LaneFullError):
        await wide.run("another", 1, append, counted)
    # One more request for a call that waits already adds nothing to the queue.
    same = asyncio.create_task(wide.run(9, 9, append, counted))
    await asyncio.to_thread(pipe.write_bytes, b"go")
    assert await asyncio.gather(blocked, cheap, dear, same) == [b"go", b"1", b"11", b"11"]
    wide.close()


async def test_a_call_that_nobody_awaits_is_not_started(lane: Lane, pipe: Path) -> None:
    counted = pipe.parent / "counted"
    blocked = asyncio.create_task(lane.run("blocked", 0, pipe.read_bytes))
    await asyncio.sleep(0)
    gone = asyncio.create_task(lane.run("gone", 1, append, counted))
    await asyncio.sleep(0)
    gone.cancel()
    # A call that runs goes on, so that its result or its refusal is kept.
    blocked.cancel()
    await asyncio.gather(gone, blocked, return_exceptions=True)
    await asyncio.to_thread(pipe.write_bytes, b"go")
    assert await lane.run("next", 1, append, counted) == b"1"
    assert await lane.run("blocked", 0, pipe.read_bytes) == b"go"


async def test_a_call_beyond_its_limits_ends_and_the_next_one_works(lane: Lane) -> None:
    first = await lane.run("first", 1, pid)
    with pytest.raises(TimeLimitError):
        await lane.run("long", 1, timeit.timeit, "pass", "pass", timeit.default_timer, 10**12)
    assert await lane.run("second", 1, pid) == first  # Python code is interrupted,
    with pytest.raises(TimeLimitError):
        await lane.run("native", 1, sum, range(10**12))
    with pytest.raises(MemoryLimitError):
        await lane.run("large", 1, bytes, 2**28)
    with pytest.raises(ResultSizeError):
        await lane.run("result", 1, bytes, 2**21)
    assert await lane.run("third", 1, pid) != first  # and a process that can't be is replaced.
    # They are known, so that nothing runs.
    for key in ("long", "native", "large", "result"):
        with pytest.raises((TimeLimitError, MemoryLimitError, ResultSizeError)):
            await lane.run(f"{key} with another mark", 1, bytes, refusal=key)


async def test_a_text_that_takes_too_long_is_refused_however_it_is_marked() -> None:
    renderer = Renderer(120, Metrics())
    quadratic = Excerpt("markdown", "\\(" * 10_000)
    with pytest.raises(TimeLimitError, match=r"longer than 0\.5 s"):
        await renderer.render(quadratic)
    with pytest.raises(TimeLimitError):
        await renderer.render(quadratic._replace(marks=(Mark(1, 3),)))
    assert not renderer._short._is_running
    assert await renderer.render(Excerpt("markdown", "*ok*")) == "<p><em>ok</em></p>\n"
    renderer.close()


@contextmanager
def stopped(*lanes: Lane) -> Iterator[None]:
    """Stop the processes of lanes while the block runs."""
    processes = [worker._process.pid for lane in lanes for worker in lane._pool._watchdog.workers]
    assert len(processes) == len(lanes)
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


async def test_searches_go_on_while_nothing_can_be_rendered(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    client: httpx.AsyncClient = await connect(threads=1, timeout=120)
    renderer = client.app.state.viewer.renderer  # type: ignore[attr-defined]
    await asyncio.to_thread(renderer.warm)
    monkeypatch.setattr(limits, "RENDER_PATIENCE", 0.2)
    document = "/documents/course/loops.md?render=true"
    with stopped(renderer._short, renderer._long):
        waiting = [asyncio.create_task(client.get(document)) for _ in range(3)]
        while not renderer._short._is_running:
            await asyncio.sleep(0.01)
        plain = (await client.get("/search?q=loop&top_k=1")).json()["passages"][0]
        found = (await client.get("/search?q=loop&top_k=1&render=true")).json()["passages"][0]
        assert found["text"] == plain["text"]
        assert found["view"]["html"] is None
        assert "rendering too many other texts" in found["view"]["problem"]
        answer = await client.post("/ask", json={"question": "What does a loop do?", "render": True})
        assert '"verdict": "quoted"' in answer.text
        assert not any(task.done() for task in waiting)
        # A full queue: a search has its passages, and a request for nothing but the look is to come again.
        monkeypatch.setattr(renderer._short, "_kind", renderer._short._kind._replace(waiting=0))
        other = await client.get(f"{document}&start=0&end=5")
        assert error_of(other, 503)["rule"] == "is rendering as much as it can"
        assert other.headers["Retry-After"] == "5"
        found = (await client.get("/search?q=counts&top_k=1&render=true")).json()["passages"][0]
        assert "rendering too many other texts" in found["view"]["problem"]
        assert 'rejected_total{reason="rendering"}' in (await client.get("/metrics")).text
    views = [(await task).json()["view"] for task in waiting]
    assert all("<h1>Loops</h1>" in view["html"] for view in views)
