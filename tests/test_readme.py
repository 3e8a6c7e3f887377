"""The examples of the README run unchanged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kinsplit.cli import app

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
FENCES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def fence(word: str) -> str:
    (found,) = [code for code in FENCES if word in code]
    return found


def test_the_first_example_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    exec(fence("kinsplit.split("), {})

    assert f"```\n{capsys.readouterr().out}```" in README


def test_the_llama_index_example_runs() -> None:
    pytest.importorskip("llama_index.core")
    names: dict[str, object] = {}
    exec(fence("node_parser("), names)

    (node,) = names["nodes"]  # type: ignore[misc]
    assert (node.start_char_idx, node.end_char_idx, node.metadata["chunk_index"]) == (0, 15, 0)


def test_the_langchain_example_runs() -> None:
    pytest.importorskip("langchain_core")
    names: dict[str, object] = {}
    exec(fence("text_splitter("), names)

    (document,) = names["documents"]  # type: ignore[misc]
    assert document.id
    assert (document.metadata["char_start"], document.metadata["context"]) == (0, "Title")


def test_the_retriever_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llama_index.core")
    monkeypatch.chdir(Path(__file__).parent.parent)
    names: dict[str, Any] = {}
    exec(fence("KinsplitRetriever("), names)

    (first, *_) = names["retriever"].retrieve("How is the course graded?")
    assert first.node.metadata["source_id"] == "course/syllabus.md"
    names["index"].close()


def test_the_index_examples_of_shell_and_python_run_over_one_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for subject in ("cs", "math"):
        (tmp_path / "courses" / subject).mkdir(parents=True)
    (tmp_path / "courses" / "math" / "sums.md").write_text("A sum adds.", encoding="utf-8")
    (tmp_path / "courses" / "cs" / "oop.md").write_text("OOP is programming with objects.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^\$ kinsplit (index courses --subjects .*)$", README, re.MULTILINE)
    assert CliRunner().invoke(app, [*command.split(), "--embedder", "hash"]).exit_code == 0
    code = fence("with Index(").replace('collection="notes"', 'collection="notes", embedder="hash"')
    names: dict[str, Any] = {}
    exec(code, names)

    assert (names["report"].added, names["report"].unchanged) == (0, 2)
    assert "cs/oop.md 0 32 None OOP is programming with objects." in capsys.readouterr().out


def test_the_table_of_strategies_is_the_registrys() -> None:
    from kinsplit.parsers import names

    table = README.split("## Strategies")[1].split("\n\n")[1]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == names()
