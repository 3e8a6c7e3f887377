from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kinsplit.language_models.servers import OllamaModel, OpenAIModel
from tests.language_models.fake_server import FakeServer, serving


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


@pytest.fixture
def fake(socket_enabled: None) -> Iterator[FakeServer]:
    with serving() as running:
        yield running


@pytest.fixture(params=["ollama", "openai"])
def model(request: pytest.FixtureRequest, fake: FakeServer) -> OllamaModel | OpenAIModel:
    if request.param == "ollama":
        return OllamaModel("llama3", host=fake.url, timeout=2)
    return OpenAIModel("gpt", base_url=f"{fake.url}/v1", timeout=2)
