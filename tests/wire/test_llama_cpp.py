"""The server of llama.cpp with a tiny model made here: embeddings, answers and streams over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kinsplit import Index
from kinsplit.embedding.remote_models.clients import OpenAIEmbedder
from kinsplit.errors import EmbeddingError, LanguageModelError, ModelUnavailableError
from kinsplit.language_models.parsing import numbers_schema, read_numbers
from kinsplit.language_models.servers import OpenAIModel
from kinsplit.language_models.streaming import stream
from tests.wire.llama_server import KEY, serving
from tests.wire.tiny_model import write_model

pytest.importorskip("xllamacpp", reason="xllamacpp, the server of llama.cpp, is not installed")
pytest.importorskip("gguf", reason="gguf, which writes the model, is not installed")
pytestmark = pytest.mark.usefixtures("socket_enabled")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_model(path)
    return path


@pytest.fixture(scope="module")
def embeddings(model: Path) -> Iterator[str]:
    with serving("embedding", model) as url:
        yield url


@pytest.fixture(scope="module")
def chat(model: Path) -> Iterator[str]:
    with serving("chat", model) as url:
        yield url


def test_texts_are_embedded_alike_alone_and_in_batches(embeddings: str) -> None:
    texts = ["A cat sat.", "Two dogs bark.", "A cat sat.", "Öl & 鱼"]
    whole = OpenAIEmbedder("tiny", embeddings, KEY)
    found = whole.embed(texts)
    assert found.shape == (4, 32)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found[0], found[2], atol=1e-4)
    assert found[0] @ found[1] < 0.99
    alone = OpenAIEmbedder("tiny", embeddings, KEY, batch_size=1).embed(texts)
    np.testing.assert_allclose(alone, found, atol=1e-4)
    # A token per byte, one at the beginning, and a mark of three bytes for each blank and before each text.
    assert whole.usage.since().tokens == sum(len(f" {text}".replace(" ", "\u2581").encode()) + 1 for text in texts)


def test_a_long_text_is_the_mean_of_its_windows(embeddings: str) -> None:
    embedder = OpenAIEmbedder("tiny", embeddings, KEY, window=64)
    text = "A cat sat on the mat. " * 40
    (count,) = embedder.windows([text])
    assert count > 2
    parts = embedder._slices([text])[0]
    mean = embedder.embed(parts).mean(axis=0)
    np.testing.assert_allclose(embedder.embed([text])[0], mean / np.linalg.norm(mean), atol=1e-4)


def test_a_collection_is_indexed_and_searched(embeddings: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Cats\n\nA cat sat on the mat.\n\n# Dogs\n\nTwo dogs bark at night.\n")
    with Index("memory:", embedder=OpenAIEmbedder("tiny", embeddings, KEY, price=1.0)) as index:
        used = index.add(tmp_path).used
        assert used is not None
        assert used.cost == pytest.approx(used.tokens / 1e6)
        assert "Two dogs bark" in index.search("Two dogs bark at night.", top_k=1)[0].text


def test_what_the_server_rejects_is_told(embeddings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with pytest.raises(EmbeddingError, match=r"too large .*window: 'openai:tiny.window=NUMBER'"):
        OpenAIEmbedder("tiny", embeddings, KEY, window=8000).embed(["x" * 3000])
    with pytest.raises(EmbeddingError, match="status 401: Invalid API Key"):
        OpenAIEmbedder("tiny", embeddings, "wrong-key-of-a-test").embed(["x"])


def test_an_answer_is_whole_or_streamed_and_follows_a_schema(chat: str) -> None:
    model = OpenAIModel("tiny", chat, KEY, timeout=60)
    whole = model.complete("Hi", max_tokens=12)
    assert whole
    pieces, is_cut = [], None
    answer = stream(model, "Hi", 12)
    while is_cut is None:
        try:
            pieces.append(next(answer))
        except StopIteration as end:
            is_cut = end.value
    assert ("".join(pieces), is_cut) == (whole, True)
    assert len(pieces) > 3
    # Random weights, but the server lets them write nothing else.
    told = model.complete("Hi", numbers_schema("starts"), 200)
    assert told.lstrip().startswith("{")
    assert '"starts"' in told
    assert all(isinstance(number, int) for number in read_numbers(told, "starts").values)


def test_a_closed_stream_leaves_the_server_free(chat: str) -> None:
    model = OpenAIModel("tiny", chat, KEY, timeout=60)
    answer = model.stream("Hi", 900)
    assert next(answer)
    answer.close()
    assert model.complete("Hi", max_tokens=2)


def test_what_is_wrong_is_told_and_not_the_key(chat: str) -> None:
    with pytest.raises(LanguageModelError, match="exceeds the available context size"):
        OpenAIModel("tiny", chat, KEY).complete("x" * 3000, max_tokens=4)
    wrong = "sk-wrong-0123456789"
    with pytest.raises(ModelUnavailableError, match="status 401: Invalid API Key") as caught:
        OpenAIModel("tiny", chat, wrong).complete("Hi")
    assert wrong not in str(caught.value)
