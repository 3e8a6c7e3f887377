"""An error of the store arrives where a search waits for it, in `try`, `with`, `finally` and the spans of stages."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from kinsplit import Document, Index
from kinsplit.errors import StoreError
from kinsplit.stores.calls import rank, rank_together
from kinsplit.stores.protocol import Query
from kinsplit.support import telemetry
from kinsplit.support.aio import Call, run, run_async

Search = Callable[..., Any]
SEARCHES: dict[str, Search] = {
    "sync": lambda index, **options: index.search("larks", **options),
    "async": lambda index, **options: asyncio.run(index.asearch("larks", **options)),
}
#: Calls of the store during a search, with the stage that makes each.
CALLS = {"rank": "kinsplit.search.candidates", "get": "kinsplit.search.fetch"}


@pytest.fixture
def index() -> Iterator[Index]:
    with Index("memory:", embedder="hash") as made:
        made.add(Document("notes.md", "Owls hunt at night. Larks sing at dawn. " * 40))
        yield made


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, ReadableSpan]]:
    """Return the ended spans by name."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", lambda: provider.get_tracer("kinsplit"))
    return lambda: {span.name: span for span in exporter.get_finished_spans()}


def failing(*_: object, **__: object) -> Any:
    raise StoreError("The store is down.")


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("options", [{}, {"level": "all", "budget": 100}], ids=["leaves", "all levels"])
@pytest.mark.parametrize("call", CALLS)
def test_the_stages_end_with_the_error_of_the_store(
    index: Index,
    ended: Callable[[], dict[str, ReadableSpan]],
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    options: dict[str, Any],
    search: str,
) -> None:
    monkeypatch.setattr(type(index.store), call, failing)
    with pytest.raises(StoreError, match="is down"):
        SEARCHES[search](index, **options)
    spans = ended()
    for name in (CALLS[call], "kinsplit.search"):
        assert spans[name].status.status_code is StatusCode.ERROR
        assert dict(spans[name].attributes or {})["error.type"] == "StoreError"


async def test_a_search_that_is_cancelled_ends_its_stages_as_cancelled(
    index: Index, ended: Callable[[], dict[str, ReadableSpan]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def waiting(*_: object, **__: object) -> Any:
        asked.set()
        may_answer.wait(20)
        return []

    monkeypatch.setattr(type(index.store), "rank", waiting)
    task = asyncio.create_task(index.asearch("larks"))
    await asyncio.to_thread(asked.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_answer.set()
    for name in ("kinsplit.search.candidates", "kinsplit.search"):
        assert dict(ended()[name].attributes or {})["error.type"] == "CancelledError"


class Store:
    """A store whose second method works."""

    def get(self) -> str:
        raise ValueError("The store is down.")

    def spare(self) -> str:
        return "spare"


class AsyncStore:
    """Its asynchronous counterpart."""

    async def get(self) -> str:
        return Store().get()

    async def spare(self) -> str:
        return Store().spare()


DRIVERS: dict[str, Callable[[Any], Any]] = {
    "sync": lambda work: run(work, Store()),
    "async": lambda work: asyncio.run(run_async(work, AsyncStore())),
}


@pytest.mark.parametrize("drive", DRIVERS.values(), ids=DRIVERS)
def test_work_can_recover_from_an_error_of_the_store(drive: Callable[[Any], Any]) -> None:
    seen: list[str] = []

    @contextlib.contextmanager
    def watch(name: str) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            seen.append(f"{name}: {type(error).__name__}")
            raise
        finally:
            seen.append(f"{name}: left")

    async def recovers() -> str:
        with watch("outer"):
            try:
                with watch("inner"):
                    return await Call(lambda store: store.get())
            except ValueError:
                return f"recovered with {await Call(lambda store: store.spare())}"

    async def fails() -> str:
        with watch("fails"):
            return await Call(lambda store: store.get())

    assert drive(recovers()) == "recovered with spare"
    with pytest.raises(ValueError, match="is down"):
        drive(fails())
    assert seen == ["inner: ValueError", "inner: left", "outer: left", "fails: ValueError", "fails: left"]


async def test_work_is_cancelled_behind_the_step_that_it_does_in_its_thread() -> None:
    begun, may_go_on, left = threading.Event(), threading.Event(), threading.Event()
    seen: list[str] = []

    async def work() -> None:
        try:
            begun.set()
            may_go_on.wait(20)
            await Call(lambda store: store.spare())
            seen.append("went on")
        except BaseException as error:
            seen.append(type(error).__name__)
            raise
        finally:
            left.set()

    task = asyncio.create_task(run_async(work(), AsyncStore()))
    await asyncio.to_thread(begun.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not left.is_set(), "the task goes on at once"
    may_go_on.set()
    assert await asyncio.to_thread(left.wait, 20)
    assert seen == ["CancelledError"]


def test_rankings_that_share_a_call_all_see_its_error(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    async def step(number: int) -> str:
        with contextlib.suppress(StoreError):
            await rank([Query("dense", np.zeros(64, np.float32), 1)])
            return "went on"
        return f"{number} recovered"

    monkeypatch.setattr(type(index.store), "rank", failing)
    assert run(rank_together([step(0), step(1)]), index.store) == ["0 recovered", "1 recovered"]
