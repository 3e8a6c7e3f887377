"""Tests of reading an embedded collection's files before searches need them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from kinsplit_testing import SCHEMA, TEXTS, make_chunks, save

from kinsplit.stores.engines.edge import engine
from kinsplit.stores.engines.edge.store import EdgeStore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files are read ahead on Linux only")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with EdgeStore(str(tmp_path), "cs", SCHEMA) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
    return tmp_path


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[int, int]]]:
    """The ranges that are read, by path."""
    found: dict[str, list[tuple[int, int]]] = {}

    def send(_: int, source: int, start: int, size: int) -> int:
        found.setdefault(str(Path(f"/proc/self/fd/{source}").readlink()), []).append((start, size))
        return size

    monkeypatch.setattr(os, "sendfile", send)
    monkeypatch.setattr(engine, "_LEAST", 1)
    return found


def opened(place: Path) -> dict[str, int]:
    """Open the collection, wait until its files are read, and return their sizes."""
    with EdgeStore(str(place), "cs") as store:
        store._lease.engine._read_ahead._thread.join()
        files = (path for path in (place / "cs" / "shard" / "segments").rglob("*") if path.is_file())
        return {str(path): path.stat().st_size for path in files}


def test_all_segments_are_read_from_end_to_end(
    place: Path, sent: dict[str, list[tuple[int, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_STEP", 2**20)
    sizes = opened(place)
    assert max(sizes.values()) > 2**20
    for path, size in sizes.items():
        assert sent.get(path, []) == [(start, 2**20) for start in range(0, size, 2**20)]


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(engine, "_LEAST", 10**12),
        lambda patch: patch.setattr(engine, "_available", lambda: 1000),
    ],
    ids=["small", "too large"],
)
def test_small_and_too_large_segments_are_not_read(
    change: Callable[[pytest.MonkeyPatch], None],
    place: Path,
    sent: dict[str, list[tuple[int, int]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change(monkeypatch)
    opened(place)
    assert not sent


def test_closing_ends_it(place: Path, sent: dict[str, list[tuple[int, int]]], monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def send(*_: int) -> int:
        begun.set()
        assert go_on.wait(10)
        sent.setdefault("", []).append((0, 0))
        return 0

    monkeypatch.setattr(os, "sendfile", send)
    store = EdgeStore(str(place), "cs")
    assert begun.wait(10)
    threading.Timer(0.2, go_on.set).start()
    store.close()
    assert len(sent[""]) == 1


def test_the_available_memory_is_known() -> None:
    assert engine._available() > 10**8
