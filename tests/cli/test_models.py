"""`kinsplit models`, and models by names of a configuration file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinsplit import inventory
from kinsplit.indexing.configuration import Configuration
from tests.cli.conftest import Cli


def test_names_of_a_file_stand_for_models_everywhere(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "kinsplit.toml"
    file.write_text(
        '[models]\nlocal.spec = "ollama:llama3?host=gpu:1"\n[models.small]\nprovider = "hash"\nname = "16"\n'
        'window = 9\n[index]\nembedder = "small"\n[service]\nmodel = "local"\nrerankers = ["none", "llm"]\n'
    )
    read = Configuration.read(file)
    assert (read.index.embedder, read.service["model"]) == ("hash:16?window=9", "ollama:llama3?host=gpu:1")
    shown = cli("models", "check", "small", "--config", file, "--json")
    assert json.loads(shown.stdout)["name"] == "hash:16?window=9"
    (tmp_path / "a.txt").write_text("Owls hunt at night.")
    assert cli("index", tmp_path / "a.txt", "--embedder", "small", "--config", file).exit_code == 0
    assert cli("search", "owls", "--embedder", "hash:16?window=9").exit_code == 0
    refused = cli("search", "owls", "--embedder", "hash:16")
    assert "Give the embedder with the options that it had: ?window=9." in refused.stderr
    file.write_text('[models.far]\nspec = "openai:m?base_url=http://evil.example/v1"\n')
    monkeypatch.setenv("OPENAI_API_KEY", "sk-12345678")
    refused = cli("models", "check", "far", "--config", file)
    assert (refused.exit_code, "while the key is OPENAI_API_KEY" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("spec", "kind", "answer"),
    [
        ("hash:16", "embedder", "a vector of 16 numbers"),
        ("llm:hash", "reranker", "scores"),
        ("hash", "model", "numbers"),
    ],
)
def test_a_model_is_asked_one_thing(spec: str, kind: inventory.Kind, answer: str, cli: Cli) -> None:
    checked = inventory.check(spec, kind)
    assert (checked.kind, answer in checked.answer, checked.speed > 0) == (kind, True, True)
    shown = cli("models", "check", spec, "--kind", kind)
    assert f"kind          {kind}" in shown.stdout, shown.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "SPEC: belongs to check"),
        (["clear", "bundled"], "SPEC: belongs to check"),
        (["list"], "ACTION: must be check or clear"),
        (
            ["check", "word2vec"],
            "SPEC: must begin with the name of a provider (got 'word2vec'). Use one of bundled, hash",
        ),
        (["check", "none"], "SPEC: must be a model (got 'none')"),
        (["check", "hash?windw=3"], "embedder: has no option 'windw' (got 'hash?windw=3'). Did you mean 'window'?"),
    ],
)
def test_a_wrong_argument_is_one_line(cli: Cli, arguments: list[str], message: str) -> None:
    shown = cli("models", *arguments)
    assert (shown.exit_code, message in shown.stderr) == (2, True), shown.stderr


def test_the_list_tells_what_is_installed_cached_and_reachable(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(inventory, "servers", lambda: {"http://h/v1": ["llama3"], "http://gone": None})
    monkeypatch.setattr("kinsplit.embedding.remote_models.clients.importlib.util.find_spec", lambda name: None)
    for name in ("models/mini", "vectors"):
        (tmp_path / "cache" / name).mkdir(parents=True)
        (tmp_path / "cache" / name / "file").write_bytes(b"x" * 2_000_000)
    told = json.loads(cli("models", "--json").stdout)
    missing = {form: each["missing"] for each in told["providers"] for form in each["forms"]}
    assert (missing["litellm:PROVIDER/MODEL"], missing["bundled"]) == ('pip install "kinsplit[litellm]"', "")
    assert {each["kind"] for each in told["providers"]} == {"embedder", "reranker", "model"}
    shown = cli("models").stdout
    assert "mini" in shown
    assert "4.0 MB in the cache" in shown
    assert "not reachable" in shown
    assert cli("models", "clear").stdout == "Freed 2.0 MB.\n"
    assert [path.name for path in inventory.cached()] == ["vectors"]
