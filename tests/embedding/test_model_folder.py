import multiprocessing
import os
import time
from pathlib import Path

import pytest

from kinsplit.embedding.backends import model_files
from kinsplit.embedding.backends.model_cache import cache_folder, make_once
from kinsplit.embedding.backends.model_files import STAMP, damage, find_folder
from kinsplit.embedding.backends.model_files import sha256 as digest
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.support import environment


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill(folder: Path) -> None:
    (folder / "weights").write_text("all of them")


def test_a_folder_is_make_once(cache):
    made = make_once("model-1.0", fill)
    (made / "weights").write_text("changed")
    assert make_once("model-1.0", fill) == made == cache / "models" / "model-1.0"
    assert (made / "weights").read_text() == "changed"


def test_what_fails_leaves_nothing_and_is_tried_again(cache):
    def fail(folder: Path) -> None:
        fill(folder)
        raise RuntimeError("out of disk")

    with pytest.raises(RuntimeError, match="out of disk"):
        make_once("model", fail)
    assert not [path for path in (cache / "models").iterdir() if path.is_dir()]
    assert (make_once("model", fill) / "weights").is_file()


def test_the_draft_of_a_process_that_was_killed_is_thrown_away(cache):
    draft = cache / "models" / ".model.draft"
    draft.mkdir(parents=True)
    (draft / "half").touch()
    assert sorted(path.name for path in make_once("model", fill).iterdir()) == [STAMP, "weights"]


def make_slowly(start, results) -> None:
    def slow(folder: Path) -> None:
        results.put("made")
        time.sleep(0.3)
        fill(folder)

    start.wait(60)
    results.put((make_once("model", slow) / "weights").read_text())


def test_of_several_processes_one_makes_it_and_all_get_it():
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(2), context.Queue()
    processes = [context.Process(target=make_slowly, args=(start, results)) for _ in range(2)]
    for process in processes:
        process.start()
    found = sorted(results.get(timeout=60) for _ in range(3))
    for process in processes:
        process.join()
    assert found == ["all of them"] * 2 + ["made"]


@pytest.mark.parametrize(
    ("platform", "variable", "usual"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("darwin", "XDG_CACHE_HOME", "Library/Caches"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
    ],
)
def test_the_users_cache_serves_where_no_other_is_named(monkeypatch, tmp_path, platform, variable, usual):
    monkeypatch.delenv("KINSPLIT_CACHE")
    monkeypatch.setattr(environment.sys, "platform", platform)
    monkeypatch.delenv(variable, raising=False)
    assert cache_folder() == Path.home() / usual / "kinsplit"
    monkeypatch.setenv(variable, str(tmp_path))
    assert cache_folder() == tmp_path / "kinsplit"
    monkeypatch.setenv("KINSPLIT_CACHE", "~/elsewhere")
    assert cache_folder() == Path.home() / "elsewhere"


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a\n"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(InvalidParameterError, match="name"):
        make_once(name, fill)


def test_a_cache_folder_that_cannot_be_written_is_one_clear_error(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "file"))
    with pytest.raises(EmbeddingError, match="KINSPLIT_CACHE"):
        make_once("model", fill)


def test_a_folder_that_nobody_touched_is_whole_and_a_copy_is_read_once(cache, monkeypatch):
    folder = make_once("model", fill)
    assert damage(folder) is damage(folder, full=True) is None
    os.utime(folder / "weights", (1, 1))
    read = []
    monkeypatch.setattr(model_files, "sha256", lambda path: read.append(path.name) or digest(path))
    assert damage(folder) is None
    assert set(read) == {"weights"}
    read.clear()
    assert damage(folder) is None
    assert read == []


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda folder: (folder / "weights").write_text("all of thEm"), "weights has changed"),
        (lambda folder: (folder / "weights").write_text("all"), "weights has 3 bytes, expected 11"),
        (lambda folder: (folder / "weights").unlink(), "weights is missing"),
        (lambda folder: (folder / STAMP).unlink(), "stamp.json is missing"),
        (lambda folder: (folder / STAMP).write_text("{}"), "can't be checked"),
        (lambda folder: (folder / STAMP).write_text("["), "can't be checked"),
        (
            lambda folder: (folder / STAMP).write_text((folder / STAMP).read_text().replace("11", "12")),
            "stamp.json was changed",
        ),
    ],
    ids=["changed", "cut", "deleted", "unsigned", "empty stamp", "cut stamp", "changed stamp"],
)
def test_a_model_that_was_changed_is_damaged(cache, harm, problem):
    folder = make_once("model", lambda folder: (folder / "weights").write_text("all of them"))
    harm(folder)
    assert problem in damage(folder)


def test_what_keeps_its_size_and_its_time_is_found_when_everything_is_read(cache):
    folder = make_once("model", fill)
    before = (folder / "weights").stat()
    (folder / "weights").write_text("all of thEm")
    os.utime(folder / "weights", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert damage(folder) is None
    assert damage(folder, full=True) == "weights has changed"


@pytest.mark.parametrize("name", ["BAAI/bge-m3", "all-MiniLM-L6-v2"])
def test_a_folder_with_the_name_of_a_model_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / name
    folder.mkdir(parents=True)
    (folder / "modules.json").write_text("[]")
    with pytest.raises(EmbeddingError, match=rf"this folder has a '{name}' too\. Write '\./{name}'"):
        find_folder(name)
    assert find_folder(f"./{name}") == Path(name)
    with pytest.raises(EmbeddingError, match="There is no model at"):
        find_folder("./none")
