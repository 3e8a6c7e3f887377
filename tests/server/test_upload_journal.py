"""Uploads and deletions that end after any of their steps, by an error or with the process."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import httpx
import pytest

from kinsplit import Document, Index
from kinsplit.errors import EmbeddingError, InvalidParameterError, LoadError, StoreError
from kinsplit.server.collections import OpenCollection, UploadFolder, uploads
from tests.cli.conftest import environment

TWO = b'{"docid": "a", "text": "Owls hunt."}\n{"docid": "b", "text": "Larks sing."}\n'
ONE = b'{"docid": "a", "text": "Owls sleep."}\n'


#: Functions about the lock, which ends with a process.
LOCKING = ("open", "close", "_locked")


class CrashError(BaseException):
    """The process ends here: nothing in the module under test catches it."""


@contextmanager
def crash_at(line: int) -> Iterator[None]:
    """End the block before the given one of the lines of the uploads' module that it runs, counted from 0."""
    left = line

    def step(_: FrameType, event: str, __: object) -> Callable[..., Any]:
        nonlocal left
        left -= event == "line"
        if left < 0:
            raise CrashError
        return step

    def enter(frame: FrameType, *_: object) -> Callable[..., Any] | None:
        code = frame.f_code
        return step if code.co_filename == uploads.__file__ and code.co_name not in LOCKING else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


class Service:
    """A folder of uploads and its collection, which a new service opens after each crash."""

    def __init__(self, path: Path) -> None:
        self.path = path / "up"
        self.collection = OpenCollection.of(Index("memory:", collection="notes", embedder="hash"), "notes")
        self.folder = UploadFolder(self.path, "up")

    def start(self) -> None:
        self.folder.close()
        self.folder = UploadFolder(self.path, "up")
        self.folder.settle(self.collection)

    def store(self, name: str, content: bytes) -> None:
        self.folder.store(self.collection, name, BytesIO(content))

    def texts(self) -> dict[str, str]:
        index = self.collection.index
        return {id_: "".join(chunk.text for chunk in index.find({"source_id": id_})) for id_ in index.store.sources(0)}

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.path.iterdir() if path.is_file()}

    def state(self) -> object:
        inside = {path.relative_to(self.path): path.is_file() and path.read_bytes() for path in self.path.rglob("*")}
        return inside, self.texts()

    def check(self) -> dict[str, bytes]:
        """Return the files, after checking that the collection has what they hold and that nothing else is left."""
        files = self.files()
        assert sorted(path.name for path in self.path.iterdir()) == sorted(files)
        expected: dict[str, str] = {}
        for name, content in files.items():
            if name.endswith(".jsonl"):
                rows = map(json.loads, content.decode().splitlines())
                expected |= {f"up/{name}#{row['docid']}": row["text"] for row in rows}
            else:
                expected[f"up/{name}"] = content.decode()
        assert self.texts() == expected
        return files


Work = Callable[[Service], object]
OTHER = {"other.md": b"Finches eat seeds."}
#: Files before, the work, and files after it.
WORKS: dict[str, tuple[dict[str, bytes], Work, dict[str, bytes]]] = {
    "a new file": ({}, lambda s: s.store("x.md", b"New."), {"x.md": b"New."}),
    "fewer rows": ({"x.jsonl": TWO}, lambda s: s.store("x.jsonl", ONE), {"x.jsonl": ONE}),
    "an unreadable file": ({"x.pdf.md": b"Old."}, lambda s: s.store("x.jsonl", b"{"), {"x.pdf.md": b"Old."}),
    "a deletion": ({"x.jsonl": TWO}, lambda s: s.folder.delete(s.collection, "x.jsonl"), {}),
}


def crashed(path: Path, work: Work, before: dict[str, bytes], line: int) -> tuple[Service, bool]:
    """Return a service whose work ended before a line, and whether there was such a line."""
    service = Service(path)
    for name, content in {**OTHER, **before}.items():
        service.store(name, content)
    try:
        with crash_at(line), suppress(LoadError):
            work(service)
    except CrashError:
        return service, True
    return service, False


