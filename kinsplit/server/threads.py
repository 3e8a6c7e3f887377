"""Thread pools with bounded queues, which keep work off the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import ParamSpec, TypeVar

from kinsplit.server.errors import RequestError
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.support.worker_process import Residue

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Niceness of worker threads above that of the event loop's thread.
_NICE = 5
#: Seconds without a call after which workers count as idle.
_IDLE = 0.1
#: Multiple of its time for which workers rest after a call, so that they work a third of the time, and most seconds.
_REST, _LONGEST_REST = 2, 2.0
#: Seconds after a call within which most responses are sent.
_SENT = 0.5


class Workers:
    """A fixed number of threads with a bounded queue.

    A call that times out, in seconds from the request, is answered at once, but its thread can't be stopped: it keeps
    its slot until the call returns, so clients can never cause more calls than there are threads.
    """

    def __init__(self, threads: int, queue: int, timeout: float, metrics: Metrics) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="kinsplit", initializer=_lower_priority)
        self._slots = threading.BoundedSemaphore(threads + queue)
        self._timeout, self._metrics = timeout, metrics
        self._calls, self._called_at = 0, -_IDLE

    @property
    def is_idle(self) -> bool:
        """Whether there has been no call for a while."""
        return not self._calls and time.monotonic() - self._called_at > _IDLE

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a function in a thread, or raise RequestError if the queue is full (503) or it took too long (504)."""
        if not self._slots.acquire(blocking=False):
            self._metrics.rejected.labels("queue").inc()
            raise RequestError(503, "is overloaded", "Try again in a second.", headers={"Retry-After": "1"})
        future = None
        self._calls += 1
        try:
            async with asyncio.timeout(self._timeout), self._turn():
                context = contextvars.copy_context()
                future = self._executor.submit(partial(context.run, function, *args, **kwargs))
                # Also runs if the call is cancelled before a thread takes it.
                future.add_done_callback(lambda _: self._slots.release())
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._metrics.rejected.labels("timeout").inc()
            rule, remedy = f"took longer than {self._timeout:g} s", "Request less, or try again later."
            raise RequestError(504, rule, remedy) from None
        finally:
            self._calls -= 1
            self._called_at = time.monotonic()
            if future is None:
                self._slots.release()

    def _turn(self) -> AbstractAsyncContextManager[None]:
        """Return a context manager in which a call is made."""
        return nullcontext()

    async def close(self) -> None:
        """Cancel waiting calls and wait for the running ones."""
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)


class YieldingWorkers(Workers):
    """One thread whose calls give way to those of other workers.

    After each call it rests for twice as long, unless the others are idle. A priority alone wouldn't keep long calls
    from delaying others: threads share Python's interpreter lock, and an embedded store answers one call at a time.
    """

    def __init__(self, queue: int, timeout: float, metrics: Metrics, others: Workers) -> None:
        super().__init__(1, queue, timeout, metrics)
        self._others, self._one, self._rested_at = others, asyncio.Lock(), 0.0
        self._residue = Residue()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        async with self._one:
            while (left := self._rested_at - time.monotonic()) > 0 and not self._others.is_idle:
                await asyncio.sleep(min(left, _IDLE))
            begun = time.monotonic()
            try:
                yield
            finally:
                now = time.monotonic()
                self._rested_at = now + min(_REST * (now - begun), _LONGEST_REST)
                # Once the response was sent.
                asyncio.get_running_loop().call_later(_SENT, self._release_memory)

    def _release_memory(self) -> None:
        with suppress(RuntimeError):  # Closed in the meantime.
            self._executor.submit(self._residue.release)


def _lower_priority() -> None:
    """Give the event loop precedence on a busy machine, so that /healthz does not wait."""
    if sys.platform == "linux":  # Elsewhere the priority is that of the whole process.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICE)
