"""litellm with its own HTTP client, on a server of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest

from kinsplit.embedding import create
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import EmbeddingError
from tests.embedding.fake_embeddings import FakeEmbeddings, serving

KEY = "sk-sentinel-0123456789"

# Not by importing it, which would fetch its table of prices.
pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed"),
    pytest.mark.filterwarnings("ignore"),  # litellm's own
]


@pytest.fixture
def fake(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEmbeddings]:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as running:
        monkeypatch.setenv("OPENAI_API_BASE", f"{running.url}/v1")
        yield running


def test_texts_are_embedded_with_known_window_and_price(fake: FakeEmbeddings) -> None:
    embedder = create("litellm:openai/text-embedding-3-small?dimensions=8")
    texts = ["a cat", "two dogs bark"]
    np.testing.assert_allclose(embedder.embed(texts), HashEmbedder(8).embed(texts), atol=1e-6)
    headers = {name.lower(): value for name, value in fake.calls[0][1].items()}
    assert headers["authorization"] == f"Bearer {KEY}"
    assert fake.calls[0][2]["dimensions"] == 8
    assert embedder.fingerprint == "litellm:openai/text-embedding-3-small?dimensions=8&window=8191"
    used = embedder.usage.since()  # type: ignore[attr-defined]
    assert (used.requests, used.tokens) == (1, 5)
    assert used.cost > 0


def test_a_rejected_key_is_not_repeated(fake: FakeEmbeddings, capfd: pytest.CaptureFixture[str]) -> None:
    told = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}})
    fake.replies.extend([(401, told, {})] * 5)
    with pytest.raises(EmbeddingError, match=r"Incorrect API key provided: \*\*\*") as caught:
        create("litellm:openai/tiny").embed(["a"])
    assert caught.value.__context__ is None
    streams = capfd.readouterr()
    assert KEY not in f"{caught.value}{streams.out}{streams.err}"


def test_an_unknown_provider_is_one_error(fake: FakeEmbeddings) -> None:
    with pytest.raises(EmbeddingError, match="litellm:nobody/tiny failed: "):
        create("litellm:nobody/tiny").embed(["a"])
