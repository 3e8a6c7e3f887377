"""Estimated cost before a model is called, and one report of missing answers afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kinsplit import language_models
from tests.cli.conftest import Cli
from tests.language_models.fake_server import FakeServer, Reply

LLM = "--strategy", "llm", "--set", "segment_size=300"


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    pets = tmp_path / "pets"
    pets.mkdir()
    for name in ("cats", "dogs"):
        (pets / f"{name}.txt").write_text(f"All about {name}. They eat. They sleep. They play.\n\n" * 30)
    return pets


@pytest.mark.parametrize("command", ["chunk", "index"])
def test_a_dry_run_tells_calls_and_tokens_and_does_nothing(
    cli: Cli, fake: FakeServer, pets: Path, tmp_path: Path, command: str
) -> None:
    planned = cli(command, pets, *LLM, "--dry-run")
    cost = json.loads(cli(command, pets, *LLM, "--dry-run", "--json").stdout)

    assert (planned.exit_code, planned.stderr) == (0, "")
    assert fake.calls == []
    assert not (tmp_path / "kinsplit-data").exists()
    assert cost["documents"] == 2
    assert cost["kept"] == 0
    assert cost["calls"] > 2
    assert cost["tokens"] == cost["prompt_tokens"] + cost["answer_tokens"]
    assert planned.stdout == (
        f"llm: 2 documents, {cost['calls']} calls of the language model, {cost['tokens']:,} tokens "
        f"({cost['prompt_tokens']:,} input, at most {cost['answer_tokens']:,} output). No call was made.\n"
    )
    cli("chunk", pets, *LLM)
    assert len(fake.calls) == cost["calls"]
    assert f"; {cost['calls']} answers cached from earlier runs." in cli(command, pets, *LLM, "--dry-run").stdout


def test_strategies_that_ask_no_model_cost_nothing(cli: Cli, folder: Path, tmp_path: Path) -> None:
    assert cli("chunk", folder, "--dry-run").stdout == "sentence: 5 documents, no language model calls.\n"
    assert cli("index", folder, "--dry-run").stdout == "sentence: 5 documents, no language model calls.\n"
    assert not (tmp_path / "kinsplit-data").exists()


def test_a_dry_run_takes_the_strategy_of_the_collection(cli: Cli, fake: FakeServer, pets: Path) -> None:
    cli("index", pets, "--embedder", "hash", *LLM)
    assert fake.calls
    planned = cli("index", pets, "--embedder", "hash", "--dry-run").stdout
    assert planned.startswith("llm: 2 documents, 0 calls of the language model")


def test_a_dry_run_counts_the_contexts_that_a_model_would_write(cli: Cli, fake: FakeServer, pets: Path) -> None:
    fake.answer = lambda prompt: json.dumps({"context": f"This part belongs to the handbook of {len(prompt)} pets."})
    options = "index", pets, "--embedder", "hash", "--context-model", "ollama:llama3"
    cost = json.loads(cli(*options, "--dry-run", "--json").stdout)["contexts"]
    assert fake.calls == []
    first, second = cli(*options, "--dry-run").stdout.splitlines()
    assert first == "sentence: 2 documents, no language model calls."
    assert second == (
        f"Contexts: {cost['calls']} calls of the language model, {cost['tokens']:,} tokens "
        f"({cost['prompt_tokens']:,} input, of which {cost['repeated_tokens']:,} are cached by most servers, "
        f"at most {cost['answer_tokens']:,} output). No call was made."
    )
    result = cli(*options)
    assert len(fake.calls) == cost["calls"]
    # Equal chunks of a document take one call.
    assert re.search(r"Contexts written +6 of 6 ", result.stdout)
    # The collection keeps its model.
    again = cli("index", pets, "--embedder", "hash", "--dry-run").stdout
    assert f"{cost['calls']} answers cached from earlier runs" in again
    assert "ollama:llama3" in cli("info").stdout


def test_contexts_that_a_model_does_not_write_are_counted(cli: Cli, fake: FakeServer, pets: Path) -> None:
    fake.answer = lambda prompt: "I can't."
    result = cli("index", pets, "--embedder", "hash", "--context-model", "ollama:llama3")
    assert result.exit_code == 0
    assert "the next run asks for the others again" in result.stdout
    assert "gave 3 answers that can't be used" in result.stderr
    report = json.loads(cli("index", pets, "--embedder", "hash", "--json").stdout)
    assert (report["contexts"], report["fallbacks"] > 2) == (0, True)


def test_a_dry_run_names_the_files_that_can_not_be_read(cli: Cli, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    result = cli("chunk", folder, "--dry-run")
    assert result.exit_code == 1
    assert "broken.pdf" in result.stderr
    assert "5 documents" in result.stdout


@pytest.mark.parametrize("command", ["chunk", "index"])
def test_that_a_model_is_away_is_one_line(cli: Cli, fake: FakeServer, pets: Path, command: str) -> None:
    fake.answer = lambda prompt: Reply("model 'llama3' not found", 404)
    more = ["--embedder", "hash"] if command == "index" else []
    result = cli(command, pets, *LLM, *more)

    assert result.exit_code == 0
    calls = json.loads(cli("chunk", pets, *LLM, "--dry-run", "--json").stdout)["calls"]
    assert result.stderr == (
        f"Warning: llm: {calls} of {calls} segments were divided by paragraphs and headings instead. "
        "ollama:llama3: status 404: model 'llama3' not found. Run `ollama serve` and `ollama pull llama3`, "
        "or set OLLAMA_HOST.\n"
    )


def test_a_model_that_must_answer_is_an_error(cli: Cli, fake: FakeServer, pets: Path) -> None:
    fake.answer = lambda prompt: Reply("model 'llama3' not found", 404)
    result = cli("chunk", pets, *LLM, "--set", "fallback=error")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ollama:llama3: status 404")


def test_a_wrong_model_is_one_line(cli: Cli, pets: Path) -> None:
    result = cli("chunk", pets, "--strategy", "llm", "--set", "model=llama3")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: model: must be one of ollama:MODEL, openai:MODEL")


def test_a_search_can_be_reranked_by_a_language_model(cli: Cli, fake: FakeServer, pets: Path) -> None:
    cli("index", pets, "--embedder", "hash", "--strategy", "sentence", "--set", "chunk_size=30")
    fake.calls.clear()
    fake.answer = lambda prompt: '{"order": [2, 1]}'
    result = cli("search", "cats", "--embedder", "hash", "--rerank", "llm:ollama:llama3", "--explain")
    assert (result.exit_code, result.stderr) == (0, "")
    assert fake.calls
    wrong = cli("search", "cats", "--embedder", "hash", "--rerank", "llm:llama3")
    assert wrong.exit_code == 2
    assert all(name in wrong.stderr for name in language_models.names())
