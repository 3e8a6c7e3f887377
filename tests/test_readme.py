"""The examples of the README run unchanged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
FENCES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def fence(word: str) -> str:
    (found,) = [code for code in FENCES if word in code]
    return found


def test_the_first_example_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    exec(fence("kinsplit.split("), {})

    assert f"```\n{capsys.readouterr().out}```" in README


def cases() -> dict[str, list[str]]:
    """Return the lines of each case of the table that begin with no prompt, in order."""
    rows = re.findall(r"^\| ([^|]+) \| (`.+) \|$", README, re.MULTILINE)
    found = {name: re.findall(r"`([^`]+)`", cell.replace("\\|", "|")) for name, cell in rows}
    return {name: lines for name, lines in found.items() if not lines[0].startswith("$")}


def test_the_cases_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = pytest.importorskip("langchain_core.documents")
    llama_index = pytest.importorskip("llama_index.core")
    memory = pytest.importorskip("langchain_core.vectorstores").InMemoryVectorStore
    embeddings = pytest.importorskip("langchain_core.embeddings").DeterministicFakeEmbedding(size=8)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lectures").mkdir()
    (tmp_path / "lectures" / "recursion.md").write_text("# Recursion\n\nA function calls itself.")
    given = {
        "texts to split": {"text": "Owls hunt."},
        "LangChain": {"documents": [core.Document("Owls hunt.")]},
        "LlamaIndex": {"documents": [llama_index.Document(text="Owls hunt.")]},
        "chonkie": {"texts": ["Owls hunt."]},
        "a vector store that you keep": {"vector_store": memory(embeddings)},
    }
    names: dict[str, Any] = {}
    assert given.keys() < cases().keys()
    for name, lines in cases().items():
        assert len(lines) <= 3
        names.update(given.get(name, {}))
        exec("\n".join(lines), names)
        made = names.get("chunks") or names.get("passages")
        assert made
    assert names["passages"][0].source_id == "lectures/recursion.md"
    assert names["nodes"][0].text == "Owls hunt."
    names["index"].close()


def test_the_figures_are_those_of_the_measured_pages() -> None:
    """The figures of the README and of the page that names strategies are those of pages that are measured."""
    docs = Path(__file__).parent.parent / "docs"
    measured = "".join((docs / name).read_text(encoding="utf-8").replace("*", "") for name in ("quality.md", "cuts.md"))
    cells = [cell.strip() for line in measured.splitlines() if line.startswith("|") for cell in line.split("|")]
    known = {number for cell in cells for number in re.findall(r"\d+(?:\.\d+)?", cell)}
    comparison = README.split("## How it compares")[1].split("\n## ")[0]
    shown = re.findall(
        r"(\d+(?:\.\d+)?) (?:%|tokens \|)", comparison + (docs / "choose.md").read_text(encoding="utf-8")
    )
    assert len(shown) > 30
    assert set(shown) <= known


def test_the_first_search_is_within_two_screens() -> None:
    assert README.index("index.search(") < README.index("## How it compares")
    assert README[: README.index("## How it compares")].count("\n") < 60
