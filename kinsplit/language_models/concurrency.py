"""Concurrent calls to a language model, and the circuit breaker that ends them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

from kinsplit.errors import LanguageModelError, ModelUnavailableError

Item = TypeVar("Item")
Result = TypeVar("Result")


def as_completed(
    work: Callable[[Item], Result], items: Sequence[Item], threads: int
) -> Generator[tuple[Item, Result], None, None]:
    """Yield each item with its result, in the order in which the results come.

    A caller who stops early, with Ctrl-C for example, does not wait for calls in progress: the threads are daemons.
    With one thread or one item, the calls run in the caller's own thread, each when its result is requested.

    Args:
        work: Called in the threads with a copy of the caller's context; should not raise.
        items: Arguments of the calls.
        threads: Maximum number of concurrent calls.

    Raises:
        BaseException: Raised by `work`.
    """
    if min(threads, len(items)) <= 1:
        for item in items:
            yield item, work(item)
        return
    waiting: SimpleQueue[Item] = SimpleQueue()
    done: SimpleQueue[tuple[Item, Result] | BaseException] = SimpleQueue()
    stopped = threading.Event()
    for item in items:
        waiting.put(item)

    def run() -> None:
        while not stopped.is_set():
            try:
                item = waiting.get_nowait()
            except Empty:
                return
            try:
                done.put((item, work(item)))
            except BaseException as error:
                done.put(error)

    pool = [
        threading.Thread(target=copy_context().run, args=(run,), daemon=True) for _ in range(min(threads, len(items)))
    ]
    for thread in pool:
        thread.start()
    try:
        for _ in items:
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        stopped.set()
    for thread in pool:
        thread.join()


#: Number of times a prompt is sent while its answers can't be used.
ATTEMPTS = 3
# Each failure in a row may have taken minutes.
_FAILURES = 3


class CircuitBreaker:
    """Stops the calls to a model that is unavailable or fails three times in a row; any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._failure: LanguageModelError | None = None

    @property
    def failure(self) -> LanguageModelError | None:
        """The failure after which the model is no longer called."""
        return self._failure

    def record(self, error: LanguageModelError | None) -> None:
        """Record the outcome of a call: a failure, or None for an answer."""
        with self._lock:
            self._count = 0 if error is None else self._count + 1
            if isinstance(error, ModelUnavailableError) or self._count >= _FAILURES:
                self._failure = error