# Files that are open at the crash.
_OPEN = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@_OPEN
@pytest.mark.parametrize("name", WORKS)
def test_a_crash_before_any_line_is_completed_or_undone(name: str, tmp_path: Path) -> None:
    before, work, after = WORKS[name]
    seen: list[object] = []
    outcomes = []
    for line in range(1000):
        service, has_crashed = crashed(tmp_path / str(line), work, before, line)
        if not has_crashed:
            assert service.check() == OTHER | after
            break
        if (state := service.state()) not in seen:
            seen.append(state)
            service.start()
            found = service.check()
            assert found in (OTHER | before, OTHER | after)
            outcomes.append(found)
            # Nothing is left to do, and the next write works.
            service.start()
            service.store("x.md", b"Next.")
            assert service.check() == found | {"x.md": b"Next."}
        service.folder.close()
    assert len(seen) > 1
    assert outcomes[0] == OTHER | before
    assert outcomes[-1] == OTHER | after


@_OPEN
@pytest.mark.parametrize("name", ["fewer rows", "a deletion"])
def test_a_start_may_crash_too(name: str, tmp_path: Path) -> None:
    before, work, after = WORKS[name]
    seen: list[object] = []
    for line in range(1000):
        service, has_crashed = crashed(tmp_path / str(line), work, before, line)
        if not has_crashed:
            break
        if (state := service.state()) in seen:
            service.folder.close()
            continue
        seen.append(state)
        number = len(seen)
        while True:  # The settling goes on from whatever an interrupted one left.
            try:
                with crash_at(number):
                    service.start()
                break
            except CrashError:
                number += 7
        assert service.check() in (OTHER | before, OTHER | after)
        service.folder.close()


def test_a_file_that_fails_gives_way_to_the_former_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(tmp_path)
    service.store("x.jsonl", TWO)
    add, calls = Index.add, []

    def fail(index: Index, documents: Any, **options: Any) -> Any:
        calls.append(documents)
        if len(calls) == 1:
            add(index, list(documents)[:1], **options)
            raise StoreError("The disk is full.")
        return add(index, documents, **options)

    monkeypatch.setattr(Index, "add", fail)
    with pytest.raises(StoreError):
        service.store("x.jsonl", ONE)
    assert service.check() == {"x.jsonl": TWO}

    # If the former one can't be indexed again at once, the next write does it.
    monkeypatch.setattr(Index, "add", lambda *_, **__: exec("raise StoreError('Down.')", globals()))
    for content in (ONE, b'{"docid": "c", "text": "Rooks croak."}'):
        with pytest.raises(StoreError):
            service.store("x.jsonl", content)
    monkeypatch.undo()
    service.store("other.md", b"Finches.")
    assert service.check() == {"x.jsonl": TWO, "other.md": b"Finches."}


@pytest.mark.parametrize("full", ["x.jsonl", "draft"])
def test_a_full_disk_leaves_the_former_file(full: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(tmp_path)
    service.store("x.jsonl", TWO)
    write = uploads._write

    def fail(path: Path, content: BinaryIO) -> None:
        if path.name == full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, content)

    monkeypatch.setattr(uploads, "_write", fail)
    with pytest.raises(LoadError, match="can't be saved: No space left on device"):
        service.store("x.jsonl", ONE)
    assert service.check() == {"x.jsonl": TWO}
    monkeypatch.setattr(Path, "rename", lambda *_: fail(tmp_path / full, BytesIO()))
    with pytest.raises(StoreError, match=r"x\.jsonl can't be deleted: No space left on device"):
        service.folder.delete(service.collection, "x.jsonl")
    monkeypatch.undo()
    service.start()
    assert service.check() == {"x.jsonl": TWO}


