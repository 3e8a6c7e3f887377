"""Commands with an embedding model on a server: keys from files, use and cost, and no key in any output."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinsplit.embedding import registry
from kinsplit.embedding.remote_models import base
from tests.cli.conftest import Cli
from tests.embedding.fake_embeddings import FakeEmbeddings, serving

KEY = "sk-sentinel-0123456789"
_VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "KINSPLIT_CACHE", base.VARIABLE)


@pytest.fixture
def fake(socket_enabled: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeEmbeddings]:
    """A server that the file rented.env names, and a `.env` with a key and a price."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    registry._shared.cache_clear()
    with serving() as running:
        lines = [f"OPENAI_BASE_URL={running.url}/v1", f"KINSPLIT_CACHE={tmp_path / 'cache'}"]
        (tmp_path / "rented.env").write_text("\n".join(lines))
        (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n{base.VARIABLE}=100\n")
        yield running
    registry._shared.cache_clear()


@pytest.fixture
def outputs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Outputs of commands, which are checked in the end together with logs and written files."""
    caplog.set_level(logging.DEBUG)
    found: list[str] = []
    yield found
    assert found
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".env"]
    assert not any(KEY in text for text in [*found, caplog.text])
    assert not any(KEY.encode() in data for data in written)


def test_index_search_and_evaluate(cli: Cli, folder: Path, fake: FakeEmbeddings, outputs: list[str]) -> None:
    embedder = "openai:tiny?dimensions=8"
    rented = ("--env-file", "rented.env")
    indexed = cli("index", "course", "--embedder", embedder, "--json", *rented)
    used = json.loads(indexed.stdout)["used"]
    assert used["tokens"] > 10
    assert used["cost"] == pytest.approx(used["tokens"] * 1e-4)
    again = cli("index", "course", "--embedder", embedder, *rented)
    assert "0 requests, $0.0000" in again.stdout
    found = cli("search", "What does merge sort do?", "--embedder", embedder, *rented)
    assert "Merge sort halves a list" in found.stdout
    (folder / "labels.json").write_text(json.dumps(["What does merge sort do?"]))
    judged = cli(
        *("evaluate", "--docs", "course", "--queries", "course/labels.json", "--embedder", embedder),
        *("--strategy", "sentence:chunk_size=20", *rented),
    )
    assert f"{embedder}: " in judged.stdout
    assert [run.exit_code for run in (indexed, again, found, judged)] == [0, 0, 0, 0]
    assert {headers["Authorization"] for _, headers, _ in fake.calls} == {f"Bearer {KEY}"}
    outputs += [run.output for run in (indexed, again, found, judged)]


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_a_rejected_key_is_not_repeated(
    cli: Cli, folder: Path, fake: FakeEmbeddings, outputs: list[str], as_json: list[str]
) -> None:
    told = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}.", "code": KEY}})
    fake.replies.append((401, told, {}))
    run = cli("index", "course", "--embedder", "openai:tiny", "--env-file", "rented.env", *as_json)
    assert run.exit_code == 2
    assert "Incorrect API key provided: ***." in run.stderr
    assert len(run.stderr.splitlines()) == 1
    outputs.append(run.output)


@pytest.mark.parametrize("command", [("index", "course"), ("evaluate", "--docs", "course", "--queries", "q.json")])
def test_a_missing_key_is_one_line(
    cli: Cli, folder: Path, fake: FakeEmbeddings, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / ".env").unlink()
    (tmp_path / "q.json").write_text('["What is a loop?"]')
    run = cli(*command, "--embedder", "openai:text-embedding-3-small")
    assert run.exit_code == 2
    (line,) = run.stderr.splitlines()
    assert "OPENAI_API_KEY is not set. Set OPENAI_API_KEY in the environment or in .env" in line
    assert fake.calls == []
