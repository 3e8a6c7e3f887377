"""A server on this machine that answers with recorded exchanges, and the fixtures of each recording.

`recordings/NAME.jsonl` has an exchange a line: `method`, `path`, `body` (of a GET its query), `status`, `headers` and
`answer`, a text as it was sent or else JSON. `ollama` was recorded from Ollama 0.13.5 with all-minilm and
gemma-3-270m, and `smollm2` from the server of llama.cpp with SmolLM2-135M-Instruct. `openai` and `wikipedia` were
written from the documentation of their APIs: https://platform.openai.com/docs/api-reference and
https://www.mediawiki.org/wiki/API:Query.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from tenacity import nap

from kinsplit.embedding import registry as embedders
from kinsplit.language_models import registry as language_models
from tests.local_server import QuietHandler, running

Exchange = dict[str, Any]
#: Where servers tell the window of a model.
FACTS = {"/v1/models", "/props", "/info"}


@dataclass
class Replay:
    """A server that answers with recorded exchanges.

    A request gets the first answer that wasn't given yet among those to its path whose recorded values it has, and
    after these the last one again. Any other request fails the test, but for those for facts of models, which servers
    needn't answer.

    Attributes:
        exchanges: The exchanges.
        url: Address of the server.
        asked: Body of each request.
        headers: Headers of each request.
        unknown: Requests that no exchange answers.
        pauses: Seconds that clients waited before they tried again.
    """

    exchanges: list[Exchange]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    unknown: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    _given: list[Exchange] = field(default_factory=list)

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Exchange:
        """Return the exchange that answers a request."""
        if path in FACTS and not any(each["path"] == path for each in self.exchanges):
            return {"status": 404, "headers": {}, "answer": "not told"}
        self.asked.append(body)
        fitting = [
            each
            for each in self.exchanges
            if (each["method"], each["path"]) == (method, path)
            and all(body.get(key) == value for key, value in each["body"].items())
        ]
        if not fitting:
            self.unknown.append((path, body))
            return {"status": 418, "headers": {}, "answer": "not recorded"}
        found: Exchange = next((each for each in fitting if each not in self._given), fitting[-1])
        self._given.append(found)
        return found


def exchanges(name: str) -> list[Exchange]:
    """Return the exchanges of a recording."""
    lines = (Path(__file__).parent / "recordings" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@contextmanager
def replaying(name: str) -> Iterator[Replay]:
    """Answer with a recording until the block ends."""
    replay = Replay(exchanges(name))

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.give(dict(parse_qsl(urlsplit(self.path).query)))

        def do_POST(self) -> None:
            self.give(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def give(self, body: dict[str, Any]) -> None:
            replay.headers.append(dict(self.headers))
            found = replay.answer(self.command, urlsplit(self.path).path, body)
            text = found["answer"] if isinstance(found["answer"], str) else json.dumps(found["answer"])
            self.respond(text.encode(), found["status"], found["headers"])

    with running(Handler) as port:
        replay.url = f"http://127.0.0.1:{port}"
        yield replay
    assert replay.unknown == []


@contextmanager
def _replaying(name: str, monkeypatch: pytest.MonkeyPatch, **variables: str) -> Iterator[Replay]:
    """Do the same with an environment whose variables may hold the server's `{url}`, and without pauses."""
    for shared in (embedders._shared, language_models._shared):
        shared.cache_clear()
    with replaying(name) as replay:
        monkeypatch.setattr("openai._base_client.time.sleep", replay.pauses.append)
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value.format(url=replay.url))
        yield replay
    for shared in (embedders._shared, language_models._shared):
        shared.cache_clear()


@pytest.fixture
def ollama(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    """What a real Ollama answered, at the address in the environment."""
    with _replaying("ollama", monkeypatch, OLLAMA_HOST="{url}") as replay:
        yield replay


@pytest.fixture
def smollm2(socket_enabled: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Replay]:
    """What a real model behind OpenAI's protocol answered, at the address in the environment."""
    cache = str(tmp_path / "cache")
    with _replaying("smollm2", monkeypatch, OPENAI_BASE_URL="{url}/v1", KINSPLIT_CACHE=cache) as replay:
        yield replay


@pytest.fixture
def openai(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    """What OpenAI's documentation says that its servers answer, at the address that kinsplit takes for OpenAI's own."""
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with _replaying("openai", monkeypatch) as replay:
        for name in ("model_servers", "embedding.remote_models"):
            monkeypatch.setattr(f"kinsplit.{name}.clients.OPENAI", f"{replay.url}/v1")
        yield replay


@pytest.fixture
def wikipedia(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    """What MediaWiki's documentation says that a wiki answers, of two articles that were written for the tests."""
    with replaying("wikipedia") as replay:
        monkeypatch.setattr(nap.time, "sleep", replay.pauses.append)
        yield replay
