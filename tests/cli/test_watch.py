"""Files that are added, changed and deleted while they are watched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from kinsplit.cli.commands.watch import _with_warnings
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import KinsplitWarning, LoadError
from kinsplit.index import AddReport, Index
from kinsplit.indexing.run import DuplicateWarning
from kinsplit.watch import watch
from tests.cli.conftest import environment
from tests.index.helpers import Stored
from tests.loaders.helpers import pdf

_LONG = 60.0  # seconds; longer waits mean a fault


class Watching:
    """A folder that a thread watches."""

    def __init__(self, folder: Path, index: Index) -> None:
        self.reports: list[AddReport] = []
        self.stored: list[list[str]] = []
        self.errors: list[LoadError] = []
        self.index = index
        self._stop = Event()
        self._thread = Thread(target=self._run, args=(folder,))
        self._thread.start()

    def _run(self, folder: Path) -> None:
        stored = Stored()
        rounds = watch(self.index, [folder], settle=0.3, stop=self._stop, on_event=stored, on_error=self.errors.append)
        for report in rounds:
            self.stored.append([document.source_id for document in stored.documents])
            self.reports.append(report)
            stored.documents.clear()

    def until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + _LONG
        while not holds():
            assert self._thread.is_alive()
            assert time.monotonic() < end, "it never came to be"
            time.sleep(0.02)

    @property
    def sources(self) -> set[str]:
        return {source_id for ids in self.stored for source_id in ids}

    @property
    def read(self) -> list[str]:
        """Sources read since the first round."""
        return [source_id for ids in self.stored[1:] for source_id in ids]

    @property
    def gone(self) -> list[str]:
        return [source_id for report in self.reports for source_id in report.gone]

    def end(self) -> None:
        self._stop.set()
        self._thread.join(_LONG)
        assert not self._thread.is_alive()


@pytest.fixture
def watching(folder: Path) -> Iterator[Watching]:
    with Index("memory:", embedder="hash") as index:
        made = Watching(folder, index)
        yield made
        made.end()


def test_of_a_file_alone_nothing_below_its_folder_is_watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[tuple[Path, ...], bool]] = []

    def changes(*roots: Path, recursive: bool, **_: object) -> Iterator[object]:
        asked.append((roots, recursive))
        return iter(())

    monkeypatch.setattr("watchfiles.watch", changes)
    file = folder / "cs" / "loops.txt"
    with Index("memory:", embedder="hash") as index:
        assert len(list(watch(index, [file], settle=0))) == 1
        with pytest.warns(DuplicateWarning, match=r"'course/cs/loops\.txt' is also 'cs/loops\.txt'"):
            assert len(list(watch(index, [folder], settle=0))) == 1
    assert asked == [((file.parent,), False), ((folder,), True)]


def test_what_comes_changes_and_goes_is_followed(folder: Path, watching: Watching) -> None:
    watching.until(lambda: len(watching.reports) == 1)
    assert len(watching.index.store.sources(level=0)) == 5
    (folder / "cs" / "new.md").write_text("Recursion needs a base case.")
    (folder / "cs" / "loops.txt").write_text("A loop repeats for ever.")
    watching.until(lambda: watching.index.search("recursion base case", top_k=1)[0].source_id == "course/cs/new.md")
    watching.until(lambda: any("for ever" in p.text for p in watching.index.search("loop", top_k=9)))
    # The report of a round comes after what it stored can be found.
    watching.until(lambda: len(watching.read) == 2)
    assert sorted(watching.read) == ["course/cs/loops.txt", "course/cs/new.md"]
    (folder / "cs" / "new.md").unlink()
    (folder / "math" / "alice.jsonl").write_text('{"docid": "alice:ch01", "text": "Alice met nobody."}\n')
    watching.until(lambda: len(watching.index.store.sources(level=0)) == 3)
    watching.until(lambda: len(watching.gone) == 3)
    assert sorted(watching.gone) == ["alice:ch02", "alice:ch03", "course/cs/new.md"]


def test_a_file_is_read_when_it_has_been_written(folder: Path, watching: Watching) -> None:
    data = pdf(*[[f"Page number {n} tells of topic {n}"] for n in range(9)])
    path = folder / "cs" / "slow.pdf"
    with path.open("wb") as target:
        for start in range(0, len(data), len(data) // 9):
            target.write(data[start : start + len(data) // 9])
            target.flush()
            time.sleep(0.05)
    watching.until(lambda: "course/cs/slow.pdf" in watching.sources)

    assert not [failure for report in watching.reports for failure in report.failed]


def test_a_broken_file_is_told_once_and_tried_again_when_it_changes(folder: Path, watching: Watching) -> None:
    path = folder / "cs" / "broken.pdf"
    path.write_bytes(b"nonsense")
    watching.until(lambda: any(report.failed for report in watching.reports))
    (folder / "cs" / "other.txt").write_text("Something else.")
    watching.until(lambda: "course/cs/other.txt" in watching.sources)
    path.write_bytes(pdf(["Now it is whole"]))
    watching.until(lambda: "course/cs/broken.pdf" in watching.sources)

    assert sum(len(report.failed) for report in watching.reports) == 1


def test_a_course_file_is_followed_too(folder: Path, watching: Watching) -> None:
    watching.until(lambda: len(watching.index.store.sources(level=0)) == 5)
    (folder / "course.toml").write_text('course = "6.0001"\n')
    watching.until(lambda: watching.index.count({"course": "6.0001"}))

    assert sum(report.embedded for report in watching.reports[1:]) == 0


def test_a_folder_that_was_emptied_is_told_and_watched_on(folder: Path, watching: Watching) -> None:
    watching.until(lambda: len(watching.index.store.sources(level=0)) == 5)
    kept = {path: path.read_bytes() for path in folder.rglob("*.*")}
    for path in kept:
        path.unlink()
    watching.until(lambda: watching.errors)
    for path, data in kept.items():
        path.write_bytes(data + b"\n")
    loops = folder / "cs" / "loops.txt"
    loops.write_text("Back again, a loop.")
    watching.until(lambda: any("Back again" in p.text for p in watching.index.search("back", top_k=9)))

    assert [error.reason.split("(")[0] for error in watching.errors] == ["holds no file that can be loaded "]


def test_wrong_paths_are_refused_at_once(tmp_path: Path) -> None:
    with Index("memory:", embedder="hash") as index, pytest.raises(LoadError, match="doesn't exist"):
        next(watch(index, [tmp_path / "nowhere"]))


def test_warnings_are_told_with_their_round(capsys: pytest.CaptureFixture[str]) -> None:
    def rounds() -> Iterator[AddReport]:
        for number in (1, 2):
            warnings.warn(f"Round {number} was odd.", KinsplitWarning, stacklevel=1)
            yield AddReport()

    reports = _with_warnings(rounds(), Terminal(as_json=False))
    for number in (1, 2):
        assert next(reports)
        assert f"Round {number} was odd." in capsys.readouterr().err
    assert list(reports) == []


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_writes_a_line_for_each_change_and_ends_cleanly(folder: Path, as_json: bool) -> None:
    # A process that a shell starts in the background ignores Ctrl-C, and so do its child processes.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    main = [sys.executable, "-c", f"{heed}; from kinsplit.cli import main; main()"]
    command = [*main, "watch", str(folder), "--embedder", "hash", "--settle", "0.1"]
    config = folder.parent / "words.toml"
    config.write_text('[index]\nstrategy = "word"\nparameters = {chunk_size = 4}\n')
    process = subprocess.Popen(
        [*command, *(["--json", "--config", str(config)] if as_json else [])],
        cwd=folder.parent,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Watching" in line or (as_json and len(lines) == 1):
            break
    (folder / "cs" / "sorting.md").unlink()
    (folder / "cs" / "new.md").write_text("Something new.")
    seen = ""
    while not ("course/cs/new.md" in seen and "course/cs/sorting.md" in seen):
        seen += process.stdout.readline()
    time.sleep(1)  # Until it waits for changes again; during indexing, Ctrl-C would interrupt that.
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=_LONG)

    assert process.returncode == 0
    assert errors == ""
    if as_json:
        assert json.loads(lines[0])["documents"][0]["chunks"] == 3
        assert all(json.loads(line)["failed"] == [] for line in (seen + rest).splitlines())
    else:
        assert lines[0] == "course/cs/loops.txt  Split into 1 chunk  +1\n"
        assert sorted((seen + rest).splitlines()) == [
            "course/cs/new.md  Split into 1 chunk  +1",
            "course/cs/sorting.md  Removed",
        ]
