"""Work that waits for others, done by a few threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

from kinsplit.errors import LanguageModelError, ModelUnavailableError

Item = TypeVar("Item")
Result = TypeVar("Result")


def as_done(
    work: Callable[[Item], Result], items: Sequence[Item], threads: int
) -> Generator[tuple[Item, Result], None, None]:
    """Yield each item with its result, as soon as it is there.

    Whoever stops in between, with Ctrl-C for example, need not wait for what is under way: the threads are daemons. One
    thread is the caller's own, which takes the next item when it is asked for it.

    Args:
        work: Called in the threads, further ones with a copy of the caller's context; should not raise.
        items: What it is called with.
        threads: Most calls at the same time.

    Raises:
        BaseException: What `work` raised.
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

    crew = [
        threading.Thread(target=copy_context().run, args=(run,), daemon=True) for _ in range(min(threads, len(items)))
    ]
    for thread in crew:
        thread.start()
    try:
        for _ in items:
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        stopped.set()
    for thread in crew:
        thread.join()


#: How often a question is asked if the answer can't be used.
ATTEMPTS = 3
# After so many failures in a row the model isn't asked any more: each may have taken minutes.
_FAILURES = 3


class Patience:
    """Counts failures, from any thread: a model that is away, or fails three times in a row, is given up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._given_up: LanguageModelError | None = None

    @property
    def given_up(self) -> LanguageModelError | None:
        """The failure for which the model isn't asked any more."""
        return self._given_up

    def count(self, error: LanguageModelError | None) -> None:
        """Count what came of a question: a failure, or None for an answer."""
        with self._lock:
            self._failures = 0 if error is None else self._failures + 1
            if isinstance(error, ModelUnavailableError) or self._failures >= _FAILURES:
                self._given_up = error
