"""Thread pools with bounded queues, which keep work off the event loop."""

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

#: Niceness of worker threads above that of the event loop's thread.
_NICE = 5


class Workers:
    """A fixed number of threads with a bounded queue.

    A call that times out is answered at once, but its thread can't be stopped: it keeps its slot until the call
    returns, so clients can never cause more calls than there are threads.

    Args:
        threads: Maximum number of running calls.
        queue: Maximum number of waiting calls.
        timeout: Seconds from the request to the result, including the wait.
        metrics: Metrics that count rejected calls.
    """

    def __init__(self, threads: int, queue: int, timeout: float, metrics: Metrics) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="kinsplit", initializer=_lower_priority)
        self._slots = threading.BoundedSemaphore(threads + queue)
        self._timeout, self._metrics = timeout, metrics

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a function in a thread.

        Raises:
            RequestError: The queue is full (503), or the call took too long (504).
        """
        if not self._slots.acquire(blocking=False):
            self._metrics.rejected.labels("queue").inc()
            raise RequestError(503, "is overloaded", "Try again in a second.", headers={"Retry-After": "1"})
        try:
            context = contextvars.copy_context()
            future = self._executor.submit(partial(context.run, function, *args, **kwargs))
        except BaseException:
            self._slots.release()
            raise
        # Also runs if the call is cancelled before a thread takes it.
        future.add_done_callback(lambda _: self._slots.release())
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._metrics.rejected.labels("timeout").inc()
            raise RequestError(
                504, f"took longer than {self._timeout:g} s", "Request less, or try again later."
            ) from None

    async def close(self) -> None:
        """Cancel waiting calls and wait for the running ones."""
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)


def _lower_priority() -> None:
    """Give the event loop precedence on a busy machine, so that /healthz does not wait."""
    if sys.platform == "linux":  # Elsewhere the priority is that of the whole process.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICE)
