"""An error of the store arrives where a search waits for it, in `try`, `with`, `finally` and the spans of stages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from kinsplit import Chunk, Document, Index
from kinsplit.errors import StoreError
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Query, RankedEntries
from kinsplit.support import telemetry

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


async def test_a_search_that_is_cancelled_frees_its_caller_and_ends_in_its_thread(
    index: Index, ended: Callable[[], dict[str, ReadableSpan]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, may_answer, answered = threading.Event(), threading.Event(), threading.Event()
    get = type(index.store).get

    def waiting(store: ChunkStore, ids: Sequence[str]) -> list[Chunk]:
        asked.set()
        may_answer.wait(20)
        answered.set()
        return get(store, ids)

    monkeypatch.setattr(type(index.store), "get", waiting)
    task = asyncio.create_task(index.asearch("larks"))
    await asyncio.to_thread(asked.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not answered.is_set(), "the caller waits for the store"
    may_answer.set()
    while "kinsplit.search" not in ended():
        await asyncio.sleep(0.001)
    assert "error.type" not in dict(ended()["kinsplit.search"].attributes or {})


async def test_a_slow_store_does_not_block_the_loop(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, may_answer = threading.Event(), threading.Event()
    rank = type(index.store).rank

    def slowly(store: ChunkStore, queries: Sequence[Query]) -> list[RankedEntries]:
        asked.set()
        assert may_answer.wait(20)
        return rank(store, queries)

    monkeypatch.setattr(type(index.store), "rank", slowly)
    searches = [asyncio.create_task(index.asearch("larks")) for _ in range(40)]
    while not asked.is_set():
        await asyncio.sleep(0.001)
    # Only a free loop gets here before the store has answered.
    may_answer.set()
    assert all(await asyncio.gather(*searches))
