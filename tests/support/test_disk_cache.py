"""What lies in a cache's folder is read as JSON or a vector, or not at all."""

from __future__ import annotations

import multiprocessing
import pickle
import sqlite3
import subprocess
import sys
import threading
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinsplit.errors import CacheError, CacheWarning
from kinsplit.support import disk_cache
from kinsplit.support.disk_cache import FILE, DiskCache, JsonCache

KEY, OTHER = b"k" * 16, b"o" * 16
SIZE = 1 << 22


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("unpickled",))


def change(folder: Path, statement: str, *values: object) -> None:
    database = sqlite3.connect(folder / FILE)
    database.execute(statement, values)
    database.commit()
    database.close()


def test_json_and_vectors_are_found_again(tmp_path: Path) -> None:
    vector = np.array([1.5, -0.0, np.nan], dtype=np.float32)
    with closing(DiskCache(tmp_path / "a" / "b", SIZE)) as cache:
        cache.put_json(KEY, {"text": "na\u00efve \ud800", "numbers": [1, 2.5, None]})
        cache.put_vectors({OTHER: vector})
    with closing(DiskCache(tmp_path / "a" / "b", SIZE)) as cache:
        assert cache.get_json(KEY) == {"text": "na\u00efve \ud800", "numbers": [1, 2.5, None]}
        assert cache.get_vectors([OTHER, KEY], 3)[OTHER].tobytes() == vector.tobytes()
        assert (cache.get_json(OTHER), cache.get_vectors([KEY], 3), cache.get_vectors([OTHER], 2)) == (None, {}, {})
        cache.put_json(KEY, 1)
        assert cache.get_json(KEY) == 1


def test_many_keys_are_found_at_once(tmp_path: Path) -> None:
    vectors = {number.to_bytes(16, "big"): np.full(2, number, dtype=np.float32) for number in range(2500)}
    with closing(DiskCache(tmp_path, SIZE)) as cache:
        cache.put_vectors(vectors)
        found = cache.get_vectors(list(vectors), 2)
    assert {key: vector.tolist() for key, vector in found.items()} == {k: v.tolist() for k, v in vectors.items()}


@pytest.mark.parametrize(
    "value",
    [pickle.dumps(Bomb()), zlib.compress(pickle.dumps(Bomb())), zlib.compress(b"[" * 100_000), b"", "text", 7, None],
    ids=["pickle", "packed pickle", "deep", "empty", "text", "number", "null"],
)
def test_what_is_neither_json_nor_a_vector_is_missing(tmp_path: Path, value: object) -> None:
    with closing(DiskCache(tmp_path, SIZE)) as cache:
        cache.put_json(KEY, "fine")
        cache.put_vectors({OTHER: np.ones(1, dtype=np.float32)})
    for key, kind in ((KEY, "json"), (OTHER, "vector")):
        checksum = disk_cache._checksum(kind, key, value) if isinstance(value, bytes) else 0
        if value is not None:
            change(tmp_path, "UPDATE entries SET value = ?, checksum = ? WHERE key = ?", value, checksum, key)
        else:
            change(tmp_path, "DELETE FROM entries")
    with closing(DiskCache(tmp_path, SIZE)) as cache:
        assert cache.get_json(KEY) is None
        assert cache.get_vectors([OTHER], 1) == {}
        cache.put_json(KEY, "fine again")
        assert cache.get_json(KEY) == "fine again"


def test_a_value_that_was_changed_is_missing(tmp_path: Path) -> None:
    with closing(DiskCache(tmp_path, SIZE)) as cache:
        cache.put_vectors({KEY: np.ones(4, dtype=np.float32)})
    change(tmp_path, "UPDATE entries SET value = ?", np.zeros(4, dtype="<f4").tobytes())
    with closing(DiskCache(tmp_path, SIZE)) as cache:
        assert cache.get_vectors([KEY], 4) == {}


