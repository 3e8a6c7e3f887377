"""Calls of blocking code in threads, for event loops.

Blocking code is written once. An event loop runs it in a thread, from which it can wait for coroutines of that loop.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import cache, partial, update_wrapper
from itertools import islice
from queue import SimpleQueue
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")
_Calls = SimpleQueue[tuple[Callable[[], object], "asyncio.Future[object]"] | None]

#: Threads, as many as may wait for a server or a model at once. The loop's own are few, and meant for short calls.
_THREADS = 64
#: The event loop for which the current thread works.
_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("_LOOP", default=None)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a blocking function in a thread, with this task's context variables, and return its result.

    The function may `wait` for coroutines of this event loop. If the caller is cancelled, it goes on at once, and the
    call ends in its thread.
    """
    loop, context = asyncio.get_running_loop(), copy_context()
    context.run(_LOOP.set, loop)
    return await loop.run_in_executor(_pool(), partial(context.run, function, *args, **kwargs))


def awaiting(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return a method as a coroutine function, which calls the method of that name `in_thread`."""

    async def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        # A subclass may have another one.
        own: Callable[P, T] = getattr(self, method.__name__)
        return await in_thread(own, *args, **kwargs)

    update_wrapper(call, method)
    call.__doc__ = f"Do the same as `{method.__name__}` without blocking the event loop."
    return call


def with_awaiting(**names: str) -> Callable[[type[S]], type[S]]:
    """Return a class decorator that adds coroutine functions; see `awaiting`.

    Args:
        **names: Name of the coroutine function by that of the method.
    """

    def add(cls: type[S]) -> type[S]:
        for name, own in names.items():
            setattr(cls, own, awaiting(getattr(cls, name)))
        return cls

    return add


def call_either(
    blocking: Callable[P, T], awaitable: Callable[P, Awaitable[T]] | None, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call what exists in two forms: the coroutine function, if this thread works for an event loop.

    Args:
        blocking: The function.
        awaitable: Its coroutine function; None if there is none.
        *args: Arguments of both.
        **kwargs: Keyword arguments of both.
    """
    loop = _LOOP.get()
    if loop is None or awaitable is None or _is_in_loop():
        return blocking(*args, **kwargs)

    async def call() -> T:
        return await awaitable(*args, **kwargs)

    with closing(call()) as coroutine:
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        while not wait([future], timeout=1).done:
            if loop.is_closed():  # It will never be called.
                raise RuntimeError("The event loop was closed before the call ended.")
        return future.result()


def _is_in_loop() -> bool:
    """Return whether this thread runs an event loop, which must not wait for itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@cache
def _pool() -> ThreadPoolExecutor:
    os.register_at_fork(after_in_child=_pool.cache_clear)  # The child has none of the threads.
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="kinsplit")


async def in_own_thread(function: Callable[[Callable[[], None]], T]) -> T:
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
        settle = partial(future.set_result, function())
    except BaseException as error:
        settle = partial(future.set_exception, error)
    # Nothing waits in a closed loop.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(lambda: future.done() or settle())


def _retrieve_error(future: asyncio.Future[Any]) -> None:
    """Retrieve the error of a future that may have been abandoned, so that asyncio doesn't log it."""
    if not future.cancelled():
        future.exception()


#: Largest number of questions that are answered together; of a model's vectors, more hardly save anything.
_MOST = 8


class Gathering(Generic[T]):
    """Answers questions of several threads, equal ones at the same time once. Thread-safe.

    Args:
        one: Function that answers a question.
        several: Function that answers several questions, for less processor time than one by one: it answers those that
            are asked while half of the processors answer others. None if there is none.
    """

    def __init__(self, one: Callable[[str], T], several: Callable[[Sequence[str]], Iterable[T]] | None) -> None:
        self._one, self._several, self._lock = one, several, threading.Lock()
        self._turn: AbstractContextManager[object] = nullcontext()
        if several is not None:
            self._turn = threading.Semaphore(max(1, (os.cpu_count() or 1) // 2))
        self._asked: dict[str, Future[T]] = {}
        # Those that no thread answers yet.
        self._waiting: dict[str, None] = {}

    def answer(self, question: str) -> T:
        """Return the answer to a question, or raise the error of its function."""
        own: Future[T] = Future()
        with self._lock:
            asked = self._asked.setdefault(question, own)
            if asked is own:
                self._waiting[question] = None
        if asked is own:
            with self._turn:
                self._answer(self._take(question))
        return asked.result()

    def _take(self, question: str) -> list[str]:
        """Return a question and others that wait, or none if another thread has taken it."""
        with self._lock:
            if question not in self._waiting:
                return []
            del self._waiting[question]
            taken = [question, *islice(self._waiting, 0 if self._several is None else _MOST - 1)]
            for each in taken[1:]:
                del self._waiting[each]
            return taken

    def _answer(self, questions: list[str]) -> None:
        try:
            if self._several is None or len(questions) < 2:
                answers = [self._one(each) for each in questions]
            else:
                answers = [*self._several(questions)]
        except BaseException as error:
            if len(questions) > 1 and isinstance(error, Exception):  # One may be at fault for all.
                for each in questions:
                    self._answer([each])
            else:
                for each in questions:
                    self._asked.pop(each).set_exception(error)
            return
        for each, answer in zip(questions, answers, strict=True):
            self._asked.pop(each).set_result(answer)
