"""Stages of work that overlap: one thread prepares, the caller's thread works, a third thread finishes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")
Work = TypeVar("Work")
Result = TypeVar("Result")

# Items prepared ahead of the work, and items whose finish it may run ahead of.
_AHEAD = 2


class StoppedError(Exception):
    """The run that a thread works for has ended."""


class Inbox:
    """Calls that threads leave for one other thread, which makes them in order."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._closed = threading.Event()

    def leave(self, call: Callable[[], object]) -> None:
        """Leave a call, without waiting for it, or raise StoppedError if nobody makes calls any more."""
        self.check()
        self._calls.put(call)

    def check(self) -> None:
        """Raise StoppedError once nobody makes calls any more."""
        if self._closed.is_set():
            raise StoppedError

    def make(self, *, wait: bool = False) -> None:
        """Make the calls that were left."""
        if wait:
            self._calls.get()()
        with suppress(Empty):
            while True:
                self._calls.get_nowait()()

    def close(self) -> None:
        """End the threads at their next call or check."""
        self._closed.set()


class Overlap(Generic[Item, Work, Result]):
    """Results of items that pass three stages, each of which goes on while the others wait.

    At most two items are prepared ahead, and at most two await their finish, whatever the speed of the stages.

    An error of a stage ends the run once the items before it are finished. So does whatever ends the caller's thread
    while it works or takes a result, except for Ctrl-C: that waits neither for an item in preparation nor for any but
    the result in progress.
    """

    def __init__(
        self,
        items: Generator[Item, None, None],
        work: Callable[[Item], Work],
        finish: Callable[[Work], Iterable[Result]],
        inbox: Inbox,
    ) -> None:
        self._items, self._work, self._finish, self._inbox = items, work, finish, inbox
        self._slots = threading.Semaphore(_AHEAD)
        self._worked: SimpleQueue[Work | None] = SimpleQueue()
        self._is_interrupted = False
        # The caller's thread alone uses what follows.
        self._ready, self._results = deque[Item](), deque[Result]()
        self._unfinished, self._has_more, self._can_finish = 0, True, True
        self._error: BaseException | None = None

    def __iter__(self) -> Generator[Result, None, None]:
        preparing, finishing = self._start(self._prepare), self._start(self._complete)
        try:
            while self._has_more or self._ready or self._unfinished:
                if self._ready and self._unfinished < _AHEAD:
                    self._step()
                    self._inbox.make()
                else:
                    self._inbox.make(wait=True)
                while self._results:
                    yield self._results.popleft()
            if self._error is not None:
                raise self._error
        except KeyboardInterrupt:
            self._is_interrupted = True
            raise
        finally:
            self._inbox.close()
            self._slots.release()
            self._worked.put(None)
            finishing.join()
            if not self._is_interrupted:
                preparing.join()

    def _start(self, stage: Callable[[], None]) -> threading.Thread:
        # A daemon, since an interrupted program doesn't wait for an item in preparation, which may take minutes.
        thread = threading.Thread(target=copy_context().run, args=(stage,), name="kinsplit-indexing", daemon=True)
        thread.start()
        return thread

    def _step(self) -> None:
        item = self._ready.popleft()
        self._slots.release()
        try:
            worked = self._work(item)
        except Exception as error:
            self._end(error)
            self._ready.clear()
        else:
            if self._can_finish:  # The last stage may have failed in the meantime.
                self._unfinished += 1
                self._worked.put(worked)

    def _end(self, error: BaseException | None = None) -> None:
        """Take no more items."""
        self._has_more, self._error = False, error or self._error

    # The threads run the two methods below, and leave the others for the caller's thread.

    def _prepare(self) -> None:
        with suppress(StoppedError), closing(self._items):
            try:
                self._wait_for_slot()
                for item in self._items:
                    self._inbox.leave(partial(self._accept, item))
                    self._wait_for_slot()
            except StoppedError:
                raise
            except BaseException as error:
                self._inbox.leave(partial(self._end, error))
            else:
                self._inbox.leave(self._end)

    def _complete(self) -> None:
        # Items that were worked on are finished even if nobody takes their results any more.
        while (worked := self._worked.get()) is not None:
            try:
                for result in self._finish(worked):
                    self._pass_on(partial(self._results.append, result))
                    if self._is_interrupted:
                        return
            except BaseException as error:
                self._pass_on(partial(self._abort, error))
                return
            self._pass_on(self._count)

    def _wait_for_slot(self) -> None:
        self._slots.acquire()
        self._inbox.check()

    def _pass_on(self, call: Callable[[], object]) -> None:
        with suppress(StoppedError):
            self._inbox.leave(call)

    def _accept(self, item: Item) -> None:
        if self._has_more:  # A later stage may have failed in the meantime.
            self._ready.append(item)

    def _abort(self, error: BaseException) -> None:
        self._end(error)
        self._ready.clear()
        self._unfinished, self._can_finish = 0, False

    def _count(self) -> None:
        self._unfinished -= 1