def test_a_deletion_that_fails_is_completed_by_the_next_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(tmp_path)
    service.store("x.md", b"Old.")

    def fail(*_: object) -> None:
        raise StoreError("Down.")

    monkeypatch.setattr(Index, "delete", fail)
    with pytest.raises(StoreError):
        service.folder.delete(service.collection, "x.md")
    monkeypatch.undo()
    assert service.folder.delete(service.collection, "x.md") is None
    assert service.check() == {}


def test_a_file_that_can_not_be_indexed_after_a_crash_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, add = Service(tmp_path), Index.add
    service.store("x.md", b"Old.")

    def refuse(index: Index, documents: Any) -> Any:
        found = list(documents)
        if found[0].text == "New.":
            raise EmbeddingError("The model refuses it.")
        return add(index, found)

    for content, working in ((b" ", add), (b"New.", refuse)):
        monkeypatch.setattr(Index, "add", crash)
        with pytest.raises(CrashError):
            service.store("x.md", b"New.")
        (service.path / "x.md").write_bytes(content)
        monkeypatch.setattr(Index, "add", working)
        service.start()
        assert service.check() == {"x.md": b"Old."}


def crash(*_: object, **__: object) -> None:
    raise CrashError


def test_what_another_collection_left_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(tmp_path)
    monkeypatch.setattr(Index, "add", crash)
    with pytest.raises(CrashError):
        service.store("x.md", b"New.")
    monkeypatch.undo()
    notes, other = service.collection, OpenCollection.of(Index("memory:", collection="o", embedder="hash"), "o")
    service.collection = other
    with pytest.raises(InvalidParameterError, match="unfinished upload of the collection 'notes'"):
        service.start()
    assert other.index.store.sources(0) == {}
    service.collection = notes
    service.start()
    assert service.check() == {"x.md": b"New."}


def test_a_folder_that_was_moved_keeps_its_files(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.store("x.jsonl", TWO)
    service.collection.index.add(Document("course/x.jsonl#b", "Not of the folder."))
    service.path = service.path.rename(tmp_path / "moved")
    service.start()
    service.store("x.jsonl", ONE)
    service.collection.index.delete("course/x.jsonl#b")
    assert service.check() == {"x.jsonl": ONE}
    assert service.folder.delete(service.collection, "x.jsonl") == 1


@pytest.mark.usefixtures("socket_enabled")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_service_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    chance = random.Random(5)
    for turn in range(2):
        with serve(tmp_path) as (address, process):
            with httpx.Client(base_url=address, timeout=60) as client:
                rows = client.get("/documents", params={"limit": 500}).json()["documents"]
                files = {f"up/{path.name}": path for path in (tmp_path / "up").iterdir()}
                assert {row["id"] for row in rows} == files.keys()
                for id_, path in files.items():
                    assert client.get(f"/documents/{id_}").json()["text"].strip() == path.read_text().strip()
            if turn == 0:
                disturb(address, process, chance)


@contextmanager
def serve(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    code = "from kinsplit.cli import main; main()"
    options = ["--json", "--port", "0", "--embedder", "hash", "--store", "edge:data", "--uploads", "up"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "serve", *options],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["address"], process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def disturb(address: str, process: subprocess.Popen[str], chance: random.Random) -> None:
    """Upload and delete in two threads, and kill the service after some answers."""
    answers = threading.Semaphore(0)

    def work(number: int) -> None:
        own = random.Random(number)
        with httpx.Client(base_url=address, timeout=60) as client, suppress(httpx.HTTPError):
            while True:
                name = f"f{own.randrange(4)}.md"
                if own.random() < 0.3:
                    client.delete(f"/documents/up/{name}")
                else:
                    text = f"# {name}\n\n" + " ".join(f"Line {line} of {own.random()}." for line in range(300))
                    client.post("/documents", files=[("files", (name, text.encode()))])
                answers.release()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(chance.randrange(5, 12)):
        assert answers.acquire(timeout=60)
    os.killpg(process.pid, signal.SIGKILL)
    for thread in threads:
        thread.join()
