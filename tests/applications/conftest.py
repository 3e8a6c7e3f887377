"""Applications as they run: from the folder of their data, and each time anew."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.snippets import ROOT, skip_if_optional

FILES = ("lecture_06.md", "lecture_11.md", "syllabus.md")
#: Characters of each file.
LENGTH = 6_000
#: A paragraph that changes a file.
NEWS = "Quokkas smile, wallabies jump, wombats dig and possums climb: none of them knows recursion."


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `data` of the working directory, with parts of the sample course."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    for file in FILES:
        text = (ROOT / "examples" / "course" / file).read_text(encoding="utf-8")
        (folder / file).write_text(text[:LENGTH], encoding="utf-8")
    return folder


@pytest.fixture
def start(data: Path) -> Callable[[str], ModuleType]:
    """A function that starts an application, given by its module, or starts it again."""

    def started(name: str) -> ModuleType:
        if "chromadb" in sys.modules:
            sys.modules["chromadb"].api.client.SharedSystemClient.clear_system_cache()
        sys.modules.pop(f"tests.applications.{name}", None)
        try:
            return importlib.import_module(f"tests.applications.{name}")
        except ImportError as error:
            skip_if_optional(error, Path(name))

    return started


def insert_news(path: Path) -> None:
    """Insert the news near the beginning of a file."""
    text = path.read_text(encoding="utf-8")
    at = text.index("\n\n", 300)
    path.write_text(f"{text[:at]}\n\n{NEWS}{text[at:]}", encoding="utf-8")
