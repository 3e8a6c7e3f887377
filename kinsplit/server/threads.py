"""Threads for the work, so that the event loop stays free, with a queue that ends."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from kinsplit.server.errors import RequestError
from kinsplit.server.middleware.metrics import Metrics

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: How much later than the event loop's thread a busy machine takes up those that work.
_NICE = 5


class Workers:
    """A fixed number of threads and of places in their queue.

    A call that takes too long is answered and given up, but its thread can't be stopped: it keeps its place until it is
    done, so there are never more calls at work than threads, whatever clients do.

    Args:
        threads: Most calls at the same time.
        queue: Most calls that wait for a thread.
        timeout: Seconds from the request to the answer, the wait included.
        metrics: Told of rejected calls.
    """

    def __init__(self, threads: int, queue: int, timeout: float, metrics: Metrics) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="kinsplit", initializer=_step_back)
        self._places = threading.BoundedSemaphore(threads + queue)
        self._timeout, self._metrics = timeout, metrics

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a function in a thread.

        Raises:
            RequestError: The queue is full (503), or it took too long (504).
        """
        if not self._places.acquire(blocking=False):
            self._metrics.rejected.labels("queue").inc()
            raise RequestError(503, "has too much to do", "Come back in a second.", headers={"Retry-After": "1"})
        try:
            context = contextvars.copy_context()
            future = self._executor.submit(partial(context.run, function, *args, **kwargs))
        except BaseException:
            self._places.release()
            raise
        # Also runs where the call was cancelled before a thread took it.
        future.add_done_callback(lambda _: self._places.release())
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._metrics.rejected.labels("timeout").inc()
            raise RequestError(504, f"took longer than {self._timeout:g} s", "Ask for less, or later.") from None

    async def close(self) -> None:
        """Wait for the calls at work; those in the queue are cancelled."""
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)


def _step_back() -> None:
    """Let the event loop go first where there are fewer processors than threads, so that /healthz does not wait."""
    if sys.platform == "linux":  # Elsewhere it would be the whole process.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICE)
