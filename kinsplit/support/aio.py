"""Blocking generators as asynchronous ones."""

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
    """Yield the items of a generator, which runs in a thread of its own.

    Each item is computed on request. A consumer that is cancelled, or that closes this generator, continues at once;
    the inner generator is closed too, which stops a model, as soon as its current item is done. Neither the loop's own
    threads nor the end of the program wait for that.

    Args:
        events: The generator, such as the result of `kinsplit.answering.answer`.
    """
    loop = asyncio.get_running_loop()
    calls: _Calls = SimpleQueue()
    threading.Thread(target=copy_context().run, args=(_work, calls, loop), daemon=True).start()

    def call(function: Callable[[], object]) -> asyncio.Future[object]:
        future = loop.create_future()
        future.add_done_callback(_retrieve_error)
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
    while (call := calls.get()) is not None:
        function, future = call
        try:
            report = partial(_set_result, future, function())
        except BaseException as error:
            report = partial(_set_error, future, error)
        # The loop may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(report)


def _set_result(future: asyncio.Future[object], result: object) -> None:
    if not future.done():
        future.set_result(result)


def _set_error(future: asyncio.Future[object], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _retrieve_error(future: asyncio.Future[object]) -> None:
    """Retrieve an error that the consumer may no longer wait for, so that asyncio doesn't log it."""
    if not future.cancelled():
        future.exception()
