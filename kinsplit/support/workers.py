"""Worker processes for calls that may hang, exhaust the memory or crash: only such a call fails.

```python
with WorkerPool(2, time_limit=10, memory_limit=2**30) as pool:
    pool.call(math.factorial, 20)              # from any thread
    await pool.call_async(math.factorial, 20)
```

A worker is a fresh interpreter that runs one call at a time and is reused. It never imports the main module, so a pool
works in scripts without a `__main__` guard, in notebooks and in `python -c`; on the other hand, functions defined there
can't be called. Each worker has pipes of its own: there are no semaphores to leak, and a worker that is killed while it
answers doesn't disturb the others. `multiprocessing`, and pools built on it, offer neither.

The time limit, the limit on results and the replacement of dead workers work on every system. The memory limit is the
kernel's (`RLIMIT_DATA`), and works on Linux only. Output of calls is discarded.

This protects from accidents and from input that exhausts a machine. It is not a sandbox: a worker has all rights of the
process that started it.
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
from typing import IO, Any, ParamSpec, Self, TypeVar, cast

from kinsplit.errors import MemoryLimitError, ResultSizeError, TimeLimitError, WorkerDiedError, WorkerError
from kinsplit.support import worker_process as child
from kinsplit.support.worker_process import CallLimits, read_exactly

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
    """A pool of worker processes, started on demand.

    Args:
        workers: Maximum number of concurrent calls; others wait.
        time_limit: Maximum seconds of a call, without the start of a worker and the wait for one.
        memory_limit: Maximum bytes of memory of a call beyond those that its worker already holds; None for no limit.
        result_limit: Maximum bytes of a pickled result.
        prepare: Function called in each worker before its first call, for instance for imports. It has no limits.

    Attributes:
        is_closed: Whether the pool is closed.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        time_limit: float = 60.0,
        memory_limit: int | None = 2**30,
        result_limit: int = 2**28,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self._workers, self._limits = workers, CallLimits(time_limit, memory_limit, result_limit)
        self._prepare = pickle.dumps(prepare)
        self._set_up()

    def call(self, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a function in a worker and wait for its result. An interrupt ends the call.

        Raises:
            TimeLimitError: The call takes too long.
            MemoryLimitError: The call needs too much memory.
            ResultSizeError: The result is too large.
            WorkerDiedError: The call crashes its process, or the system kills it.
            WorkerError: No worker can be started, or something can't be pickled.
            Exception: Any exception of the function.
        """
        return self._result_of(_Call(function, args, kwargs))

    def submit(self, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Call a function in a worker without waiting; cancelling the future ends the call even while it is running."""
        self._check()
        call = _Call[_T](function, args, kwargs)
        self._threads.submit(self._run, call)
        return call

    async def call_async(self, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do the same as `call` without blocking the event loop. Cancellation ends the call."""
        import asyncio

        return await asyncio.wrap_future(self.submit(function, *args, **kwargs))

    def close(self) -> None:
        """End all workers; running and waiting calls fail."""
        self.is_closed = True
        self._end_all()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _set_up(self) -> None:
        self._process, self.is_closed = os.getpid(), False
        self._slots = threading.BoundedSemaphore(self._workers)
        self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="kinsplit-worker")
        self._idle: list[_Worker] = []
        self._watchdog = _Watchdog()
        # For a pool that is never closed, and before the interpreter ends.
        self._end_all = weakref.finalize(self, self._watchdog.end)

    def _check(self) -> None:
        if self._process != os.getpid():  # After a fork, the workers belong to the parent.
            self._set_up()
        if self.is_closed:
            raise _closed()

    def _run(self, call: _Call[_T]) -> None:
        if not call.set_running_or_notify_cancel():
            return
        try:
            call.set_result(self._result_of(call))
        except BaseException as error:
            call.set_exception(error)

    def _result_of(self, call: _Call[_T]) -> _T:
        self._check()
        with self._slots:
            worker = self._idle_worker() or _Worker(self._watchdog, self._prepare)
            try:
                answer: _T = worker.answer(call, self._limits)
                return answer
            finally:
                if worker.is_usable and not self.is_closed:
                    self._idle.append(worker)
                else:
                    worker.end()

    def _idle_worker(self) -> _Worker | None:
        """Return an idle worker that is still running, or None."""
        while True:
            try:
                worker = self._idle.pop()  # Atomic like append, so there is no lock that a fork could leave locked.
            except IndexError:
                return None
            if worker.is_running:
                return worker
            worker.end()


class _Call(Future[_T]):
    """A call, which is also the future of a submitted one."""

    def __init__(self, function: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        try:
            self.payload = pickle.dumps((function, args, kwargs), pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # the objects' own methods may raise anything
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
    """The pool's end of a worker process, used by one thread at a time; any thread may stop its call.

    Attributes:
        deadline: Deadline of its call in seconds of `time.monotonic`; infinity without a call.
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
                # Ctrl-C interrupts only the waiting process, which then ends its workers.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise WorkerError(f"can't start a worker process: {error}") from error
        self._requests, self._replies = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        watchdog.workers.add(self)
        # In this order, since `end` does both in reverse: a call that passed its check just before isn't missed.
        if watchdog.is_ended:
            self.end()
            raise _closed()
        try:
            outcome, answer = self._exchange(self, prepare, CallLimits(_START, 0, 0))
        except BaseException as error:
            self.end()
            if isinstance(error, WorkerError):
                raise WorkerError(f"can't start a worker process: it {error}") from error
            raise
        if outcome == child.ERROR:
            self.end()
            raise cast(Exception, pickle.loads(answer))  # noqa: S301 - from a process of our own

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def answer(self, call: _Call[_T], limits: CallLimits) -> _T:
        call.worker = self  # Before the check for a stop, since `cancel` does both in reverse order.
        if call.is_stopped:
            self.is_usable = True
            raise CancelledError
        outcome, answer = self._exchange(call, pickle.dumps((limits, _working_directory(), call.payload)), limits)
        if outcome == child.NO_MEMORY:
            raise MemoryLimitError(limits.memory)
        try:
            value: _T | Exception = pickle.loads(answer)  # noqa: S301 - from a process of our own
        except Exception as error:  # the objects' own methods may raise anything
            raise WorkerError(f"the result can't be unpickled: {error!r}") from error
        if outcome == child.ERROR:
            raise cast(Exception, value)
        return cast(_T, value)

    def stop(self, call: object, reason: BaseException) -> None:
        """Kill the process if it is running this call, which then fails with the given reason."""
        with self._lock:
            if self._call is call and self._owner == os.getpid():
                self._reason = reason
                self._process.kill()

    def stop_late_call(self) -> None:
        with self._lock:
            if self.deadline > time.monotonic():
                return
            # Once is enough: until its thread notices, the watchdog would stop the call again and again.
            call, self.deadline = self._call, math.inf
        self.stop(call, TimeLimitError(self._limit))

    def end(self) -> None:
        self.is_usable, self.deadline = False, math.inf
        self._watchdog.workers.discard(self)
        with self._lock:
            self._reason = self._reason or WorkerError("was ended with its pool")
        if self._owner == os.getpid():  # Not forked
            self._process.kill()
            self._process.wait()
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError):  # Closing flushes data that the process didn't read.
                pipe.close()

    def _exchange(self, call: object, request: bytes, limits: CallLimits) -> tuple[bytes, bytes]:
        self.is_usable = False
        with self._lock:
            self._call, self._limit, self.deadline = call, limits.time, time.monotonic() + limits.time
        self._watchdog.expect(self.deadline)
        try:
            self._requests.write(child.LENGTH.pack(len(request)) + request)
            self._requests.flush()
            outcome, goes_on, size, length = child.REPLY.unpack(read_exactly(child.REPLY.size, self._replies))
            if outcome == child.TOO_LARGE or length > max(limits.result, child.ERROR_LIMIT):
                raise ResultSizeError(size, limits.result)
            answer = read_exactly(length, self._replies)
        except (OSError, EOFError, ValueError):  # ValueError if another thread ended the worker.
            code = self._process.wait()
            raise (self._reason or WorkerDiedError(code)) from None
        finally:
            with self._lock:
                self._call, self.deadline = None, math.inf
        self.is_usable = goes_on and self._reason is None
        return outcome, answer


class _Watchdog:
    """A thread that ends the calls of a pool at their deadlines; it starts with the first call.

    A timer per call would start a thread in every search.
    """

    def __init__(self) -> None:
        self.workers: set[_Worker] = set()
        self._thread: threading.Thread | None = None
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._wakes_at, self.is_ended = math.inf, False

    def expect(self, deadline: float) -> None:
        """Wake up at a deadline, in seconds of `time.monotonic`."""
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._watch, name="kinsplit-watchdog", daemon=True)
                    self._thread.start()
        if deadline < self._wakes_at:
            self._wake.set()

    def end(self) -> None:
        self.is_ended = True
        self._wake.set()
        for worker in tuple(self.workers):
            worker.end()

    def _watch(self) -> None:
        while True:
            # Before the check, so that it can't clear the event that `end` sets.
            self._wake.clear()
            if self.is_ended:
                return
            # Any deadline set from here on is earlier, and wakes the thread.
            self._wakes_at = math.inf
            for worker in tuple(self.workers):
                worker.stop_late_call()
            self._wakes_at = nearest = min((worker.deadline for worker in tuple(self.workers)), default=math.inf)
            # A deadline set between the two lines above has already set the event.
            self._wake.wait(None if nearest == math.inf else max(nearest - time.monotonic(), 0))


def _closed() -> WorkerError:
    return WorkerError("The pool of workers is closed. Create a new one.")


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - the worker needs a string
    except OSError:  # It was deleted.
        return None
