"""`kinsplit compare`: one question and every strategy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

TEXT = "A loop repeats. A class is a plan of objects. Recursion calls itself."
SPLIT = "--strategy", "small=sentence:chunk_size=9,chunk_overlap=0", "--strategy", "large=character:chunk_overlap=0"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text(TEXT)
    return tmp_path / "docs"


def test_each_strategy_shows_its_best_score_chunk_and_text(cli: Cli, docs: Path) -> None:
    asked = "compare", "What is a plan of objects?", *SPLIT, "--embedder", "hash"
    shown = cli(*asked)
    assert shown.exit_code == 0, shown.output
    strategies = json.loads(cli(*asked, "--json").stdout)["strategies"]
    assert list(strategies) == ["small", "large"]
    (small,), (large,) = strategies.values()
    assert small["text"] == "A class is a plan of objects."
    assert (small["docid"], small["chunk_name"]) == ("docs/a.txt", "docs/a.txt::chunk01")
    assert TEXT[small["start"] : small["end"]] == small["text"]
    assert large["text"] == TEXT
    assert small["score"] > large["score"]
    for label, (hit,) in strategies.items():
        assert f"{label}\nscore {hit['score']:.4f}, {hit['chunk_name']}, " in shown.stdout
        assert hit["text"] in " ".join(shown.stdout.split())


def test_more_chunks_can_be_asked_for_and_a_blank_question_cant(cli: Cli, docs: Path) -> None:
    asked = "--docs", docs, *SPLIT, "--embedder", "hash", "--top-k", "2", "--json"
    small, large = json.loads(cli("compare", "loops", *asked).stdout)["strategies"].values()
    assert (len(small), len(large)) == (2, 1)
    assert small[0]["score"] >= small[1]["score"]
    assert cli("compare", " ", *asked).exit_code == 2


def test_the_sizes_of_the_chunks_are_plotted_in_the_terminal_and_in_files(cli: Cli, docs: Path) -> None:
    asked = "compare", "What is a plan of objects?", *SPLIT, "--embedder", "hash", "--plots", "plots"
    lines = cli(*asked).stdout.splitlines()
    start = lines.index("Chunk sizes in characters")
    assert lines[start + 1].split() == ["Strategy", "Chunks", "Documents", "Average", "Min", "Max"]
    assert lines[start + 2].split() == ["small", "3", "1", "22", "15", "29"]
    (small, large) = (line for line in lines if line.startswith("|"))
    assert len(small) == len(large) == 42
    assert large.rstrip("|").endswith("█")
    for name in ("chunk_distributions.png", "chunks_per_doc.png"):
        assert (docs.parent / "plots" / name).read_bytes().startswith(b"\x89PNG")
    sizes = json.loads(cli(*asked, "--json").stdout)["sizes"]
    assert sum(sizes["small"]["histogram"]) == sizes["small"]["chunks"] == 3
    assert sizes["small"]["edges"] == sizes["large"]["edges"]


@pytest.mark.usefixtures("socket_enabled")
def test_the_fallback_that_a_missing_model_took_is_told(cli: Cli, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    asked = "compare", "loops", "--strategy", "llm=llm:model=ollama:llama3", "--embedder", "hash"
    shown = cli(*asked)
    assert shown.exit_code == 0, shown.output
    assert "llm: " in shown.stderr
    assert "\nscore " in shown.stdout
    (told,) = json.loads(cli(*asked, "--json").stdout)["warnings"]["llm"]
    assert "divided by paragraphs and headings instead" in told


def test_the_models_are_those_of_an_evaluation(cli: Cli, docs: Path, tmp_path: Path) -> None:
    asked = "compare", "What is a plan of objects?", "--docs", docs, "--strategy", "a=sentence:chunk_size=12", "--json"
    (tmp_path / "own.toml").write_text('[evaluate]\nembedder = "hash"\nembedding_context = "none"\nlanguage = "any"\n')

    def chunks(*options: str) -> int:
        shown = cli(*asked, *options)
        assert shown.exit_code == 0, shown.stderr
        return int(json.loads(shown.stdout)["sizes"]["a"]["chunks"])

    tokens = chunks("--config", "own.toml")
    assert tokens == chunks("--embedder", "hash", "--language", "german", "--embedding-context", "headings")
    refused = cli(*asked, "--embedder", "hash", "--tokenizer", "nonsense:x")
    assert (refused.exit_code, "nonsense:x" in refused.stderr) == (2, True)
    refused = cli(*asked, "--config", "own.toml", "--language", "klingon")
    assert (refused.exit_code, "must name a known language" in refused.stderr) == (2, True)
    refused = cli(*asked, "--config", "own.toml", "--embedding-context", "late")
    assert (refused.exit_code, "'late' needs an embedder" in refused.stderr) == (2, True)
