"""A few threads do the work, and nobody waits for them who stops."""

from __future__ import annotations

import _thread
import signal
import threading
from contextvars import ContextVar

import pytest

from kinsplit.language_models.streaming import as_completed


def test_every_item_comes_with_its_result() -> None:
    assert sorted(as_completed(lambda n: n * n, range(100), 7)) == [(n, n * n) for n in range(100)]
    assert list(as_completed(str, [], 3)) == []


def test_one_thread_is_the_callers_own_and_does_nothing_ahead() -> None:
    asked = []
    results = as_completed(lambda n: asked.append((n, threading.current_thread())), [1, 2, 3], 1)
    next(results)
    next(results)
    assert asked == [(1, threading.current_thread()), (2, threading.current_thread())]


def test_the_threads_are_gone_when_all_is_done() -> None:
    before = threading.active_count()
    list(as_completed(str, range(20), 5))
    assert threading.active_count() == before


def test_a_slow_item_holds_up_no_other() -> None:
    release = threading.Event()
    results = as_completed(lambda n: n or release.wait(10), [0, 1, 2], 2)
    assert {next(results), next(results)} == {(1, 1), (2, 2)}
    release.set()
    assert list(results) == [(0, True)]


def test_what_is_raised_arrives() -> None:
    with pytest.raises(ZeroDivisionError):
        list(as_completed(lambda n: 1 // n, [1, 0, 2], 2))


def test_the_callers_context_is_there() -> None:
    tracer: ContextVar[str] = ContextVar("tracer", default="none")
    tracer.set("caller")
    assert list(as_completed(lambda _: tracer.get(), [1], 1)) == [(1, "caller")]


def test_ctrl_c_does_not_wait_for_what_is_under_way() -> None:
    release, begun, calls = threading.Event(), threading.Event(), []

    def work(n: int) -> None:
        calls.append(n)
        if not begun.is_set():
            begun.set()
            _thread.interrupt_main()
        release.wait(30)

    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(as_completed(work, range(100), 2))
    finally:
        signal.signal(signal.SIGINT, former)
    assert not release.is_set(), "stopped while all threads still wait"
    release.set()
    assert len(calls) <= 2
