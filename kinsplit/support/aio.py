"""Events of a model that blocks, for an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")
_Calls = SimpleQueue[tuple[Callable[[], object], "asyncio.Future[object]"] | None]


class _End:
    pass


async def in_threads(events: Generator[T, None, None]) -> AsyncGenerator[T, None]:
    """Yield the items of a generator, all made in one thread of their own.

    Nothing is made before it is asked for. A consumer that is cancelled, or that closes this generator, goes on at
    once; the inner one is closed too, which stops a model, as soon as the item that is being made is done. Neither the
    loop's own threads nor the end of the program wait for that.

    Args:
        events: The generator, such as `kinsplit.answering.answer` returns.
    """
    loop = asyncio.get_running_loop()
    calls: _Calls = SimpleQueue()
    threading.Thread(target=copy_context().run, args=(_work, calls, loop), daemon=True).start()

    def call(function: Callable[[], object]) -> asyncio.Future[object]:
        future = loop.create_future()
        future.add_done_callback(_seen)
        calls.put((function, future))
        return future

    step: asyncio.Future[object] | None = None
    try:
        while True:
            step = call(partial(next, events, _End()))
            item = await asyncio.shield(step)
            if isinstance(item, _End):
                return
            yield item  # type: ignore[misc]
    finally:
        closed = call(events.close)
        calls.put(None)
        if step is None or step.done():
            await closed


def _work(calls: _Calls, loop: asyncio.AbstractEventLoop) -> None:
    while (asked := calls.get()) is not None:
        function, future = asked
        try:
            told = partial(_settle, future, function())
        except BaseException as error:
            told = partial(_fail, future, error)
        # Where the loop is closed, nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(told)


def _settle(future: asyncio.Future[object], result: object) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[object], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _seen(future: asyncio.Future[object]) -> None:
    """Look at an error for which nobody may wait any more, so that it isn't logged as one that was missed."""
    if not future.cancelled():
        future.exception()
