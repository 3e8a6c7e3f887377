"""Processes for calls that may hang, exhaust the memory or crash: such a call fails, and nothing else does.

```python
with WorkerPool(2, time_limit=10, memory_limit=2**30) as pool:
    pool.call(math.factorial, 20)              # from any thread
    await pool.call_async(math.factorial, 20)
```

A worker is a fresh interpreter that runs one call at a time and is used again. It never imports the main module, so
a pool works in scripts without a `__main__` guard, in notebooks and in `python -c`; on the other hand, a function that
is defined there can't be called. Each worker has pipes of its own: there are no semaphores to leak, and one that is
killed while it answers confuses no other. `multiprocessing`, and pools that build on it, offer neither.

The time limit, the limit on results and the replacement of dead workers hold on every system. The memory limit is the
kernel's (`RLIMIT_DATA`), and holds on Linux only. What a call prints is dropped.

This protects from accidents and from input that exhausts a machine. It is not a sandbox: a worker may do whatever the
process that started it may do.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from types import TracebackType
from typing import IO, Any, ParamSpec, Self, TypeVar, cast

from kinsplit.errors import MemoryLimitError, ResultSizeError, TimeLimitError, WorkerDiedError, WorkerError
from kinsplit.support.worker_process import (
    ERROR,
    ERROR_LIMIT,
    LENGTH,
    NO_MEMORY,
    REPLY,
    TOO_LARGE,
    Limits,
    read_exactly,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Seconds for an interpreter to start on a busy machine.
_START = 60.0
# With -P no file in the working directory shadows a module.
_COMMAND = (
    *("-P", "-c"),
    "import sys; sys.path[:] = sys.argv[1:]; from kinsplit.support.worker_process import serve; serve()",
)


class WorkerPool:
    """Worker processes, started when they are first needed.

    Args:
        workers: Most calls at the same time; others wait.
        time_limit: Seconds that a call may take; neither the start of a worker nor the wait for one counts.
        memory_limit: Bytes of memory that a call may take beyond what its worker holds already.
        result_limit: Bytes of a pickled result.
        prepare: Called in each worker before its first call, for instance to import what calls need. What it takes
            counts towards no limit.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        time_limit: float = 60.0,
        memory_limit: int = 2**30,
        result_limit: int = 2**28,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self._workers, self._limits = workers, Limits(time_limit, memory_limit, result_limit)
        self._prepare = pickle.dumps(prepare)
        self._set_up()

    def call(self, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a function in a worker and wait for its result. An interrupt ends the call.

        Args:
            function: A function that can be imported by its name.
            *args: Its arguments, which are pickled.
            **kwargs: Its keyword arguments, which are pickled.

        Raises:
            TimeLimitError: The call takes too long.
            MemoryLimitError: It needs too much memory.
            ResultSizeError: Its result is too large.
            WorkerDiedError: It crashes its process, or the system kills that.
            WorkerError: No worker can be started, or something can't be pickled.
            Exception: Whatever the function raises.
        """
        return self._answered(_Call(function, args, kwargs))

    def submit(self, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Call a function in a worker without waiting.

        Returns:
            Its result, or what `call` would raise. To cancel it ends the call even if it is running.
        """
        self._check()
        call = _Call[_T](function, args, kwargs)
        self._threads.submit(self._settle, call)
        return call

    async def call_async(self, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do what `call` does without blocking the event loop. To cancel it ends the call."""
        import asyncio

        return await asyncio.wrap_future(self.submit(function, *args, **kwargs))

    def close(self) -> None:
        """End all workers: calls that are running or waiting fail."""
        self._closed = True
        self._end_all()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more calls."""
        return self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _set_up(self) -> None:
        self._process, self._closed = os.getpid(), False
        self._places = threading.BoundedSemaphore(self._workers)
        self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="kinsplit-worker")
        self._idle: list[_Worker] = []
        self._watchdog = _Watchdog()
        # Also when nobody closes the pool, and before the interpreter ends.
        self._end_all = weakref.finalize(self, self._watchdog.end)

    def _check(self) -> None:
        if self._process != os.getpid():  # Forked: the workers are another process's.
            self._set_up()
        if self._closed:
            raise WorkerError("The pool of workers is closed. Make another one.")

    def _settle(self, call: _Call[_T]) -> None:
        if not call.set_running_or_notify_cancel():
            return
        try:
            call.set_result(self._answered(call))
        except BaseException as error:
            call.set_exception(error)

    def _answered(self, call: _Call[_T]) -> _T:
        self._check()
        with self._places:
            worker = self._idle_worker() or _Worker(self._watchdog, self._prepare)
            try:
                answer: _T = worker.answer(call, self._limits)
                return answer
            finally:
                if worker.is_usable and not self._closed:
                    self._idle.append(worker)
                else:
                    worker.end()

    def _idle_worker(self) -> _Worker | None:
        """Return a worker that still runs, if there is one."""
        while True:
            try:
                worker = self._idle.pop()  # Atomic, as append is: no lock is needed that a fork could leave locked.
            except IndexError:
                return None
            if worker.is_running:
                return worker
            worker.end()


class _Call(Future[_T]):
    """A call, and its future where it is submitted."""

    def __init__(self, function: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        try:
            self.payload = pickle.dumps((function, args, kwargs), pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # whatever the objects' own methods raise
            raise WorkerError(f"{function!r} or an argument of it can't be pickled: {error}") from error
        self.is_stopped = False
        self.worker: _Worker | None = None

    def cancel(self) -> bool:
        if super().cancel():
            return True
        self.is_stopped = True
        if self.worker is not None:
            self.worker.stop(self, CancelledError())
        return False


class _Worker:
    """The near end of a worker process. One thread at a time uses it; any may stop its call.

    Args:
        watchdog: Ends its calls at their deadlines.
        prepare: What the process does before its first call, pickled.

    Attributes:
        is_usable: Whether it can take another call.
        deadline: When its call is late, in seconds of `time.monotonic`; infinity without a call.
    """

    def __init__(self, watchdog: _Watchdog, prepare: bytes) -> None:
        self.is_usable, self.deadline = False, math.inf
        self._watchdog, self._owner, self._lock = watchdog, os.getpid(), threading.Lock()
        self._call: object = None
        self._limit = 0.0
        self._reason: BaseException | None = None
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter
                [sys.executable, *_COMMAND, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C is for the process that waits, which then ends its workers.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise WorkerError(f"can't start a worker process: {error}") from error
        self._requests, self._replies = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        watchdog.workers.add(self)
        try:
            outcome, answer = self._exchange(self, prepare, Limits(_START, 0, 0))
        except BaseException as error:
            self.end()
            if isinstance(error, WorkerError):
                raise WorkerError(f"can't start a worker process: it {error}") from error
            raise
        if outcome == ERROR:
            self.end()
            raise cast(Exception, pickle.loads(answer))  # noqa: S301 - from a process of our own

    @property
    def is_running(self) -> bool:
        """Whether the process hasn't ended."""
        return self._process.poll() is None

    def answer(self, call: _Call[_T], limits: Limits) -> _T:
        """Run a call and return its result, or raise its exception."""
        call.worker = self  # Before it is asked whether the call is stopped: `cancel` does both the other way round.
        if call.is_stopped:
            self.is_usable = True
            raise CancelledError
        outcome, answer = self._exchange(call, pickle.dumps((limits, _working_directory(), call.payload)), limits)
        if outcome == NO_MEMORY:
            raise MemoryLimitError(limits.memory)
        try:
            value: _T | Exception = pickle.loads(answer)  # noqa: S301 - from a process of our own
        except Exception as error:  # whatever the objects' own methods raise
            raise WorkerError(f"the result can't be unpickled: {error!r}") from error
        if outcome == ERROR:
            raise cast(Exception, value)
        return cast(_T, value)

    def stop(self, call: object, reason: BaseException) -> None:
        """Kill the process if it runs this call, which then fails for this reason."""
        with self._lock:
            if self._call is call and self._owner == os.getpid():
                self._reason = reason
                self._process.kill()

    def stop_late_call(self) -> None:
        """Kill the process if its call is past the deadline."""
        with self._lock:
            call, is_late = self._call, self.deadline <= time.monotonic()
        if is_late:
            self.stop(call, TimeLimitError(self._limit))

    def end(self) -> None:
        """Kill the process and release what belongs to it."""
        self.is_usable, self.deadline = False, math.inf
        self._watchdog.workers.discard(self)
        with self._lock:
            self._reason = self._reason or WorkerError("was ended with its pool")
        if self._owner == os.getpid():  # Not forked
            self._process.kill()
            self._process.wait()
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError):  # Closing writes what the process didn't take.
                pipe.close()

    def _exchange(self, call: object, request: bytes, limits: Limits) -> tuple[bytes, bytes]:
        """Send a request and return the outcome and what comes with it."""
        self.is_usable = False
        with self._lock:
            self._call, self._limit, self.deadline = call, limits.time, time.monotonic() + limits.time
        self._watchdog.expect(self.deadline)
        try:
            self._requests.write(LENGTH.pack(len(request)) + request)
            self._requests.flush()
            outcome, goes_on, size, length = REPLY.unpack(read_exactly(REPLY.size, self._replies))
            if outcome == TOO_LARGE or length > max(limits.result, ERROR_LIMIT):
                raise ResultSizeError(size, limits.result)
            answer = read_exactly(length, self._replies)
        except (OSError, EOFError, ValueError):  # The last one where another thread ended the worker.
            code = self._process.wait()
            raise (self._reason or WorkerDiedError(code)) from None
        finally:
            with self._lock:
                self._call, self.deadline = None, math.inf
        self.is_usable = goes_on and self._reason is None
        return outcome, answer


class _Watchdog:
    """One thread that ends the calls of a pool at their deadlines; it starts with the first call.

    A timer for each call would start a thread on the way of every search.

    Attributes:
        workers: The workers whose processes haven't been ended.
    """

    def __init__(self) -> None:
        self.workers: set[_Worker] = set()
        self._thread: threading.Thread | None = None
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._wakes_at, self._is_ended = math.inf, False

    def expect(self, deadline: float) -> None:
        """Be awake at a deadline, in seconds of `time.monotonic`."""
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._watch, name="kinsplit-watchdog", daemon=True)
                    self._thread.start()
        if deadline < self._wakes_at:
            self._wake.set()

    def end(self) -> None:
        """End all workers, and the thread."""
        self._is_ended = True
        self._wake.set()
        for worker in tuple(self.workers):
            worker.end()

    def _watch(self) -> None:
        while not self._is_ended:
            self._wake.clear()
            # A deadline that is set from here on is before this one, and wakes the thread.
            self._wakes_at = math.inf
            for worker in tuple(self.workers):
                worker.stop_late_call()
            self._wakes_at = nearest = min((worker.deadline for worker in tuple(self.workers)), default=math.inf)
            # A deadline that was set between the two lines above has woken it already.
            self._wake.wait(None if nearest == math.inf else max(nearest - time.monotonic(), 0))


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a string is what the worker needs
    except OSError:  # It was deleted.
        return None
