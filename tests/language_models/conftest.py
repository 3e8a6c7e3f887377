from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinsplit.language_models import LanguageModel
from kinsplit.language_models.servers import OllamaModel, OpenAIModel
from tests.language_models.fake_server import FakeServer, serving


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between tries."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


@pytest.fixture
def fake(quick: None, socket_enabled: None) -> Iterator[FakeServer]:
    with serving() as running:
        yield running


@pytest.fixture(params=["ollama", "openai"])
def model(request: pytest.FixtureRequest, fake: FakeServer) -> LanguageModel:
    """A model on the fake server, in each protocol."""
    if request.param == "ollama":
        return OllamaModel("llama3", host=fake.url, timeout=5)
    return OpenAIModel("gpt", base_url=f"{fake.url}/v1", timeout=5)
