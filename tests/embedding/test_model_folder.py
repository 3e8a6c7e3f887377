import multiprocessing
import time
from pathlib import Path

import pytest

from kinsplit.embedding.model_folder import cache_folder, made_once
from kinsplit.errors import EmbeddingError, InvalidParameterError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill(folder: Path) -> None:
    (folder / "weights").write_text("all of them")


def test_a_folder_is_made_once(cache):
    made = made_once("model-1.0", fill)
    (made / "weights").write_text("changed")
    assert made_once("model-1.0", fill) == made == cache / "models" / "model-1.0"
    assert (made / "weights").read_text() == "changed"


def test_what_fails_leaves_nothing_and_is_tried_again(cache):
    def fail(folder: Path) -> None:
        fill(folder)
        raise RuntimeError("out of disk")

    with pytest.raises(RuntimeError, match="out of disk"):
        made_once("model", fail)
    assert not [path for path in (cache / "models").iterdir() if path.is_dir()]
    assert (made_once("model", fill) / "weights").is_file()


def test_the_draft_of_a_process_that_was_killed_is_thrown_away(cache):
    draft = cache / "models" / ".model.draft"
    draft.mkdir(parents=True)
    (draft / "half").touch()
    assert [path.name for path in made_once("model", fill).iterdir()] == ["weights"]


def make_slowly(results) -> None:
    def slow(folder: Path) -> None:
        results.put("made")
        time.sleep(0.3)
        fill(folder)

    results.put((made_once("model", slow) / "weights").read_text())


def test_of_eight_processes_one_makes_it_and_all_get_it():
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=make_slowly, args=(results,)) for _ in range(8)]
    for process in processes:
        process.start()
    found = sorted(results.get(timeout=60) for _ in range(9))
    for process in processes:
        process.join()
    assert found == ["all of them"] * 8 + ["made"]


def test_the_users_cache_serves_where_no_other_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("KINSPLIT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name == "kinsplit"
    monkeypatch.setenv("KINSPLIT_CACHE", "~/elsewhere")
    assert cache_folder() == Path.home() / "elsewhere"


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a\n"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(InvalidParameterError, match="name"):
        made_once(name, fill)


def test_a_cache_folder_that_cannot_be_written_is_one_clear_error(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "file"))
    with pytest.raises(EmbeddingError, match="KINSPLIT_CACHE"):
        made_once("model", fill)
