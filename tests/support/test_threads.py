"""Blocking code in threads of an event loop: results, errors, cancellation, and coroutines that it waits for."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from contextvars import ContextVar

import pytest

from kinsplit.support.threads import awaiting, call_either, in_thread, with_awaiting

NAME: ContextVar[str] = ContextVar("NAME", default="none")


def plain(word: str) -> str:
    return f"{word} plain"


async def awaited(word: str) -> str:
    await asyncio.sleep(0)
    return f"{word} awaited in {NAME.get()}"


async def failing(word: str) -> str:
    raise LookupError(word)


async def test_a_call_has_the_context_of_its_task_and_its_errors_arrive() -> None:
    NAME.set("the task")
    assert await in_thread(lambda: (NAME.get(), threading.current_thread() is threading.main_thread())) == (
        "the task",
        False,
    )
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 / 0)


async def test_a_cancelled_caller_is_free_at_once_and_the_call_ends() -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        may_end.wait(20)
        ended.set()

    task = asyncio.create_task(in_thread(call))
    await asyncio.to_thread(begun.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not ended.is_set()
    may_end.set()
    assert await asyncio.to_thread(ended.wait, 20)


async def test_a_thread_of_a_loop_waits_for_coroutines_and_every_other_one_calls_the_plain_form() -> None:
    NAME.set("the task")
    assert await in_thread(call_either, plain, awaited, "word") == "word awaited in the task"
    assert await in_thread(call_either, plain, None, "word") == "word plain"
    assert call_either(plain, awaited, "word") == "word plain", "a loop can't wait for itself"
    assert await asyncio.to_thread(call_either, plain, awaited, "word") == "word plain"
    with pytest.raises(LookupError, match="word"):
        await in_thread(call_either, plain, failing, "word")


async def test_a_coroutine_that_a_thread_waits_for_may_call_in_its_turn() -> None:
    async def around(word: str) -> str:
        return call_either(plain, awaited, word)

    assert await in_thread(call_either, plain, around, "word") == "word plain"


async def test_more_calls_wait_than_the_loop_has_threads() -> None:
    together = threading.Barrier((os.cpu_count() or 1) + 8)
    await asyncio.gather(*(in_thread(together.wait, 20) for _ in range(together.parties)))


def test_a_loop_that_ends_leaves_no_thread_waiting() -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    def call() -> None:
        begun.set()
        may_go_on.wait(20)
        try:
            call_either(plain, awaited, "word")
        except BaseException as error:
            failed.append(error)

    async def main() -> None:
        asyncio.create_task(in_thread(call)).add_done_callback(lambda _: None)
        await asyncio.to_thread(begun.wait, 20)

    asyncio.run(main())
    may_go_on.set()
    while not failed:
        threading.Event().wait(0.001)
    assert isinstance(failed[0], RuntimeError)


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert asyncio.run(in_thread(plain, "word")) == "word plain"
    child = os.fork()
    if not child:
        os._exit(0 if asyncio.run(asyncio.wait_for(in_thread(plain, "word"), 20)) == "word plain" else 1)
    assert os.waitpid(child, 0)[1] == 0


@with_awaiting(find="afind")
class Base:
    def find(self, word: str, *, times: int = 1) -> str:
        """Find a word."""
        return word * times

    acount = awaiting(find)


class Sub(Base):
    def find(self, word: str, *, times: int = 1) -> str:
        return f"sub {word * times}"


async def test_a_method_gets_a_form_for_event_loops_that_follows_subclasses() -> None:
    afind = vars(Base)["afind"]
    assert await afind(Base(), "a", times=2) == "aa"
    assert await afind(Sub(), "a", times=2) == "sub aa"
    assert inspect.signature(afind) == inspect.signature(Base.find)
    assert inspect.iscoroutinefunction(afind)
    assert "`find`" in (afind.__doc__ or "")