def test_what_unpacks_to_more_than_is_sane_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(DiskCache(tmp_path, SIZE)) as cache:
        cache.put_json(KEY, "x" * 100_000)
        assert cache.get_json(KEY) is not None
        monkeypatch.setattr(disk_cache, "_LONGEST_JSON", 50_000)
        assert cache.get_json(KEY) is None


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
        "CREATE VIEW v AS SELECT * FROM entries",
        "ALTER TABLE entries ADD COLUMN filename TEXT",
        "DROP INDEX by_use",
        "PRAGMA user_version = 99",
        "PRAGMA application_id = 0",
    ],
)
def test_a_file_with_anything_else_in_it_is_refused(tmp_path: Path, statement: str) -> None:
    DiskCache(tmp_path, SIZE).close()
    change(tmp_path, statement)
    with pytest.raises(CacheError, match=r"not a cache of this version of kinsplit\)\. Delete the folder"):
        DiskCache(tmp_path, SIZE)


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = [1]
    monkeypatch.setattr(disk_cache, "_now", lambda: hour[0])
    numbers = np.random.default_rng(0).random((300, 256), dtype=np.float32)
    with closing(DiskCache(tmp_path, 1 << 17)) as cache:
        cache.put_vectors({KEY: numbers[0], OTHER: numbers[1]})
        for number, vector in enumerate(numbers):
            hour[0] += 1
            assert KEY in cache.get_vectors([KEY], 256)
            cache.put_vectors({number.to_bytes(16, "big"): vector})
        assert cache.get_vectors([OTHER], 256) == {}
        cache.put_json(b"large", "".join(map(str, range(200_000))))
        assert cache.get_json(b"large") is None
        assert KEY in cache.get_vectors([KEY], 256)
    assert (tmp_path / FILE).stat().st_size < 1 << 18


WRITER = """
import sys
from contextlib import closing
from pathlib import Path
from kinsplit.support.disk_cache import DiskCache
with closing(DiskCache(Path(sys.argv[1]), 1 << 22)) as cache:
    for i in range(100):
        cache.put_json(f"{sys.argv[2]} {i}".encode(), i)
        assert cache.get_json(f"{sys.argv[2]} {i}".encode()) == i
"""


def test_several_processes_and_threads_may_use_one_folder(tmp_path: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(n)]) for n in range(3)]
    cache = DiskCache(tmp_path, SIZE)
    threads = [
        threading.Thread(target=lambda n=n: [cache.put_json(f"{n} {i}".encode(), i) for i in range(100)])
        for n in range(3, 6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert all(cache.get_json(f"{n} {i}".encode()) == i for n in range(6) for i in range(100))
    cache.close()


def _child(cache: DiskCache, results: Any) -> None:
    cache.put_json(OTHER, "child")
    results.put(cache.get_json(KEY))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_forked_process_opens_it_for_itself(tmp_path: Path) -> None:
    cache, context = DiskCache(tmp_path, SIZE), multiprocessing.get_context("fork")
    cache.put_json(KEY, "parent")
    results = context.Queue()
    with cache._lock:  # As if another thread were using it.
        process = context.Process(target=_child, args=(cache, results))
        process.start()
    assert results.get(timeout=30) == "parent"
    process.join()
    assert cache.get_json(OTHER) == "child"
    cache.close()


def test_a_folder_that_can_not_be_used_is_an_error_or_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CacheError, match=r"nothing can be kept there .* Choose a folder"):
        DiskCache(tmp_path / "file", SIZE)
    with pytest.warns(CacheWarning, match=r"Notes are not kept: .* set KINSPLIT_CACHE"):
        cache = JsonCache(tmp_path / "file", SIZE, "Notes")
    cache.put(KEY, 1)
    assert cache.get(KEY) is None


def test_a_file_that_is_damaged_while_it_is_used_is_one_warning(tmp_path: Path) -> None:
    cache = JsonCache(tmp_path, SIZE, "Notes")
    for number in range(500):
        cache.put(number.to_bytes(16, "big"), "".join(map(str, range(number, 400 + number))))
    cache.close()
    with (tmp_path / FILE).open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 400_000)

    def write() -> None:
        for number in range(500):
            cache.put(number.to_bytes(16, "big"), number)

    with pytest.warns(CacheWarning, match=r"is damaged .* Delete the folder") as told:
        write()
    assert len(told) == 1
