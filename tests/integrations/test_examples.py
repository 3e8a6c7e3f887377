"""The examples run unchanged, and print what they promise."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Files of the sample course with the answers to the examples' questions, and with texts that must not be found.
FILES = ("lecture_01_code.py", "lecture_06.md", "lecture_08_notes.html", "lecture_11.md", "syllabus.md")


def run(name: str, folder: Path) -> str:
    """Run a copy of an example next to a part of the course, and return its output."""
    (folder / "course").mkdir()
    shutil.copy(EXAMPLES / name, folder)
    for file in FILES:
        shutil.copy(EXAMPLES / "course" / file, folder / "course")
    command = [sys.executable, "-W", "error", str(folder / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=EXAMPLES.parent)
    assert done.stderr == ""
    return done.stdout


def test_llama_index_drop_in(tmp_path: Path) -> None:
    theirs, ours = run("llama_index_drop_in.py", tmp_path).split("kinsplit, sections")
    assert "linked to the next, both ways    0 of" in theirs
    for line in ours.splitlines()[1:4]:
        right, of = line.split()[-3::2]
        assert right == of != "0"


def test_langchain_drop_in(tmp_path: Path) -> None:
    theirs, ours = run("langchain_drop_in.py", tmp_path).split("kinsplit, 12 words")
    assert " -1 " in theirs
    starts = [int(word) for word in ours.splitlines()[1].split()[1:]]
    assert starts == sorted(set(starts))
    assert starts[0] == 0
    assert "second run    added  0, skipped 10, deleted  0" in ours


def test_llama_index_query_engine(tmp_path: Path) -> None:
    shown = run("llama_index_query_engine.py", tmp_path)
    first, second = shown.split("What is a base case")[1].split("When is binary search possible?")
    assert "course/lecture_06.md [" in first
    assert "course/lecture_11.md [" in second
    assert "dense" in first
    assert "rerank" in first


def test_langchain_retrieval_chain(tmp_path: Path) -> None:
    shown = run("langchain_retrieval_chain.py", tmp_path)
    first, second = shown.split("What is a base case")[1].split("When is binary search possible?")
    assert "course/lecture_06.md [" in first
    assert "course/lecture_11.md [" in second
    assert first.count("Here a model would answer") == 1
    assert "One Markdown passage, without siblings" in second
