"""`kinsplit questions`, with a local server as the model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kinsplit.evaluation.datasets import load
from tests.cli.conftest import Cli
from tests.language_models.fake_server import FakeServer, Reply

BARK = "Dogs bark at every stranger."


@pytest.fixture
def fake(fake: FakeServer) -> FakeServer:
    fake.answer = lambda prompt: json.dumps(
        {
            "questions": [
                {"question": "When do dogs bark?", "excerpts": [BARK]},
                {"question": "What does the text say?", "excerpts": [BARK]},
                {"question": "When do cats bark at a stranger?", "excerpts": ["Cats bark at every stranger."]},
            ]
        }
    )
    return fake


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    folder = tmp_path / "pets"
    folder.mkdir()
    (folder / "dogs.txt").write_bytes(f"Cats purr.\r\n{BARK} Birds sing.".encode())
    (folder / "page.html").write_text(f"<h1>Dogs</h1><p>{BARK.replace(' ', '  ')}</p>")
    return folder


def options(*more: object) -> tuple[object, ...]:
    return ("--model", "ollama:llama3", "--embedder", "hash", "--similarity", -1, *more)


def test_questions_load_with_the_documents_they_were_made_from(cli: Cli, fake: FakeServer, pets: Path) -> None:
    result = cli("questions", pets, *options("--output", pets / "queries.jsonl", "--number", 2))
    assert result.exit_code == 0
    lines = [re.split(r"\s{2,}", line.strip()) for line in result.stdout.splitlines()]
    assert ["Sections used", "2"] in lines
    assert ["Questions generated", "6"] in lines
    assert ["Dropped: refers to the text", "2"] in lines
    assert ["Dropped: excerpt not in the section", "2"] in lines
    assert ["Dropped: like an earlier question", "1"] in lines
    assert ["Kept", "1", str(pets / "queries.jsonl")] in lines
    assert "1 question of the 2 requested could be generated" in result.stderr
    dataset = load(pets, pets / "queries.jsonl")
    (question,) = dataset.questions
    (label,) = question.labels
    found = {p.source_id: dataset.sources[p.source_id].text[p.span.start : p.span.end] for p in label.places if p.span}
    assert found == {"pets/dogs.txt": BARK, "pets/page.html": BARK}


def test_json_tells_all(cli: Cli, fake: FakeServer, pets: Path) -> None:
    result = cli("questions", pets, *options("--number", 1, "--json"))
    report = json.loads(result.stdout)
    assert report == {
        "output": "queries.jsonl",
        "wanted": 1,
        "kept": 1,
        "written": 1,
        "sections": 1,
        "dropped": {},
    }


def test_a_dry_run_asks_nothing(cli: Cli, fake: FakeServer, pets: Path, tmp_path: Path) -> None:
    result = cli("questions", pets, *options("--number", 2, "--dry-run"))
    estimate = r"2 questions about 2 documents: at least 2 calls of the language model, [\d,]+ tokens"
    assert re.match(estimate, result.stdout)
    assert fake.calls == []
    assert not (tmp_path / "queries.jsonl").exists()
    cli("questions", pets, *options("--number", 2))
    cost = json.loads(cli("questions", pets, *options("--number", 2, "--dry-run", "--json")).stdout)
    assert (cost["documents"], cost["calls"], cost["kept"], cost["tokens"]) == (2, 0, 2, 0)


def test_nothing_made_is_no_success(cli: Cli, fake: FakeServer, pets: Path, tmp_path: Path) -> None:
    fake.answer = lambda prompt: '{"questions": []}'
    result = cli("questions", pets, *options())
    assert result.exit_code == 2
    assert not (tmp_path / "queries.jsonl").exists()
    fake.answer = lambda prompt: Reply("model 'llama3' not found", 404)
    result = cli("questions", pets, *options("--number", 3))
    assert result.exit_code == 2
    assert "Error: ollama:llama3: status 404" in result.stderr


def test_a_wrong_model_is_one_line(cli: Cli, pets: Path) -> None:
    result = cli("questions", pets, "--model", "gpt")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "model: must be one of ollama:MODEL" in result.stderr
