"""Commands in a folder whose `.env` somebody else wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinsplit.embedding import registry as embedders
from kinsplit.language_models import registry as models
from kinsplit.support.environment import VARIABLES
from tests.cli.conftest import Cli
from tests.language_models.fake_server import FakeServer

KEY = "sk-users-own-0123456789"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*(variable.name for variable in VARIABLES), "KINSPLIT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    embedders._shared.cache_clear()
    models._shared.cache_clear()


def test_no_code_runs_from_a_found_file(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "sitecustomize.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / ".env").write_text("PYTHONPATH=./evil\nPYTHONSTARTUP=./evil/sitecustomize.py\n")
    # Also modules of the folder itself must not be imported by the processes that read files.
    for name in ("sitecustomize", "json", "pypdfium2"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command in (["chunk", "course"], ["index", "course", "--embedder", "hash"]):
        done = subprocess.run(
            [str(Path(sys.executable).with_name("kinsplit")), *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "ran").exists()


def test_a_key_of_the_user_goes_to_no_address_of_a_found_file(
    cli: Cli, tmp_path: Path, folder: Path, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("index", "course", "--embedder", "hash").exit_code == 0
    ask = ("ask", "What is a loop?", "--embedder", "hash", "--model", "openai:gpt")
    (tmp_path / ".env").write_text(f"OPENAI_BASE_URL={fake.url}/${{OPENAI_API_KEY}}\n")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for model in (ask, ("index", "course", "--embedder", "openai:tiny", "--collection", "b")):
        refused = cli(*model)
        assert refused.exit_code == 2
        (line,) = refused.stderr.splitlines()
        assert "OPENAI_BASE_URL: can't be set by a .env that is merely found" in line
        assert "OPENAI_API_KEY in the environment would go to that address" in line
        assert "--env-file .env" in line
        assert KEY not in refused.output
    still = cli(*ask, "--env-file", ".env")
    assert still.exit_code == 2
    assert "Set both in .env, or both in the environment." in still.stderr
    assert fake.calls == []


def test_a_key_in_a_found_file_goes_to_an_address_of_the_environment(
    cli: Cli, tmp_path: Path, folder: Path, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("index", "course", "--embedder", "hash").exit_code == 0
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.url}/v1")
    assert cli("ask", "What is a loop?", "--embedder", "hash", "--model", "openai:gpt").exit_code == 0
    assert {headers["Authorization"] for _, headers, _ in fake.calls} == {f"Bearer {KEY}"}


def test_the_model_of_answers_comes_from_a_named_file_only(
    cli: Cli, tmp_path: Path, folder: Path, fake: FakeServer
) -> None:
    assert cli("index", "course", "--embedder", "hash").exit_code == 0
    (tmp_path / ".env").write_text(f"KINSPLIT_MODEL=openai:gpt\nOPENAI_API_KEY={KEY}\nOPENAI_BASE_URL={fake.url}/v1\n")
    ask = ("ask", "What is a loop?", "--embedder", "hash")
    assert "KINSPLIT_MODEL: can't be set by a .env that is merely found" in cli(*ask).stderr
    assert fake.calls == []
    assert cli(*ask, "--env-file", ".env").exit_code == 0
    assert len(fake.calls) == 1
    assert "OPENAI_API_KEY" not in os.environ


@pytest.mark.parametrize("command", ["serve", "mcp"])
@pytest.mark.parametrize("line", ["KINSPLIT_WATCH=/etc", "KINSPLIT_HOST=0.0.0.0", "KINSPLIT_UPLOADS=/tmp"])
def test_a_found_file_publishes_nothing(cli: Cli, tmp_path: Path, folder: Path, command: str, line: str) -> None:
    (tmp_path / ".env").write_text(line)
    refused = cli(command, "--embedder", "hash")
    assert refused.exit_code == 2
    assert f"{line.partition('=')[0]}: can't be set by a .env that is merely found" in refused.stderr


def test_an_address_of_a_configuration_gets_no_key_that_is_trusted_more(
    cli: Cli, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    spec = "openai:m?base_url=http://evil.example/v1"
    (tmp_path / "a.toml").write_text(f'[index]\nembedder = "{spec}"\n')
    (tmp_path / "b.toml").write_text(f'[index]\nstrategy = "semantic"\n[index.parameters]\nembedder = "{spec}"\n')
    for config in ("a.toml", "b.toml"):
        refused = cli("index", "course", "--config", config)
        assert refused.exit_code == 2
        assert f"{config} while the key is OPENAI_API_KEY in the environment" in refused.stderr


def test_a_missing_named_file_is_one_error(cli: Cli) -> None:
    refused = cli("stores", "--env-file", "no.env")
    assert refused.exit_code == 2
    assert "no.env: is not a file" in " ".join(refused.stderr.split())


def test_the_list_of_variables_says_who_sets_them(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk\nOPENAI_BASE_URL=http://evil.example\n")
    (tmp_path / "own.env").write_text("KINSPLIT_PORT=1\n")
    shown = cli("settings", "--env-file", "own.env")
    assert shown.exit_code == 0
    assert KEY not in shown.stdout
    rows = {row["variable"]: row for row in json.loads(cli("settings", "--env-file", "own.env", "--json").stdout)}
    assert {name: row["set"] for name, row in rows.items() if row["set"] and "environment" not in row["set"]} == {
        "OPENAI_API_KEY": "in .env",
        "OPENAI_BASE_URL": "in .env, refused",
        "KINSPLIT_PORT": "in own.env",
    }
    assert rows["OLLAMA_API_KEY"]["set"] == "in the environment"
    documented = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    for name, row in rows.items():
        if "." in name:  # An option in a table of the file.
            continue
        assert f"| `{name}` | {'yes' if row['may_be_found'] else 'no'} |" in documented, name
