"""Drivers that run one implementation both in a thread and in an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

S = TypeVar("S")
T = TypeVar("T")
_Calls = SimpleQueue[tuple[Callable[[], object], "asyncio.Future[object]"] | None]


class Call(Generic[S, T]):
    """A call of the driver's target object: `await` it in a coroutine that `run` drives.

    Args:
        method: Makes the call, given the object: a blocking one or its asynchronous counterpart.
    """

    def __init__(self, method: Callable[[S], T | Awaitable[T]]) -> None:
        self.method = method

    def __await__(self) -> Generator[Call[S, T], T, T]:
        return (yield self)


class _Result(NamedTuple, Generic[T]):
    value: T


def run(coroutine: Coroutine[Any, Any, T], target: object = None) -> T:
    """Run a coroutine in this thread, without an event loop.

    An error of a call is raised in the coroutine, where it awaits the call.

    Args:
        coroutine: Awaits nothing but `Call`s and coroutines that never suspend.
        target: Object whose methods the `Call`s call; they block.

    Raises:
        RuntimeError: The coroutine awaits something that needs an event loop.
    """
    step = _advance(coroutine, partial(coroutine.send, None))
    while isinstance(step, Call):
        try:
            resume = partial(coroutine.send, step.method(target))
        except BaseException as error:
            resume = partial(coroutine.throw, error)
        step = _advance(coroutine, resume)
    return step.value


async def run_async(coroutine: Coroutine[Any, Any, T], target: object) -> T:
    """Run the same coroutine for an event loop: its calls are awaited, and its own work runs in threads.

    An error of a call is raised in the coroutine, where it awaits the call, and so is a cancellation. A task that is
    cancelled while the coroutine works in a thread goes on at once; the coroutine is cancelled at its next call.

    Args:
        coroutine: Awaits nothing but `Call`s and coroutines that never suspend.
        target: Object whose methods the `Call`s call; they are coroutines.
    """
    # One for all threads, so that the coroutine finds its own context variables again.
    context = copy_context()
    cancelled = threading.Event()

    def work(resume: Callable[[], object]) -> Call[Any, Any] | _Result[T]:
        step = context.run(_advance, coroutine, resume)
        if cancelled.is_set():
            cancel()
        return step

    def cancel() -> None:
        with suppress(BaseException):  # It has ended, or works in its thread, which then does this.
            context.run(coroutine.throw, asyncio.CancelledError())
            context.run(coroutine.close)

    try:
        step = await asyncio.to_thread(work, partial(coroutine.send, None))
        while isinstance(step, Call):
            try:
                resume = partial(coroutine.send, await step.method(target))
            except BaseException as error:
                resume = partial(coroutine.throw, error)
            step = await asyncio.to_thread(work, resume)
        return step.value
    except asyncio.CancelledError:
        cancelled.set()
        cancel()
        raise


def _advance(coroutine: Coroutine[Any, Any, T], resume: Callable[[], object]) -> Call[Any, Any] | _Result[T]:
    """Resume a coroutine, and return its next call or its result."""
    try:
        step = resume()
    except StopIteration as stop:  # It can't leave a thread or a coroutine.
        return _Result(stop.value)
    if isinstance(step, Call):
        return step
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} waits for an event loop.")


async def in_thread(function: Callable[[Callable[[], None]], T]) -> T:
    """Call a function in a thread of its own, for work that may take long.

    If the caller is cancelled, the function is stopped at its next check, and the cancellation goes on once it has
    ended: nothing is left running.

    Args:
        function: The function. It takes a check to call between its steps, which raises an error once the caller was
            cancelled.
    """
    loop, cancelled = asyncio.get_running_loop(), threading.Event()
    future: asyncio.Future[T] = loop.create_future()
    future.add_done_callback(_retrieve_error)

    def check() -> None:
        if cancelled.is_set():
            raise asyncio.CancelledError

    def work() -> None:
        _settle(future, partial(function, check), loop)

    threading.Thread(target=copy_context().run, args=(work,)).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancelled.set()
        while not future.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        raise


async def in_threads(events: Generator[T, None, None]) -> AsyncGenerator[T, None]:
    """Yield the items of a generator, all produced in one thread of their own.

    Each item is produced on request. A consumer that is cancelled, or that closes this generator, goes on at
    once; the inner generator is closed as soon as its current item is done, which stops a model. Neither the loop's
    own threads nor the end of the program wait for that.

    Args:
        events: The generator, such as `kinsplit.answering.answer` returns.
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
            step = call(partial(next, events, _END))
            item = await asyncio.shield(step)
            if item is _END:
                return
            yield item  # type: ignore[misc]
    finally:
        closed = call(events.close)
        calls.put(None)
        if step is None or step.done():
            await closed


_END = object()


def _work(calls: _Calls, loop: asyncio.AbstractEventLoop) -> None:
    while (entry := calls.get()) is not None:
        function, future = entry
        _settle(future, function, loop)


def _settle(future: asyncio.Future[T], function: Callable[[], T], loop: asyncio.AbstractEventLoop) -> None:
    """Call a function in this thread, and set a future of the loop to its result or error."""
    try:
        settle = partial(_set_result, future, function())
    except BaseException as error:
        settle = partial(_set_error, future, error)
    # Nothing waits in a closed loop.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(settle)


def _set_result(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _set_error(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _retrieve_error(future: asyncio.Future[Any]) -> None:
    """Retrieve the error of a future that may have been abandoned, so that asyncio doesn't log it."""
    if not future.cancelled():
        future.exception()
