"""Tests of adding to an index without blocking the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kinsplit import Document, Index
from kinsplit.embedding import Progress
from kinsplit.errors import LoadError
from kinsplit.indexing.reports import AddEvent, DocumentReport, FileRead
from tests.index.helpers import RecordingEmbedder, open_index


class WaitingEmbedder(RecordingEmbedder):
    """An embedder that waits until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        self.begun.set()
        assert self.go.wait(30)
        return super().embed(texts, progress)


async def test_the_report_and_the_collection_are_those_of_add(tmp_path: Path, course: Path) -> None:
    (course / "broken.pdf").write_bytes(b"nonsense")
    events: list[AddEvent] = []
    with (
        open_index(tmp_path / "one", RecordingEmbedder()) as sync,
        open_index(tmp_path / "two", RecordingEmbedder()) as other,
    ):
        for given in ({}, {"prune": True}):
            expected = sync.add(course, **given)
            report = await other.aadd(course, **given, on_event=events.append)
            assert [str(failure.error) for failure in report.failed] == [str(f.error) for f in expected.failed]
            assert replace(report, seconds=0, failed=()) == replace(expected, seconds=0, failed=())
            (course / "lecture_01.md").unlink(missing_ok=True)
        assert other.find({}, level=None) == sync.find({}, level=None)
    assert report.gone == ("course/lecture_01.md",)
    files = [event.source_id.rpartition("/")[2] for event in events if isinstance(event, FileRead)]
    assert files[:3] == ["broken.pdf", "lecture_01.md", "lecture_02.md"]
    assert sum(isinstance(event, DocumentReport) for event in events) == 3


async def test_the_loop_goes_on_and_searches_meanwhile() -> None:
    embedder = WaitingEmbedder()
    with Index("memory:", embedder=embedder) as index:
        embedder.go.set()
        await index.aadd(Document("a", "Owls hunt at night."))
        await index.asearch("owls")  # The first search also embeds the unrelated texts.
        embedder.go.clear(), embedder.begun.clear()
        adding = asyncio.create_task(index.aadd(Document("b", "Larks sing at dawn.")))
        assert await asyncio.to_thread(embedder.begun.wait, 30)
        assert [passage.source_id for passage in await index.asearch("owls")] == ["a"]
        assert not adding.done()
        embedder.go.set()
        assert (await adding).added == 1


async def test_a_cancelled_call_ends_before_it_is_done_and_leaves_whole_documents() -> None:
    embedder = WaitingEmbedder()
    documents = [Document(f"{n}", f"Paragraph {n} says that {n} is a number.") for n in range(600)]
    with Index("memory:", embedder=embedder) as index:
        adding = asyncio.create_task(index.aadd(documents))
        assert await asyncio.to_thread(embedder.begun.wait, 30)
        for _ in range(3):  # However often.
            adding.cancel()
            await asyncio.sleep(0)
        assert not adding.done()
        embedder.go.set()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert len(embedder.seen) < 256
        assert index.count() == 0
        assert (await index.aadd(documents)).added == 600
        for document in documents:
            assert [chunk.text for chunk in index.find({"source_id": document.id})] == [document.text]


async def test_errors_come_through() -> None:
    with Index("memory:", embedder="hash") as index:
        with pytest.raises(LoadError, match="doesn't exist"):
            await index.aadd("nowhere")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await index.aadd(Document("a", "Owls hunt at night."))
