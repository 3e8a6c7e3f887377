from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kinsplit.cli import app
from kinsplit.language_models import registry
from tests.language_models.fake_server import FakeServer, serving
from tests.loaders.helpers import pdf

COURSE = Path(__file__).parents[2] / "examples" / "course"

Cli = Callable[..., Result]


def run_command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return a function that runs a command in a new folder, with its output piped."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return run_command


def make_course(parent: Path) -> Path:
    """Write a course of a text, a page, and a file with three rows."""
    course = parent / "course"
    (course / "cs").mkdir(parents=True)
    (course / "math").mkdir()
    (course / "cs" / "loops.txt").write_text("A loop repeats. A while loop asks first. A for loop counts.")
    (course / "cs" / "sorting.md").write_text("# Sorting\n\n## Merge sort\n\nMerge sort halves a list and merges it.\n")
    rows = [{"docid": f"alice:ch{n:02}", "text": f"Alice met {n} rabbits. They ran."} for n in (1, 2, 3)]
    (course / "math" / "alice.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return course


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_course(tmp_path)


def _index(parent: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(parent)
        small = ("--strategy", "structure", "--set", "chunk_size=6", "--set", "min_chunk_size=1")
        assert run_command("index", "course", "--embedder", "hash", *small).exit_code == 0


@pytest.fixture(scope="session")
def course_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the course and its collection, made once and copied by the tests."""
    parent = tmp_path_factory.mktemp("course")
    make_course(parent)
    _index(parent)
    return parent


@pytest.fixture(scope="session")
def course_index_with_pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same folder with a PDF of two pages, for tests that only read it."""
    parent = tmp_path_factory.mktemp("course-with-pdf")
    make_course(parent)
    (parent / "course" / "cs" / "trees.pdf").write_bytes(pdf(["A tree has a root."], ["A leaf has no children."]))
    _index(parent)
    return parent


@pytest.fixture
def fake(socket_enabled: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeServer]:
    """A fake Ollama server, to which names of models refer, and an empty cache."""
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    # Equal names share one object in the whole process, but each test has its own server.
    registry._shared.cache_clear()
    with serving() as running:
        monkeypatch.setenv("OLLAMA_HOST", running.url)
        yield running
    registry._shared.cache_clear()


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a subprocess that imports this kinsplit."""
    root = str(Path(__file__).parents[2])
    left_out = {"COLUMNS", "FORCE_COLOR"}
    kept = {key: value for key, value in os.environ.items() if key not in left_out}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH")))), **more}
