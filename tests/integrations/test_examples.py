"""The examples run unchanged, and print what they promise."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest
from llama_index.core import Settings

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Files of the sample course with the answers to the examples' questions, and with texts that must not be found.
FILES = ("lecture_01_code.py", "lecture_06.md", "lecture_11.md", "syllabus.md")
#: Characters of each file, which hold the answers.
LENGTH = 3_400


class Examples:
    """Copies of the examples next to a part of the course, run as scripts in this process, which has no network."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys = folder, capsys
        (folder / "course").mkdir()
        for file in FILES:
            text = (EXAMPLES / "course" / file).read_text(encoding="utf-8")
            (folder / "course" / file).write_text(text[:LENGTH], encoding="utf-8")

    def run(self, name: str) -> str:
        """Run an example, and return its output."""
        self._capsys.readouterr()
        runpy.run_path(str(shutil.copy(EXAMPLES / name, self._folder)), run_name="__main__")
        output, errors = self._capsys.readouterr()
        assert errors == ""
        return output


@pytest.fixture
def examples(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Examples:
    monkeypatch.setattr(Settings, "_llm", None)
    return Examples(tmp_path, capsys)


def test_llama_index_drop_in(examples: Examples) -> None:
    theirs, ours = examples.run("llama_index_drop_in.py").split("kinsplit, sections")
    assert "linked to the next, both ways    0 of" in theirs
    for line in ours.splitlines()[1:4]:
        right, of = line.split()[-3::2]
        assert right == of != "0"


def test_langchain_drop_in(examples: Examples) -> None:
    theirs, ours = examples.run("langchain_drop_in.py").split("kinsplit, 12 words")
    assert " -1 " in theirs
    starts = [int(word) for word in ours.splitlines()[1].split()[1:]]
    assert starts == sorted(set(starts))
    assert starts[0] == 0
    assert "second run    added  0, skipped 10, deleted  0" in ours


def test_llama_index_query_engine(examples: Examples) -> None:
    shown = examples.run("llama_index_query_engine.py")
    first, second = shown.split("What is a base case")[1].split("When is binary search possible?")
    assert "course/lecture_06.md [" in first
    assert "course/lecture_11.md [" in second
    assert "dense" in first
    assert "rerank" in first


def test_langchain_retrieval_chain(examples: Examples) -> None:
    shown = examples.run("langchain_retrieval_chain.py")
    first, second = shown.split("What is a base case")[1].split("When is binary search possible?")
    assert "course/lecture_06.md [" in first
    assert "course/lecture_11.md [" in second
    assert first.count("Here a model would answer") == 1
    assert "One Markdown passage, without siblings" in second
