"""Readers of other packages, each a small distribution that is really there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kinsplit.cli.app import app
from kinsplit.errors import InvalidParameterError
from kinsplit.index import Index
from kinsplit.loaders import load, registry, run
from kinsplit.loaders.registry import ReaderWarning, check_readers, format_of, suffixes
from kinsplit.registry import PluginWarning

_MODULE = """
from kinsplit.loaders import Content, Format, Reading, UnreadableError

def read(data):
    if data == b"fail":
        raise ValueError("too bad")
    if not data:
        raise UnreadableError("has no entries.")
    return Reading((Content("# " + data.decode().upper(), "A ledger"),), ("was read aloud",))

FORMAT = Format("ledger", (".ledger", ".txt"), "entries in capitals", read)
SEVERAL = (FORMAT, Format("book", (".book",), "books", read))
"""


class Packages:
    """Distributions with readers, installed in a folder on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, entries: str, module: str = _MODULE) -> None:
        (self.folder / f"{name}_module.py").write_text(module)
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[kinsplit.readers]\n{entries}\n")


@pytest.fixture
def packages(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("site")
    monkeypatch.syspath_prepend(folder)
    _forget()
    yield Packages(folder)
    _forget()


def _forget() -> None:
    registry.READERS.refresh()
    registry.readers.cache_clear()
    run._pool.cache_clear()  # Processes that run already have the former path.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.ledger").write_text("ten apples")
    (tmp_path / "b.txt").write_text("plain")
    return tmp_path


def test_a_reader_of_another_package_reads_its_files(packages: Packages, folder: Path):
    packages.install("tally", "tally = tally_module:FORMAT")
    (folder / "c.ledger").write_text("fail")
    (folder / "d.LEDGER").write_text("")

    found = {loaded.path.name: loaded for loaded in load(folder)}

    (document,) = found["a.ledger"].documents
    assert (document.text, document.metadata["title"]) == ("# TEN APPLES", "A ledger")
    assert document.metadata["file_type"] == "ledger"
    assert found["a.ledger"].warnings == ("was read aloud",)
    assert "please report it to the authors of the reader 'tally'" in str(found["c.ledger"].error)
    assert str(found["d.LEDGER"].error).endswith("is empty. Copy it there again, or delete it.")
    assert found["b.txt"].documents[0].text == "plain", "a package takes nothing from kinsplit unless it is named"


def test_a_named_reader_goes_before_the_others(packages: Packages, folder: Path):
    packages.install("tally", "tally = tally_module:SEVERAL")

    with Index("memory:", embedder="hash") as index:
        index.add(folder, readers=["tally"])
        texts = {passage.source_id: passage.text for passage in index.search("plain apples", top_k=5)}

    assert texts == {f"{folder.name}/a.ledger": "# TEN APPLES", f"{folder.name}/b.txt": "# PLAIN"}


def test_commands_list_readers_and_take_their_names(packages: Packages, folder: Path):
    packages.install("tally", "tally = tally_module:FORMAT")
    runner = CliRunner()

    listed = json.loads(runner.invoke(app, ["readers", "--json"]).stdout)
    split = runner.invoke(app, ["chunk", str(folder / "b.txt"), "--reader", "tally"])
    unknown = runner.invoke(app, ["chunk", str(folder), "--reader", "talley"])

    assert [row for row in listed if row["reader"] == "tally"] == [
        {
            "reader": "tally",
            "suffixes": [".ledger", ".txt"],
            "file_type": "ledger",
            "text": "entries in capitals",
            "on_request": False,
        }
    ]
    assert json.loads(split.stdout.splitlines()[0])["text"] == "# PLAIN"
    assert unknown.exit_code == 2
    assert "tally" in unknown.output


_BROKEN = {
    "no such module": "x = nowhere_to_be_found:FORMAT",
    "no such object": "x = broken_module:NOTHING",
    "no format": "x = broken_module:read",
    "an empty list": "x = broken_module:EMPTY",
    "no suffix": "x = broken_module:BARE",
    "a name that is taken": "kinsplit = broken_module:FORMAT",
}
_MORE = """
EMPTY = ()
BARE = Format("bare", ("ledger",), "a suffix without its dot", read)
"""


@pytest.mark.parametrize("kind", _BROKEN)
def test_a_broken_reader_is_named_and_the_others_are_used(packages: Packages, kind: str):
    packages.install("broken", _BROKEN[kind], _MODULE + _MORE)
    packages.install("sound", "sound = sound_module:FORMAT")

    with pytest.warns(PluginWarning, match="of broken 1.0 is left out of the readers: ") as told:
        fmt = format_of(Path("a.ledger"))

    assert len(told) == 1
    assert fmt is not None
    assert fmt.reader == "sound"
    assert {".ledger", ".md"} <= set(suffixes())


def test_of_two_readers_of_a_suffix_the_first_by_name_reads_it(packages: Packages):
    packages.install("one", "zebra = one_module:FORMAT")
    packages.install("two", "antelope = two_module:FORMAT")

    with pytest.warns(ReaderWarning) as told:
        usual = format_of(Path("a.ledger"))
    assert [str(warning.message).split(",")[0] for warning in told] == [
        f"The readers 'antelope' and 'zebra' both read {suffix} files" for suffix in (".ledger", ".txt")
    ]

    assert usual is not None
    assert usual.reader == "antelope"
    named = format_of(Path("a.ledger"), ["zebra"])
    assert named is not None
    assert named.reader == "zebra"


def test_an_unknown_reader_is_an_error():
    with pytest.raises(InvalidParameterError, match=r"readers: must be one of kinsplit.*got 'pigeon'"):
        check_readers(["pigeon"])
