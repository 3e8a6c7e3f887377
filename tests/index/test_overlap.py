"""Tests of stages that overlap: their order, their bounds and what ends them."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kinsplit import Document, Index
from kinsplit.chunk import Chunk
from kinsplit.embedding import Progress
from kinsplit.indexing import indexer
from kinsplit.indexing.overlap import Inbox, Overlap
from tests.index.helpers import RecordingEmbedder, Stored, open_index

_LONG = 30


class FailedError(Exception):
    pass


class Stages:
    """Three stages that record what they do; each waits for an event before the item of its own number."""

    def __init__(self, items: int = 8, *, fail: str = "", at: int = -1) -> None:
        self.prepared, self.worked, self.finished = list[int](), list[int](), list[int]()
        self.fail, self.at, self.items = fail, at, items
        self.go = {name: threading.Event() for name in ("prepare", "work", "finish")}
        for event in self.go.values():
            event.set()
        self.begun = {name: threading.Event() for name in self.go}
        self.closed = False

    def prepare(self) -> Generator[int, None, None]:
        try:
            for number in range(self.items):
                self._turn("prepare", number)
                self.prepared.append(number)
                yield number
        finally:
            self.closed = True

    def work(self, number: int) -> int:
        self._turn("work", number)
        self.worked.append(number)
        return number

    def finish(self, number: int) -> Iterator[str]:
        for half in "ab":
            self._turn("finish", number)
            self.finished.append(number)
            yield f"{number}{half}"

    def run(self) -> Generator[str, None, None]:
        return iter(Overlap(self.prepare(), self.work, self.finish, Inbox()))

    def _turn(self, stage: str, number: int) -> None:
        self.begun[stage].set()
        assert self.go[stage].wait(_LONG)
        if self.fail == stage and self.at == number:
            raise FailedError(stage)


def test_results_come_in_order() -> None:
    assert list(Stages().run()) == [f"{number}{half}" for number in range(8) for half in "ab"]


def test_no_stage_runs_far_ahead_of_a_slow_one() -> None:
    stages = Stages(20)
    stages.go["finish"].clear()
    threading.Thread(target=list, args=(stages.run(),), daemon=True).start()
    reached = threading.Event()
    for _ in range(200):  # Until nothing moves any more, which no event can tell.
        if len(stages.worked) == 2 and len(stages.prepared) == 4:
            break
        reached.wait(0.01)
    reached.wait(0.05)
    assert (stages.worked, stages.prepared) == ([0, 1], [0, 1, 2, 3])
    stages.go["finish"].set()


@pytest.mark.parametrize("stage", ["prepare", "work", "finish"])
def test_an_error_ends_the_run_once_the_items_before_it_are_finished(stage: str) -> None:
    stages, seen = Stages(fail=stage, at=3), list[str]()
    with pytest.raises(FailedError, match=stage):
        seen.extend(stages.run())
    assert seen == [f"{number}{half}" for number in range(3) for half in "ab"]
    assert stages.closed


def test_an_error_of_the_last_stage_that_comes_during_the_work_ends_the_run() -> None:
    stages, inbox = Stages(fail="finish", at=0), Inbox()

    def work(number: int) -> int:
        while number == 1 and overlap._error is None:
            inbox.make(wait=True)
        return number

    overlap = Overlap(stages.prepare(), work, stages.finish, inbox)
    with pytest.raises(FailedError, match="finish"):
        list(overlap)
    assert stages.closed


def test_a_closed_run_finishes_what_was_worked_on_and_ends_its_threads() -> None:
    stages, before = Stages(), threading.active_count()
    results = stages.run()
    assert next(results) == "0a"
    results.close()
    assert stages.finished == [number for number in stages.worked for _ in range(2)]
    assert stages.closed
    assert threading.active_count() == before


def test_ctrl_c_waits_for_no_item_in_preparation_and_for_one_result() -> None:
    stages = Stages()

    def interrupted(number: int) -> int:
        if number == 1:
            stages.go["prepare"].clear()
            assert stages.begun["finish"].wait(_LONG)
            threading.Timer(0.05, stages.go["finish"].set).start()
            raise KeyboardInterrupt
        return number

    stages.go["finish"].clear()
    with pytest.raises(KeyboardInterrupt):
        list(Overlap(stages.prepare(), interrupted, stages.finish, Inbox()))
    assert stages.finished == [0]
    stages.go["prepare"].set()


class MeetingEmbedder(RecordingEmbedder):
    """An embedder whose second call waits until other threads have written the first batch and split the third."""

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.threads = 0, set[int]()
        self.split, self.written = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        self.calls += 1
        self.threads.add(threading.get_ident())
        if self.calls == 2:
            assert self.split.wait(_LONG)
            assert self.written.wait(_LONG)
        return super().embed(texts, progress)


def test_the_model_works_while_the_next_documents_are_split_and_the_last_ones_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(indexer, "_BATCH", 4)
    monkeypatch.setattr(indexer, "_LOOKED_UP", 1)
    embedder = MeetingEmbedder()
    documents = [Document(f"{number}", f"Owl {number} hunts at night.") for number in range(8)]
    with Index("memory:", embedder=embedder) as index:
        compare = index.store.compare
        sync: Any = index.store.sync

        def watch_compare(documents: Mapping[str, Sequence[Chunk]]) -> object:
            if "5" in documents:
                embedder.split.set()
            return compare(documents)

        def watch_sync(source_id: str, *rest: object) -> object:
            report = sync(source_id, *rest)
            if source_id == "1":
                embedder.written.set()
            return report

        monkeypatch.setattr(index.store, "compare", watch_compare)
        monkeypatch.setattr(index.store, "sync", watch_sync)
        stored = Stored()
        index.add(documents, on_event=stored)
    assert [document.source_id for document in stored.documents] == [document.id for document in documents]
    assert embedder.threads == {threading.get_ident()}


def test_callbacks_run_in_the_callers_thread_and_their_errors_end_the_run(tmp_path: Path, course: Path) -> None:
    threads: list[int] = []

    def note(*_: object) -> None:
        threads.append(threading.get_ident())

    def refuse(_: object) -> None:
        raise FailedError

    with open_index(tmp_path, RecordingEmbedder()) as index:
        with pytest.raises(FailedError):
            index.add(course, on_event=refuse)
        assert index.count() == 0
        index.add(course, on_event=note)
    assert threads == [threading.get_ident()] * 5


def test_unchanged_documents_are_reported_before_the_last_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "_CHUNKS", 4)
    monkeypatch.setattr(indexer, "_LOOKED_UP", 4)
    monkeypatch.setattr(indexer, "_CHARACTERS", 60)
    documents = [Document(f"{number}", f"Owl {number} hunts at night.") for number in range(40)]
    taken: list[str] = []

    def take() -> Iterator[Document]:
        for document in documents:
            taken.append(document.id)
            yield document

    with Index("memory:", embedder="hash") as index:
        index.add(documents)
        reports = index._indexer().run(take())
        assert next(reports).changes.unchanged == 1
        assert len(taken) < 20
        assert sum(report.changes.unchanged for report in reports) == 39
