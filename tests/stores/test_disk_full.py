"""Tests that a full disk gives one clear error before anything is written, not SIGBUS."""

import json
import shutil
import signal
import subprocess
import sys
from collections import namedtuple

import pytest
from kinsplit_testing import SCHEMA, TEXTS, embed, make_chunks, make_store, save

from kinsplit.errors import DiskFullError
from kinsplit.stores.engines.edge import folder
from kinsplit.stores.maintenance import verify

Usage = namedtuple("Usage", ["total", "used", "free"])
CHUNKS = make_chunks("doc", TEXTS)


@pytest.fixture
def free(monkeypatch):
    """Function that sets the free bytes of a simulated disk, on which reading fills no holes."""

    def leave(size):
        monkeypatch.setattr(folder.shutil, "disk_usage", lambda _: Usage(10**9, 10**9 - size, size))

    monkeypatch.setattr(folder, "_fills_holes", lambda _: False)
    return leave


def test_a_collection_is_not_made_on_a_full_disk(free, tmp_path):
    free(15_000_000)
    with pytest.raises(DiskFullError) as caught:
        make_store(f"edge:{tmp_path}", "cs", SCHEMA)
    assert str(caught.value).endswith(
        "to make a collection, 16.0 MB must be free, and 15.0 MB are. Nothing was written. "
        "Free some space on that disk, or use a folder on another one."
    )
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_on_a_full_disk_and_what_is_there_can_be_read_and_deleted(free, tmp_path):
    with make_store(f"edge:{tmp_path}", "cs", SCHEMA) as store:
        save(store, "doc", CHUNKS)
        free(10_000_000)
        more = make_chunks("doc", [*TEXTS, "more"])
        for write in (lambda: save(store, "doc", more), lambda: store.put(more, embed(more))):
            with pytest.raises(DiskFullError, match=r"to write into the collection, 16\.0 MB must be free"):
                write()
        assert store.find({"source_id": "doc"}) == CHUNKS
        assert verify(store) == verify(store)
    with make_store(f"edge:{tmp_path}", "cs") as store:
        assert store.find({"source_id": "doc"}) == CHUNKS
        assert store.delete("doc") == len(CHUNKS)
    free(500_000)
    with pytest.raises(DiskFullError, match="to open the collection"):
        make_store(f"edge:{tmp_path}", "cs")


def test_a_large_collection_needs_room_for_the_holes_that_its_opening_fills(free, tmp_path, monkeypatch):
    with make_store(f"edge:{tmp_path}", "cs", SCHEMA) as store:
        save(store, "doc", CHUNKS)
    free(10_000_000)
    monkeypatch.setattr(folder, "_fills_holes", lambda _: True)
    make_store(f"edge:{tmp_path}", "cs").close()
    monkeypatch.setattr(folder, "_SMALL", 0)
    with pytest.raises(DiskFullError, match=r"to open the collection, 6\d\.\d MB must be free"):
        make_store(f"edge:{tmp_path}", "cs")


def test_what_a_large_write_needs_is_asked_for(free, tmp_path):
    free(17_000_000)
    with make_store(f"edge:{tmp_path}", "cs", SCHEMA) as store:
        save(store, "doc", CHUNKS)
        large = make_chunks("large", [f"{number}" * 100_000 for number in range(5)])
        with pytest.raises(DiskFullError):
            save(store, "large", large)
        assert store.sources() == {"doc": len(CHUNKS)}


FILL = """
import os, shutil, sys
from kinsplit.errors import DiskFullError
from kinsplit_testing import SCHEMA, make_chunks, make_store, embed
for place in sys.argv[1:]:
    written = 0
    try:
        with make_store(f"edge:{place}", "cs", SCHEMA) as store:
            with open(f"{place}/filler", "wb") as filler:
                filler.truncate(shutil.disk_usage(place).free - 18_000_000)
                os.posix_fallocate(filler.fileno(), 0, filler.seek(0, os.SEEK_END))
            while written < 100:
                chunks = make_chunks(f"doc{written}", [f"{written} {place} of a text. " * 99 for place in range(100)])
                store.sync(f"doc{written}", chunks, embed(chunks))
                written += 1
    except DiskFullError as error:
        print(written, error)
"""


@pytest.fixture
def mount(tmp_path):
    """Function that mounts a small file system of a given type, or skips the test if that is not allowed."""
    places = []

    def make(size):
        place = tmp_path / f"disk{len(places)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("nothing can be mounted here")
        places.append(place)
        return place

    yield make
    for place in places:
        subprocess.run(["umount", str(place)], check=True)


MAIN = "from kinsplit.cli import main; main()"


def run(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_small_disk_holds_no_collection_and_a_larger_one_keeps_what_was_written(mount):
    small, place = mount("30m"), mount("180m")
    done = run(FILL, small, place)
    assert (done.returncode, done.stderr) == (0, "")
    refused, full = done.stdout.splitlines()
    assert "to make a collection, 36.0 MB must be free" in refused
    assert list(small.iterdir()) == []
    written, message = full.split(" ", 1)
    assert int(written) > 0
    assert "to write into the collection" in message
    read = run(MAIN, "verify", "--store", f"edge:{place}", "--collection", "cs", "--json")
    assert json.loads(read.stdout)["chunks"] == 100 * int(written)


def test_a_death_for_want_of_space_is_not_without_a_word(mount):
    unchecked = "from kinsplit.stores.engines.edge import folder; folder._check = lambda *_: None; " + MAIN
    text = mount("8m") / "a.txt"
    text.write_text("A sentence.")
    command = ("index", str(text), "--store", f"edge:{text.parent}", "--embedder", "hash")
    done = run(unchecked, *command)
    assert done.returncode == -signal.SIGBUS
    assert "Bus error" in done.stderr
    assert "folder.py" in done.stderr
