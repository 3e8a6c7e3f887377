"""Files that exhaust or crash what reads them cost a line each, and all others are read."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kinsplit.errors import InvalidParameterError
from kinsplit.loaders import Limits, load, run

from .helpers import pdf
from .hostile import HOSTILE, crash

#: What each of them is refused for, with limits that sound files of its kind don't reach.
_REASONS = {
    "itself.pdf": r"took longer than 1 s|makes its reader crash",
    "nested.pdf": r"took longer than 1 s|makes its reader crash",
    "long.pdf": r"took longer than 1 s|makes its reader crash",
    "million.pdf": "claims 1,000,000 pages, more than it has bytes",
    "repeated.pdf": r"took longer than 1 s|needs more than 192 MiB of memory",
    "dense.docx": r"needs more than 192 MiB of memory|took longer than 1 s",
    "sparse.log": "has 1,073,741,824 bytes, where at most 536,870,912 are read",
}
_LOW = Limits(seconds=1, memory=192 * 2**20)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds one of each, and sound files before, between and after them."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, write in HOSTILE.items():
        write(folder / name)
    for name in ("a.md", "kept.md", "z.md"):
        (folder / name).write_text(name)
    (folder / "l.pdf").write_bytes(pdf(["Sound."]))
    return folder


@pytest.fixture(scope="module")
def outcomes(hostile):
    return {loaded.path.name: loaded for loaded in load(hostile, limits=_LOW)}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_error_that_names_it(outcomes, name):
    assert re.search(rf"/{re.escape(name)}: .*({_REASONS[name]}).*\.\Z", str(outcomes[name].error))
    assert outcomes[name].documents == ()


def test_all_other_files_are_read_and_the_order_stays(outcomes):
    assert list(outcomes) == sorted(outcomes)
    texts = {name: loaded.documents[0].text for name, loaded in outcomes.items() if loaded.error is None}
    assert texts == {"a.md": "a.md", "kept.md": "kept.md", "l.pdf": "Sound.", "z.md": "z.md"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_memory_is_limited(hostile):
    (loaded,) = load(hostile / "dense.docx", limits=Limits(seconds=100, memory=64 * 2**20))
    assert "needs more than 64 MiB of memory to be read. Convert it" in str(loaded.error)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_crash_of_a_reader_costs_one_file(tmp_path, monkeypatch):
    for name in ("a.txt", "crash.txt", "z.txt"):
        (tmp_path / name).write_text(name)
    run._pool.cache_clear()
    monkeypatch.setattr(run, "read_file", crash)
    try:
        before, crashed, after = (str(loaded.error) for loaded in load(tmp_path))
    finally:
        run._pool.cache_clear()

    assert crashed == (
        f"{tmp_path}/crash.txt: makes its reader crash: it ended its process with signal 6 (SIGABRT). Convert it to "
        "another format."
    )
    assert before.endswith("a.txt: is left alone")
    assert after.endswith("z.txt: is left alone")


def test_what_is_read_is_limited(tmp_path):
    (tmp_path / "a.txt").write_text("a" * 2_000)
    (long,) = load(tmp_path, limits=Limits(text=1_000))
    assert re.search(r"holds 2,\d{3} bytes of text, where at most 1,000 are read\. Split it", str(long.error))


@pytest.mark.parametrize("field", ["size", "text", "memory", "seconds"])
def test_limits_are_positive(field):
    with pytest.raises(InvalidParameterError, match=f"{field}: must be positive"):
        Limits(**{field: 0})
