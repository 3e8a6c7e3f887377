"""Events for an event loop, from a blocking generator."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Generator
from contextlib import suppress
from contextvars import ContextVar

import pytest

from kinsplit import Index
from kinsplit.answering import Finished, answer, in_threads
from tests.answering.helpers import Scripted


class Blocking:
    """A source of items, the second of which blocks."""

    def __init__(self) -> None:
        self.go_on, self.closed = threading.Event(), threading.Event()

    def items(self) -> Generator[int, None, None]:
        try:
            yield 1
            assert self.go_on.wait(10)
            yield 2
        finally:
            self.closed.set()


async def test_an_answer_comes_without_blocking_the_loop(index: Index) -> None:
    events = [
        event async for event in in_threads(answer(index, "What is a heap?", Scripted(["A heap is a tree [1]."])))
    ]
    assert isinstance(events[-1], Finished)
    assert events[-1].answer.verdict == "supported"


async def test_the_loop_runs_while_an_item_is_waited_for() -> None:
    blocking = Blocking()
    items = in_threads(blocking.items())
    assert await anext(items) == 1

    waiting = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    blocking.go_on.set()
    assert await waiting == 2
    assert [item async for item in items] == []
    assert blocking.closed.is_set()


async def test_a_client_that_leaves_goes_at_once_and_the_generator_is_closed() -> None:
    blocking = Blocking()
    items = in_threads(blocking.items())
    assert await anext(items) == 1
    waiting = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0.01)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not blocking.closed.is_set()
    blocking.go_on.set()
    assert await asyncio.to_thread(blocking.closed.wait, 5)


async def test_closing_between_two_items_closes_the_generator() -> None:
    blocking = Blocking()
    items = in_threads(blocking.items())
    assert await anext(items) == 1
    await items.aclose()
    assert blocking.closed.is_set()


async def test_an_error_of_the_generator_is_raised() -> None:
    def failing() -> Generator[int, None, None]:
        yield 1
        raise ValueError("no more")

    items = in_threads(failing())
    assert await anext(items) == 1
    with pytest.raises(ValueError, match="no more"):
        await anext(items)


async def test_all_items_are_made_and_closed_in_one_thread_with_the_callers_context() -> None:
    tracer: ContextVar[str] = ContextVar("tracer", default="none")
    tracer.set("mine")
    seen: set[tuple[str, str]] = set()

    def items() -> Generator[int, None, None]:
        try:
            for number in range(3):
                seen.add((threading.current_thread().name, tracer.get()))
                yield number
        finally:
            seen.add((threading.current_thread().name, tracer.get()))

    before = threading.active_count()
    assert [item async for item in in_threads(items())] == [0, 1, 2]
    assert len(seen) == 1
    assert seen != {(threading.current_thread().name, "mine")}
    for _ in range(100):
        if threading.active_count() == before:
            break
        await asyncio.sleep(0.01)
    assert threading.active_count() == before


async def test_answers_that_nobody_waits_for_keep_none_of_the_loops_threads() -> None:
    left = [Blocking() for _ in range(40)]
    for blocking in left:
        items = in_threads(blocking.items())
        assert await anext(items) == 1
        waiting = asyncio.ensure_future(anext(items))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
    assert await asyncio.wait_for(asyncio.to_thread(lambda: "free"), 5) == "free"
    for blocking in left:
        blocking.go_on.set()
        assert await asyncio.to_thread(blocking.closed.wait, 5)


def test_the_end_of_a_loop_waits_for_no_model() -> None:
    blocking = Blocking()

    async def leave() -> None:
        items = in_threads(blocking.items())
        assert await anext(items) == 1
        waiting = asyncio.ensure_future(anext(items))
        await asyncio.sleep(0.01)
        waiting.cancel()

    asyncio.run(leave())
    assert not blocking.closed.is_set()
    blocking.go_on.set()
    assert blocking.closed.wait(5)


async def test_what_fails_after_everybody_left_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    go_on, failed = threading.Event(), threading.Event()

    def failing() -> Generator[int, None, None]:
        try:
            yield 1
            assert go_on.wait(10)
            raise ValueError("nobody hears that")
        finally:
            failed.set()

    items = in_threads(failing())
    assert await anext(items) == 1
    waiting = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    go_on.set()
    assert await asyncio.to_thread(failed.wait, 5)
    await asyncio.sleep(0.01)
    gc.collect()
    assert not caplog.records


async def test_nothing_is_done_for_who_asks_for_nothing() -> None:
    blocking = Blocking()
    await in_threads(blocking.items()).aclose()
    assert not blocking.closed.is_set()
