"""Settings that every command shares, and what becomes of those that nothing reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinsplit.cli.app import NAMES
from kinsplit.cli.app import _load as load
from tests.cli.conftest import Cli

TEXT = "One sentence. Two sentences. " * 40


@pytest.fixture(autouse=True)
def _text(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STORE", "EMBEDDER", "COLLECTIONS", "STRATEGY", "MODEL", "CONFIG"):
        monkeypatch.delenv(f"KINSPLIT_{name}", raising=False)
    monkeypatch.delenv("STRATEGY", raising=False)
    (tmp_path / "t.txt").write_text(TEXT)


def strategy_of(cli: Cli, *options: str) -> str:
    (row,) = json.loads(cli("collections", *options, "--json").stdout)
    return str(row["schema"]["strategy"]["name"])


def test_the_command_of_the_10_k_search_uses_its_variable(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATEGY", "FIXED")
    assert cli("index", "t.txt", "--store", "edge:silent", "--embedder", "hash").exit_code == 0
    assert strategy_of(cli, "--store", "edge:silent") == "word"
    monkeypatch.setenv("KINSPLIT_STRATEGY", "sentence")
    assert cli("index", "t.txt", "--store", "edge:b", "--embedder", "hash").exit_code == 0
    assert strategy_of(cli, "--store", "edge:b") == "sentence"
    assert cli("index", "t.txt", "--store", "edge:c", "--embedder", "hash", "--strategy", "character").exit_code == 0
    assert strategy_of(cli, "--store", "edge:c") == "character"


def test_a_variable_names_the_strategy_that_is_evaluated(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queries.json").write_text('["Which sentence?"]')
    monkeypatch.setenv("STRATEGY", "SENTENCE")
    for store in ([], ["--store", "edge:s"]):
        assert cli("index", "t.txt", "--embedder", "hash", "--store", "edge:s").exit_code == 0
        done = cli("evaluate", "--docs", "t.txt", "--embedder", "hash", "--json", *store)
        assert done.exit_code == 0, done.stderr
        labels = [each["label"] for each in json.loads(done.stdout)["strategies"]]
        assert labels == (["default"] if store else ["default", "sentence"])


def test_a_variable_that_names_no_strategy_is_an_error(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATEGY", "ROLLING")
    refused = cli("index", "t.txt", "--embedder", "hash")
    assert refused.exit_code == 2
    assert "STRATEGY: must be the name of a strategy (got 'ROLLING')" in refused.stderr
    assert cli("chunk", "t.txt", "--strategy", "word").exit_code == 0


def test_store_embedder_and_collection_are_those_of_the_environment(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINSPLIT_STORE", "edge:./silent")
    monkeypatch.setenv("KINSPLIT_EMBEDDER", "hash")
    monkeypatch.setenv("KINSPLIT_COLLECTIONS", "first=cs, other")
    assert cli("index", "t.txt").exit_code == 0
    (row,) = json.loads(cli("collections", "--json").stdout)
    assert (row["name"], row["schema"]["model"]) == ("cs", "hash?dimensions=64&window=256")
    assert (tmp_path / "silent").is_dir()
    assert not (tmp_path / "kinsplit-data").exists()
    for command in (("search", "sentence"), ("ask", "Which sentence?"), ("info",), ("verify",)):
        assert cli(*command).exit_code == 0, command
    # What is given counts even if it is the default.
    assert "in kinsplit-data" in cli("search", "sentence", "--store", "edge:./kinsplit-data").stderr
    monkeypatch.delenv("KINSPLIT_EMBEDDER")
    # Without a setting, the collection's own model is taken.
    assert cli("search", "sentence").exit_code == 0
    refused = cli("search", "sentence", "--embedder", "bundled")
    assert refused.exit_code == 2
    assert "Give the embedder that it was made with: --embedder, or KINSPLIT_EMBEDDER." in refused.stderr


@pytest.mark.parametrize("file", ["kinsplit.toml", "pyproject.toml"])
def test_every_command_reads_a_file_that_is_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    above = "tool.kinsplit." if file.startswith("py") else ""
    (tmp_path / file).write_text(
        f'[{above}index]\nstrategy = "word"\nembedder = "hash"\n[{above}index.parameters]\nchunk_size = 7\n'
        f'[{above}service]\nstore = "edge:filed"\ncollections = {{ A = "cs" }}\n'
    )
    assert cli("index", "t.txt", "--config", file).exit_code == 0
    assert [row["name"] for row in json.loads(cli("collections", "--store", "edge:filed", "--json").stdout)] == ["cs"]
    assert cli("search", "sentence", "--config", file).exit_code == 0
    monkeypatch.setenv("KINSPLIT_CONFIG", file)
    assert cli("search", "sentence").exit_code == 0
    monkeypatch.setenv("KINSPLIT_STORE", "edge:elsewhere")
    assert "elsewhere" in cli("search", "sentence").stderr
    rows = {row["variable"]: row for row in json.loads(cli("settings", "--json").stdout)}
    assert (rows["KINSPLIT_STORE"]["value"], rows["KINSPLIT_STORE"]["set"]) == ("edge:elsewhere", "in the environment")
    assert (rows["KINSPLIT_EMBEDDER"]["value"], rows["KINSPLIT_EMBEDDER"]["set"]) == ("hash", f"in {file}")
    assert (rows["KINSPLIT_PORT"]["value"], rows["KINSPLIT_PORT"]["set"]) == ("8000", None)


def test_a_file_that_is_merely_found_points_nowhere_and_is_not_ignored_in_silence(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("KINSPLIT_STORE=edge:evil\nSTRATEGY=FIXED\n")
    refused = cli("search", "sentence", "--embedder", "hash")
    assert refused.exit_code == 2
    assert "KINSPLIT_STORE: can't be set by a .env that is merely found" in refused.stderr
    assert cli("index", "t.txt", "--embedder", "hash", "--store", "edge:own").exit_code == 0
    assert strategy_of(cli, "--store", "edge:own") == "word"
    (tmp_path / ".env").unlink()
    (tmp_path / "kinsplit.toml").write_text('[service]\nstore = "edge:evil"\n')
    found = cli("search", "sentence", "--embedder", "hash")
    assert "The settings in kinsplit.toml are not read unless you name it" in found.stderr
    assert "in kinsplit-data" in found.stderr


def test_a_key_of_the_environment_goes_to_no_store_of_a_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINSPLIT_QDRANT_API_KEY", "sk-12345678")
    (tmp_path / "a.toml").write_text('[service]\nstore = "qdrant:http://evil.example"\n')
    refused = cli("search", "sentence", "--config", "a.toml")
    assert refused.exit_code == 2
    assert "while the key is KINSPLIT_QDRANT_API_KEY in the environment" in refused.stderr


def test_a_variable_that_nothing_reads_gets_a_warning(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KINSPLIT_CACHE", "KINSPLIT_PORT", "KINSPLIT_TRACEBACK"):
        monkeypatch.setenv(name, "1")
    (tmp_path / ".env").write_text("KINSPLIT_PROT=1\nOTHER=2\n")
    monkeypatch.setenv("KINSPLIT_EMBEDER", "hash")
    monkeypatch.setenv("KINSPLIT_APIKEYS", "sesame")
    done = cli("strategies")
    assert done.exit_code == 0
    text = " ".join(done.stderr.split())
    assert "KINSPLIT_EMBEDER is not a setting. Did you mean KINSPLIT_EMBEDDER?" in text
    assert "KINSPLIT_APIKEYS is not a setting. Did you mean KINSPLIT_API_KEYS?" in text
    assert "KINSPLIT_PROT is not a setting. Did you mean KINSPLIT_PORT?" in text
    assert text.count("is not a setting") == 3
    assert "sesame" not in done.output


@pytest.mark.parametrize(
    ("store", "shown"),
    [
        ("pgvector:postgresql://me:sesame@db.example/x", "db.example/x"),
        ("pgvector:host=db.example password=sesame", "pgvector:..."),
        ("edge:./own", "edge:./own"),
    ],
)
def test_no_secret_is_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch, store: str, shown: str) -> None:
    monkeypatch.setenv("KINSPLIT_STORE", store)
    monkeypatch.setenv("KINSPLIT_API_KEYS", "sesame")
    done = cli("settings", "--json")
    assert "sesame" not in done.output
    assert {row["variable"]: row["value"] for row in json.loads(done.stdout)}["KINSPLIT_STORE"] == shown


@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_both_files(name: str) -> None:
    taken = {flag for param in load(name).params for flag in param.opts}
    assert {"--env-file", "--config"} <= taken
