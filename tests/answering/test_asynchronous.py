"""Events for an event loop, from a generator that blocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator

import pytest

from kinsplit import Index
from kinsplit.answering import Finished, answer, in_threads
from tests.answering.helpers import Scripted


class Blocking:
    """Items of which the second one waits."""

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
