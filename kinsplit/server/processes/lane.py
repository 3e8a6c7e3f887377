"""A worker process with a bounded queue, in which equal calls run once and results are kept."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import heapq
import importlib
import itertools
import os
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kinsplit.errors import MemoryLimitError, ResultSizeError, TimeLimitError, WorkerDiedError, WorkerError
from kinsplit.support.workers import WorkerPool

#: Seconds for which a call is refused that exceeded a limit, and most calls that are. It would exceed it again, unless
#: the machine was at fault.
_REFUSED, _MOST_REFUSED = 300.0, 1_000
#: What a call does that would exceed its limits again.
_FAULTS = (TimeLimitError, MemoryLimitError, ResultSizeError, WorkerDiedError)
#: Seconds of processor time for code that Python can't interrupt, beyond those of a call.
_GRACE = 1.0
# Signal of the timer that ends a process whose call Python can't interrupt; its default action does.
_KILL = 0 if sys.platform == "win32" else signal.SIGVTALRM


class Kind(NamedTuple):
    """The calls that a lane is for, and their limits."""

    modules: tuple[str, ...]
    nice: int
    seconds: float
    memory: int
    result: int
    waiting: int
    kept: int


class LaneFullError(Exception):
    """As many calls are waiting as may."""


@dataclass(order=True)
class _Call:
    """A call that waits or runs."""

    cost: float
    number: int
    key: Hashable = field(compare=False)
    refusal: Hashable = field(compare=False)  # Key under which it is refused if it exceeds a limit.
    run: Callable[[], Any] = field(compare=False)
    result: asyncio.Future[Any] = field(compare=False)
    wanted: int = field(compare=False, default=0)


class Lane:
    """Calls in one process, one after the other. To be used from one event loop.

    Results are kept by key, and so are refusals: a call that exceeded its limits fails at once for a while. Requests
    that want the same result await one call, which isn't started if all of them have gone before. A call that waits for
    something else than the processor is ended after `timeout` seconds.
    """

    def __init__(self, kind: Kind, timeout: float, size: Callable[[Any], int]) -> None:
        self._kind, self._size = kind, size
        self._pool = WorkerPool(
            1,
            time_limit=timeout,
            memory_limit=kind.memory,
            result_limit=kind.result,
            prepare=functools.partial(_prepare, kind.nice, kind.modules),
        )
        self._numbers = itertools.count()
        self._calls: dict[Hashable, _Call] = {}
        self._waiting: list[_Call] = []
        self._is_running = False
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._held = 0
        self._refused: OrderedDict[Hashable, tuple[float, WorkerError]] = OrderedDict()

    def warm(self) -> None:
        """Start the process ahead of the first call."""
        self._pool.call(gc.collect)

    def close(self) -> None:
        """End the process."""
        self._pool.close()

    async def run(
        self, key: Hashable, cost: float, function: Callable[..., Any], *args: Any, refusal: Hashable = None
    ) -> Any:
        """Return the result of a call.

        Raises:
            LaneFullError: Too many calls are waiting.
            WorkerError: It exceeds a limit or crashes the process, or did so lately.
            Exception: Any exception of the function.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        refusal = key if refusal is None else refusal
        until, error = self._refused.get(refusal, (0.0, None))
        if error is not None and time.monotonic() < until:
            raise error.with_traceback(None)
        run = functools.partial(self._pool.submit, _call, self._kind.seconds, function, args)
        call = self._calls.get(key) or self._added(key, cost, refusal, run)
        call.wanted += 1
        try:
            return await asyncio.shield(call.result)
        finally:
            call.wanted -= 1
            if not call.wanted and call in self._waiting:
                self._waiting.remove(call)
                heapq.heapify(self._waiting)
                del self._calls[key]

    def _added(self, key: Hashable, cost: float, refusal: Hashable, run: Callable[[], Any]) -> _Call:
        if self._is_running and len(self._waiting) >= self._kind.waiting:
            raise LaneFullError
        result = asyncio.get_running_loop().create_future()
        call = self._calls[key] = _Call(cost, next(self._numbers), key, refusal, run, result)
        heapq.heappush(self._waiting, call)
        self._start()
        return call

    def _start(self) -> None:
        """Start the cheapest call that is waiting, if none is running."""
        if self._is_running or not self._waiting:
            return
        call = heapq.heappop(self._waiting)
        self._is_running = True
        asyncio.wrap_future(call.run()).add_done_callback(functools.partial(self._end, call))

    def _end(self, call: _Call, done: asyncio.Future[Any]) -> None:
        del self._calls[call.key]
        self._is_running = False
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        if error is None:
            self._keep(call.key, done.result())
            call.result.set_result(done.result())
        elif done.cancelled():
            call.result.cancel()
        else:
            if isinstance(error, WorkerDiedError) and error.code == -_KILL:
                error = TimeLimitError(self._kind.seconds)
            if isinstance(error, _FAULTS):
                self._refuse(call.refusal, error)
            call.result.set_exception(error)
            call.result.exception()  # Nobody may be waiting for it any longer.
        self._start()

    def _keep(self, key: Hashable, result: Any) -> None:
        size = self._size(result)
        if size > self._kind.kept:  # It would displace all others.
            return
        self._kept[key] = result
        self._held += size
        while self._held > self._kind.kept:
            self._held -= self._size(self._kept.popitem(last=False)[1])

    def _refuse(self, key: Hashable, error: WorkerError) -> None:
        self._refused[key] = (time.monotonic() + _REFUSED, error)
        self._refused.move_to_end(key)
        if len(self._refused) > _MOST_REFUSED:
            self._refused.popitem(last=False)


# The functions below run in the process.


class _LateError(BaseException):
    """The processor time of a call is over. Not an `Exception`, which the libraries that it interrupts may catch."""


def _prepare(nice: int, modules: Sequence[str]) -> None:
    for module in modules:
        importlib.import_module(module)
    if sys.platform != "win32":
        os.nice(nice)
    # Parsers make many objects and few circles, so that looking for these takes a third of their time.
    gc.disable()


def _call(seconds: float, function: Callable[..., Any], args: Sequence[Any]) -> Any:
    with _processor_time(seconds):
        return function(*args)


@contextlib.contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    """Limit the processor time of a block. What interrupts Python code spares the start of another process."""
    if sys.platform == "win32":
        yield
        return

    def interrupt(*_: object) -> None:
        raise _LateError

    signal.signal(signal.SIGPROF, interrupt)
    try:
        # Again and again, in case that a library catches everything.
        signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds + _GRACE)
        yield
    except _LateError:
        raise TimeLimitError(seconds) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
