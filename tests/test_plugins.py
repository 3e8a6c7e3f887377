"""The examples of plug-ins, each built, installed into a folder on the path, and used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kinsplit_testing import ChunkStoreContract, lifecycle
from typer.testing import CliRunner

from kinsplit import Document, Index, create_strategy
from kinsplit.cli.app import COMMANDS, app
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.evaluation.measures.registry import MEASURES
from kinsplit.loaders import load, registry, run
from kinsplit.parsers.registry import STRATEGIES
from kinsplit.registry import Registry
from kinsplit.stores.address import STORES, open_catalog
from tests.snippets import ROOT

PLUGINS = ROOT / "examples" / "plugins"
Install = Callable[[str, Registry], None]  # type: ignore[type-arg]


@pytest.fixture
def install(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Function that builds the plug-in of a folder and installs it, for a registry."""
    build = pytest.importorskip("hatchling.build", reason="building without a network needs hatchling")
    site = tmp_path_factory.mktemp("site")
    changed = []

    def forget() -> None:
        for each in changed:
            each.refresh()
        # Processes that run already have the former path.
        for cache in (registry.readers, run._pool, lifecycle._other_process):
            cache.cache_clear()

    def install(folder: str, kind: Registry) -> None:  # type: ignore[type-arg]
        with monkeypatch.context() as patch:
            patch.chdir(PLUGINS / folder)
            wheel = build.build_wheel(str(site))
        with zipfile.ZipFile(site / wheel) as files:
            files.extractall(site)
        monkeypatch.syspath_prepend(site)
        changed.append(kind)
        forget()

    yield install
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("folder", sorted(path.name for path in PLUGINS.iterdir() if path.is_dir()))
def test_a_plug_in_is_one_short_module(folder: str) -> None:
    modules = [path for path in (PLUGINS / folder).glob("*.py") if not path.name.startswith("test_")]
    (lines,) = (path.read_text(encoding="utf-8").splitlines() for path in modules)
    assert len([line for line in lines if line.strip()]) < 40


def test_a_strategy(install: Install) -> None:
    install("strategy", STRATEGIES)
    made = create_strategy("verse", most_lines=2)
    chunks = made.chunk("The owl\nand the cat\nwent to sea\n\nin a boat.")
    assert [chunk.text for chunk in chunks] == ["The owl\nand the cat", "went to sea", "in a boat."]


class TestStore(ChunkStoreContract):
    """The contract, as `examples/plugins/store/test_home.py` inherits it."""

    exclusive = True
    holds_names = True

    @pytest.fixture
    def address(self, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        pytest.importorskip("qdrant_edge")
        install("store", STORES)
        monkeypatch.setenv("KINSPLIT_HOME", str(tmp_path))
        return "home:notes"

    def test_it_is_listed(self, address: str) -> None:
        with Index(address, embedder="hash") as index:
            index.add([Document("a", "Owls hunt at night.")])
        with open_catalog(address) as catalog:
            assert [each.name for each in catalog.collections()] == ["default"]
        assert "home:..." in CliRunner().invoke(app, ["stores"]).stdout


def test_a_reader(install: Install, tmp_path: Path) -> None:
    install("reader", registry.READERS)
    (tmp_path / "term.ics").write_bytes(
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Exam\\, written\r\nDTSTART;TZID=Europe/Berlin:20240603T090000\r\n"
        b"DESCRIPTION:Bring a\r\n  pen.\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    (tmp_path / "empty.ics").write_bytes(b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
    empty, term = sorted(load(tmp_path), key=lambda loaded: loaded.path.name)
    assert term.documents[0].text == "## Exam, written\n\nDtstart: 20240603T090000\nDescription: Bring a pen.\n"
    assert term.documents[0].metadata["file_type"] == "calendar"
    assert "has no events" in str(empty.error)


def test_a_measure(install: Install) -> None:
    install("measure", MEASURES)
    from kinsplit.evaluation import Experiment

    documents = tuple(Document(name, f"{name} hunt at night. {name} sleep by day.") for name in ("owls", "bats"))
    dataset = Dataset("birds", documents, (Question("1", "Who hunts?"),))
    strategy = create_strategy("sentence", unit="word", chunk_size=4)
    results = Experiment(dataset, {"s": strategy}, embedder="hash", measures=["variety@4"], headline="variety@4").run()
    assert results.strategies[0].measures["variety@4"].mean == 0.5


_OPTION = """
import json, sys
from typer.testing import CliRunner
from kinsplit import Document, Index
from kinsplit.cli.app import app
from kinsplit.server.routes.search import router

with Index("memory:", embedder="hash") as index:
    index.add([Document(name, f"{name} owls hunt at night. They hear mice. " * 60, {}) for name in "ab"])
    many, few = index.search("owls", top_k=9, window=0), index.search("owls", top_k=9, window=0, per_document=1)
found = [[hit.chunk.source_id for passage in each for hit in passage.hits] for each in (many, few)]
print(json.dumps([found, "--per-document" in CliRunner().invoke(app, ["search", "--help"]).stdout]))
"""


def test_an_option(install: Install, tmp_path: Path) -> None:
    from kinsplit.options import OPTIONS

    install("option", OPTIONS)
    # The options are part of a model that this process has loaded.
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", _OPTION],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (many, few), offered = json.loads(done.stdout)
    assert len(many) > len(few)
    assert sorted(few) == ["a", "b"]
    assert offered


def test_a_command(install: Install, tmp_path: Path) -> None:
    install("command", COMMANDS)
    (tmp_path / "notes.md").write_text("# Owls\n\nThey hunt.\n\n## Mice\n\nThey hide.\n")
    runner = CliRunner()
    assert "List the headings of files." in runner.invoke(app, ["--help"]).stdout
    shown = runner.invoke(app, ["headings", str(tmp_path / "notes.md"), "--json"])
    assert json.loads(shown.stdout)["headings"] == ["Owls", "Mice"]
    assert runner.invoke(app, ["headings", str(tmp_path / "none.md")]).exit_code == 2


def test_a_route(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.testclient import TestClient

    from kinsplit.server.app import ROUTES, create_app
    from kinsplit.server.collections import Collections
    from kinsplit.server.settings import ServiceSettings

    install("route", ROUTES)
    monkeypatch.chdir(tmp_path)
    with Index("memory:plug-in", embedder="hash") as index:
        index.add([Document("birds.md", "Owls hunt at night.", {"absolute_path": "/secret"})])
        (passage,) = index.search("owls")
        settings = ServiceSettings.load(store="memory:plug-in", embedder="hash", api_keys="k" * 32)
        app = create_app(settings, Collections(settings))
        with TestClient(app, base_url="http://localhost") as client:
            path, key = f"/chunks/{passage.best.chunk.id}", {"X-API-Key": "k" * 32}
            assert client.get(path).status_code == 401
            found = client.get(path, headers=key).json()
            assert (found["source_id"], found["text"]) == ("birds.md", "Owls hunt at night.")
            assert "absolute_path" not in found["metadata"]
            missing = client.get("/chunks/00000000-0000-0000-0000-000000000000", headers=key)
            assert (missing.status_code, missing.json()["error"]["rule"]) == (404, "must be the id of a chunk")
